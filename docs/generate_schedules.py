"""Writes `schedules.md` from the steps' definitions and the examples in `schedules/`.

    python docs/generate_schedules.py

Everything on the page that a program can say is said by one: the examples are run, the messages are
those of the compiler. `tests/unit/test_schedules_page.py` keeps the page as this writes it.
"""

import inspect
import re
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import MISSING, dataclass
from importlib import import_module
from io import StringIO
from pathlib import Path

import stepwell as sw
from stepwell.dialects.schedule import STEPS, ScriptOp, Step
from stepwell.dialects.schedule.other_words import OTHER_WORDS
from stepwell.dialects.schedule.parameters import meaning, parameters
from stepwell.dialects.schedule.script_text import script_text
from stepwell.driver.pass_manager import module_text
from stepwell.frontend.text import parse_file
from stepwell.tools.opt import main as opt
from stepwell.transforms.loop.apply_schedule import ApplySchedulePass
from stepwell.transforms.step_support.made import SomeLoops
from stepwell.transforms.step_support.planning import planner_of
from stepwell.transforms.step_support.refusal import describe
from stepwell.transforms.step_support.step_methods import made_by, parameter_type, type_text
from stepwell.universe import STEPWELL_UNIVERSE
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

DOCS = Path(__file__).parent
PAGE = DOCS / "schedules.md"
EXAMPLES = DOCS / "schedules"

INTRODUCTION = """\
<!-- Written by docs/generate_schedules.py: change that, or the examples in docs/schedules/. -->

# Schedules

A schedule is a list of steps that say how the loops of a function are to run: in which order, in which
blocks, where data is kept meanwhile. Each step is proved legal by exact dependence analysis before it
changes anything, or refused with the reason. Steps never change what is computed; those that reorder a
reduction of floats do so only where its operation allows it (`fastmath<reassoc>`).

Loops are addressed by name, as `"function/loop"`, and buffers as `"function/buffer"`. Where a parameter
names a second loop of the same function, its own name is enough.

A step can be given in four ways, which are one:

{forms}

`apply-schedule` without a file applies the `schedule.script` that stands in the module itself, and takes
it out. When a step is refused, nothing is printed but one line that names the step, its place in the
script and the reason.

## From Python

```python
{python}```

prints the script and the loops as they are now:

```
{printed}```

A step returns handles of what it made. They stay with their loop or buffer while later steps move, rename
or copy it, and are taken wherever a name is; one whose loop is gone says which step took it. A loop's
`copies` are all the loops that steps have cloned from it; `s.loop("k")` and `s.buffer("A")` give handles
by name:

```python
{handles}```

prints `{handles_printed}`.

`s.step()` goes through a given script one line at a time, `s.undo()` and `s.redo()` go back and forth,
`s.dependences()` lists what stands in the way, and `s.compile()` gives the callable.

## Refusals

A refusal names the two accesses, the dependence with its distance, a concrete pair of iterations that
would go wrong and, where one is known, the step that helps. `--why-not` asks without changing anything:

```
$ stepwell-opt docs/schedules/skew.mlir --why-not "{question}"
{refusal}
```

## Tails

When a factor does not divide the number of iterations, the `tail` of a step says what becomes of the
rest:

- `guard`: each block ends at the loop's end, by a minimum in its bound;
- `peel`: whole blocks first, and a loop of its own over the rest;
- `pad`: the last block runs over the end, which is legal when it touches only padding;
- `perfect`: there is no rest, or the step is refused.

## Sliding windows

`compute_at` computes what neighbouring iterations of a stencil share once for each of them. A sliding window
computes it once, and keeps as much as the consumer still reads. The producer's first iterations are taken off, so
that each of the others makes what one iteration of the consumer is the first to read; the two loops become one; and
`fold_storage` proves that the last few elements, or rows, are enough:

```python
{sliding}```

prints

```
{sliding_printed}```

The loop of a window runs in order. For threads, `split` the consumer's loop and `compute_at` its outer part first:
each block then has a window of its own.

"""

PYTHON = """\
import stepwell as sw

s = sw.Schedule(sw.load("docs/schedules/tile.mlir"))
s.split("i", 4, tail="perfect").reorder("i.inner", ["j", "i.inner"])
print(s)
print(s.outline())
"""

HANDLES = """\
s = sw.Schedule(sw.load("docs/schedules/tile.mlir"))
i, j = s.loop("i"), s.loop("j")
io, ii = s.split(i, 4)
s.reorder(ii, [j, ii])
jo, ji = s.split(j, 6, tail="peel")
s.parallel(io)
print([copy.name for copy in ii.copies], j.is_gone)
"""

SLIDING = """\
s = sw.Schedule(sw.load("docs/schedules/compute_at.mlir"))
s.peel("i", front=1)
s.normalize("f")
s.fuse_loops("i", "j")
s.fold_storage("T", axis=0, factor=2)
print(s.outline())
"""

REMARKS = (
    ("examples/kernels/gauss_seidel.mlir", "loop-polyhedral{tile=8}"),
    ("examples/kernels/two_mm.mlir", "loop-auto-fuse,loop-auto-parallelize"),
)


@dataclass(frozen=True)
class Example:
    """One step, the program it is applied to, and the program afterwards."""

    good_for: str
    step: Step
    before: str
    after: str


def is_written(step_class: type[Step]) -> bool:
    name = f"stepwell.transforms.loop.{step_class.keyword}"
    try:
        import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        return False
    return True


def example(keyword: str) -> Example:
    """The example in `schedules/<keyword>.mlir`: a comment, functions, and a script of one step."""
    path = EXAMPLES / f"{keyword}.mlir"
    comment = [line[2:].strip() for line in path.read_text().splitlines() if line[:2] == "//"]
    module = parse_file(path)
    (script,) = (op for op in module.ops if isinstance(op, ScriptOp))
    (step,) = script.steps
    before = functions(module)
    ApplySchedulePass().apply(Context(), module)
    after = {name: text for name, text in functions(module).items() if before.get(name) != text}
    return Example(" ".join(comment), step, "".join(before.values()), "".join(after.values()))


def functions(module: ModuleOp) -> dict[str, str]:
    return {
        op.sym_name.data: module_text(op) + "\n" for op in module.ops if isinstance(op, func.FuncOp)
    }


def script_line(step: Step) -> str:
    return script_text([step]).splitlines()[1].strip()


def pass_text(step: Step) -> str:
    def text(value: object) -> str:
        if isinstance(value, tuple):
            return ",".join(map(str, value))
        return str(value)

    options = " ".join(f"{name}={text(value)}" for name, value in step.parameters.items())
    return f"loop-{step.keyword.replace('_', '-')}{{{options}}}"


def table(step_class: type[Step]) -> str:
    rows = ["| parameter | type | default | |", "|---|---|---|---|"]
    for f in parameters(step_class):
        default = "" if f.default is MISSING else f"`{f.default!r}`".replace("'", '"')
        type_ = type_text(parameter_type(step_class, f.name)).replace("|", "or")
        rows.append(f"| `{f.name}` | `{type_}` | {default} | {meaning(step_class, f.name)} |")
    return "\n".join(rows)


SEVERAL_LOOPS = {
    "mirror": "the loops that copy, outermost first",
    "reorder": "the loops in their new order, outermost first",
    "index_set_split": "the parts in order, the loop itself first",
    "compute_at": "the producer's loops inside of the loop",
    "reverse_compute_at": "the consumer's loops inside of the loop",
    "decompose_reduction": "the loops of the initialisation, outermost first",
    "prefetch": "the loops around the hints, outermost first; none where one hint is enough",
}
"""What the loops are that a step returns, where their number depends on the program."""


def returned(step_class: type[Step]) -> str:
    """What a step returns: what it unpacks into, and by which names the rest is there."""
    parts: list[str] = []
    for made in made_by(step_class):
        names = ", ".join(f"`{name}`" for name in getattr(made, "__dataclass_fields__", {}))
        text = " ".join((inspect.getdoc(made) or "").split())
        if made is SomeLoops:
            text = SEVERAL_LOOPS[step_class.keyword] + "."
        parts.append(f"{names}: {text[:1].lower()}{text[1:]}" if names else "nothing: " + text)
    return " Or ".join(parts)


def section(step_class: type[Step]) -> str:
    """A step: what it does, when it is legal, what it is good for, and an example."""
    shown = example(step_class.keyword)
    planner = planner_of(step_class)
    return f"""\
### {step_class.keyword}

{inspect.getdoc(step_class)}

**When.** {inspect.getdoc(planner)}

**Good for** {shown.good_for.removeprefix("Good for ")}

{table(step_class)}

**Returns** {returned(step_class)}

```mlir
{shown.before}```

`{script_line(shown.step)}`

```mlir
{shown.after}```

"""


def forms() -> str:
    step = example("split").step
    return f"""\
- a line of a script: `{script_line(step)}`, applied by
  `stepwell-opt IN.mlir -p "apply-schedule{{file=script.mlir}}"`;
- a method of the Python `Schedule`: `s.{describe(step)}`;
- a pass: `stepwell-opt IN.mlir -p "{pass_text(step)}"`;
- a question: `stepwell-opt IN.mlir --why-not '{describe(step)}'`."""


def printed(python: str) -> str:
    """What Python of the introduction prints, run in the repository's root."""
    stream = StringIO()
    with redirect_stdout(stream), chdir(DOCS.parent):
        exec(compile(python, str(PAGE), "exec"), {"sw": sw})
    return stream.getvalue()


def automatic() -> str:
    """The passes that choose steps by themselves, and how to see what they chose."""
    lines = [
        "## Without a script\n",
        "The `loop-auto-` passes apply single steps by a stated criterion to every function of a module, "
        "and note what they chose in the function's attribute `stepwell.chosen`; `loop-polyhedral` "
        "schedules functions as a whole. With `--remarks` each says on stderr what it decided and by "
        "which numbers, or why it left something as it was, in one line:\n",
        f"```\n{remarks()}```\n",
        "From Python: `with stepwell.transforms.remarks.listening(found.append): …`.\n",
    ]
    for name, load in STEPWELL_UNIVERSE.all_passes.items():
        if name.startswith("loop-auto-") or name == "loop-polyhedral":
            lines.append(f"### {name}\n\n{inspect.getdoc(load())}\n")
    return "\n".join(lines)


def remarks() -> str:
    """What the driver prints for `REMARKS`, run in the repository's root."""
    lines: list[str] = []
    for path, pipeline in REMARKS:
        lines.append(f'$ stepwell-opt {path} --remarks -p "{pipeline}" >/dev/null')
        stream = StringIO()
        with redirect_stderr(stream), redirect_stdout(StringIO()), chdir(DOCS.parent):
            opt([path, "--remarks", "-p", pipeline])
        lines += stream.getvalue().splitlines()
    return "\n".join(lines) + "\n"


def page() -> str:
    question = "reorder(f/t, order=[i, t])"
    refusal = sw.Schedule((EXAMPLES / "skew.mlir").read_text()).why_not(question) or ""
    introduction = INTRODUCTION.format(
        forms=forms(),
        python=PYTHON,
        handles=HANDLES,
        handles_printed=printed(HANDLES).strip(),
        printed=printed(PYTHON),
        sliding=SLIDING,
        sliding_printed=printed(SLIDING),
        question=question,
        refusal=refusal.replace("<string>", "docs/schedules/skew.mlir"),
    )
    written = [step_class for step_class in STEPS.values() if is_written(step_class)]
    contents = " · ".join(f"[{c.keyword}](#{c.keyword})" for c in written)
    steps = "".join(section(step_class) for step_class in written)
    return f"{introduction}## Steps\n\n{contents}\n\n{steps}{automatic()}\n{words()}"


def words() -> str:
    """What other systems call a step."""
    lines = [
        "## The words of other systems\n",
        "Steps under the names that Halide, TVM, Exo and the literature have for them. A method, pass or step of a "
        "script with such a name is answered with this.\n",
        "| there | here |",
        "|---|---|",
    ]
    for word, answer in sorted(OTHER_WORDS.items()):
        ours = re.sub(r"'(\w+)'", r"`\1`", answer)
        lines.append(f"| `{word}` | {ours} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
