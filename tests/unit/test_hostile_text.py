"""
Text that is wrong in ways no printer would make it: quotes that are not closed, integers of more than 64
bits, control characters, nesting without end. Each is one line at its place, and at once.
"""

import io
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import stepwell as sw
from stepwell import StepwellError
from stepwell.driver.pipeline_spec import parse_passes
from stepwell.errors import StepwellError as Error
from stepwell.frontend.text import parse_text
from stepwell.spelling import did_you_mean, few_names, printable
from stepwell.tools import cli, opt

# xDSL's regular expression takes twice as long for each further character: minutes for this one.
OPEN_QUOTE = 'func.func @f() attributes {note = "a string of some thirty and more letters} {\n}\n'
AT_THE_QUOTE = "1:35: found a string without a closing quote, expected '\"'"
NEST = """
func.func @f(%x: memref<32xf32>) {
  loop.for parallel "i" %i = 0 to 32 {
    %a = loop.load %x[%i] : memref<32xf32>
    loop.store %a, %x[%i] : memref<32xf32>
  }
  func.return
}
"""
BEYOND = "9999999999999999999999"


@pytest.fixture
def seconds():
    """Fails a test that takes more processor time than a few seconds: the text must be refused at once."""
    start = time.process_time()
    yield
    assert time.process_time() - start < 10


def _load(path: Path) -> object:
    return sw.load(path)


def _schedule(path: Path) -> object:
    return sw.Schedule(path.read_text())


def _script(path: Path) -> object:
    return sw.Schedule(NEST, script=path.read_text())


@pytest.mark.parametrize("read", [_load, _schedule, _script])
def test_an_open_quote_is_refused_at_once_in_python(
    read: Callable[[Path], object], tmp_path: Path, seconds: None
) -> None:
    path = tmp_path / "in.mlir"
    path.write_text(OPEN_QUOTE)
    where = "1:1: found 'func.func'" if read is _script else AT_THE_QUOTE
    with pytest.raises(StepwellError) as caught:
        read(path)
    assert where in str(caught.value)


@pytest.mark.parametrize(
    "command",
    [
        "stepwell-opt in.mlir",
        "stepwell-opt nest.mlir -p apply-schedule{file=script.mlir}",
        "stepwell run in.mlir",
        "stepwell compile in.mlir --emit core",
        "stepwell bench in.mlir --against numpy",
        "stepwell run -",
    ],
)
def test_an_open_quote_is_refused_at_once_by_every_tool(
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    seconds: None,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.mlir").write_text(OPEN_QUOTE)
    Path("nest.mlir").write_text(NEST)
    Path("script.mlir").write_text(
        'schedule.script { schedule.split "f/i of thirty letters and more'
    )
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(OPEN_QUOTE.encode())))
    program, *args = command.split()
    assert {"stepwell": cli.main, "stepwell-opt": opt.main}[program](args) == 1
    line = capsys.readouterr().err
    assert line.count("\n") == 1
    assert "found a string without a closing quote" in line


def test_a_wrong_escape_is_told_from_an_open_quote() -> None:
    with pytest.raises(StepwellError, match=r"1:36: found the escape \\q in a string, expected"):
        parse_text('func.func @f() attributes {a = "ab \\q"} { func.return }')


@pytest.mark.parametrize(
    ("pipeline", "message"),
    [
        ('loop-split{loop="f/i factor=4}', "pipeline:1:17: found a string without a closing quote"),
        ("loop-split{loop=f/i factor=4 factor=8}", "pipeline:1:30: found option 'factor' twice"),
        ("loop-stage{buffer=f/x set-scope set_scope}", "pipeline:1:33: found option 'set-scope' twice"),
        ("cse,loop-unroll{loop=f/i mark=true mark}", "pipeline:1:36: found option 'mark' twice"),
        (f"loop-split{{loop=f/i factor={BEYOND}}}", f"pipeline:1:28: found the integer {BEYOND}"),
        (f"loop-split{{loop=f/i factor={'9' * 5000}}}", "expected one of at most 64 bits"),
        (f"loop-tile{{loop=f/i factors=4,-{BEYOND}}}", "expected one of at most 64 bits"),
    ],
)  # fmt: skip
def test_pipelines(pipeline: str, message: str) -> None:
    with pytest.raises(StepwellError) as caught:
        parse_passes(pipeline)
    assert message in str(caught.value)


def test_one_option_may_stand_in_each_of_two_passes() -> None:
    first, second = parse_passes("loop-split{loop=f/i factor=4},loop-split{loop=f/j factor=4}")
    assert (first.loop, second.loop) == ("f/i", "f/j")


def body(text: str) -> str:
    return f"func.func @f(%x: memref<4xf32>) {{\n  {text}\n  func.return\n}}\n"


BEYOND_64_BITS = {
    "an attribute": body(f"%c = arith.constant {BEYOND} : i64"),
    "an index": body("%c = arith.constant 9223372036854775808 : index"),
    "elements": body(f"%c = arith.constant dense<{BEYOND}> : tensor<2xi64>"),
    "a list": f"func.func @f() attributes {{a = array<i64: {BEYOND}>}} {{ func.return }}",
    "5000 digits": f"func.func @f() attributes {{a = {'9' * 5000}}} {{ func.return }}",
    "hexadecimal digits": f"func.func @f() attributes {{a = 0x{'f' * 17}}} {{ func.return }}",
    "an extent": f"func.func @f(%x: tensor<2x{BEYOND}xf32>) {{ func.return }}",
    "an extent beyond a sign": "func.func @f(%x: memref<9223372036854775808xf32>) { func.return }",
    "an upper bound": body(f'loop.for serial "i" %i = 0 to {BEYOND} {{ }}'),
    "a lower bound": body('loop.for serial "i" %i = -9223372036854775809 to 4 { }'),
    "a step": body('loop.for serial "i" %i = 0 to 4 step 9223372036854775808 { }'),
    "a subscript": body(
        'loop.for serial "i" %i = 0 to 4 { %a = loop.load %x[%i + 9223372036854775808] : memref<4xf32> }'
    ),
    "a product": body(
        'loop.for serial "i" %i = 0 to 4 { loop.if (%i * 9223372036854775807 * 9 >= 0) { } }'
    ),
}


@pytest.mark.parametrize("text", BEYOND_64_BITS.values(), ids=BEYOND_64_BITS)
def test_an_integer_of_more_than_64_bits(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "in.mlir"
    path.write_text(text)
    assert opt.main([str(path)]) == 1
    line = capsys.readouterr().err
    assert line.startswith(f"error: {path}:") and line.count("\n") == 1
    assert "64 bits" in line or "below 2^63" in line


def test_integers_of_64_bits_are_read() -> None:
    text = "%a = arith.constant 18446744073709551615 : i64\n%b = arith.constant -9223372036854775808 : index"
    parse_text(f"func.func @f() {{ {text}\n func.return }}")


def test_plans_for_a_loop_that_ends_at_the_least_integer() -> None:
    """One less is no integer of the IR."""
    text = NEST.replace("0 to 32", "0 to -9223372036854775808")
    assert sw.load(text).plan().startswith("f\n")


@pytest.mark.parametrize(
    "step",
    [
        lambda s: s.split("i", int(BEYOND)),
        lambda s: s.split("i", 2**63),
        lambda s: s.tile("i", [4, int(BEYOND)]),
        lambda s: s.prefetch("x", "i", -int(BEYOND)),
        lambda s: s.apply(f"split(i, {BEYOND})"),
        lambda s: s.index_set_split("i", at="9223372036854775808"),
        lambda s: sw.Schedule(NEST, script=f'schedule.script {{ schedule.split "f/i" factor = {BEYOND} }}'),
        lambda s: sw.Schedule(
            NEST, script='schedule.script { schedule.split "f/i" factor = 9223372036854775808 }'
        ),
    ],
)  # fmt: skip
def test_parameters_of_steps_of_more_than_64_bits(step: Callable[[sw.Schedule], object]) -> None:
    schedule = sw.Schedule(NEST)
    with pytest.raises(StepwellError, match="64 bits"):
        step(schedule)
    assert schedule.steps == ()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("split(i, factor=4, factor=8)", "parameter 'factor' of step 'split' twice"),
        ("-" * 100_000 + "1", "nested too deeply"),
        (None, "found a NoneType, expected a step"),
        (b"split(i, 4)", "found a bytes, expected a step"),
    ],
)
def test_what_is_no_step(given: object, message: str) -> None:
    with pytest.raises(StepwellError, match=message):
        sw.Schedule(NEST).apply(given)


def test_numpys_integers_are_numbers() -> None:
    import numpy as np

    assert "factor = 8" in str(sw.Schedule(NEST).split("i", np.int64(8)))


@pytest.mark.parametrize(
    "script",
    [
        "schedule.script {" * 3000,
        'schedule.script { schedule.tile "f/i" factors = ' + "[" * 100_000,
    ],
)
def test_scripts_nested_without_end(script: str, seconds: None) -> None:
    with pytest.raises(StepwellError, match="found text that cannot be read"):
        sw.Schedule(NEST, script=script)


@pytest.mark.parametrize("program", [None, 3, b"func.func", sw.jit(lambda x: x)])
def test_what_is_no_program(program: object) -> None:
    with pytest.raises(StepwellError, match="as the program, expected a Lowered"):
        sw.Schedule(program)


# Control characters


def test_what_does_not_print_is_escaped() -> None:
    assert printable("a b é 木 'x'") == "a b é 木 'x'"
    assert (
        printable("a\nb\0\x1b[31m\u202e\ud800\u2028") == "a\\nb\\x00\\x1b[31m\\u202e\\ud800\\u2028"
    )
    error = Error("found 'a\nb'", where="no\0.mlir:1:1")
    assert str(error) == "no\\x00.mlir:1:1: found 'a\\nb'"


@pytest.mark.parametrize(
    "args",
    [
        ["a\nb.mlir"],
        ["a\0b.mlir"],
        ["in.mlir", "-p", "c\nse\0"],
        ["in.mlir", "-p", "cse{a\x1b=3}"],
        ["in.mlir", "--no\nsuch"],
        ["in.mlir", "-t", "x\ny"],
        ["in.mlir", "--check-seed", "1\n\x07"],
        ["in.mlir", "--why-not", "split('f/i\\n\\0', 4)"],
    ],
)
def test_control_characters_are_not_echoed(
    args: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.mlir").write_text(NEST)
    assert opt.main(args) == 1
    line = capsys.readouterr().err
    assert line.startswith("error: ") and line[:-1].isprintable()


# The nearest names


def test_only_near_names_are_proposed_and_three_at_most() -> None:
    many = [f"loop{n}" for n in range(9)]
    assert did_you_mean("loop", many, "").count("'") == 6
    assert did_you_mean("zzz", many, "see the list") == "see the list"
    known = ["schedule.split", "schedule.skew", "schedule.script"]
    near = did_you_mean("schedule.splt", known, "", prefix="schedule.")
    assert near == "did you mean 'schedule.split'?"


def test_names_are_listed_while_they_are_few() -> None:
    assert few_names("it has", ["a", "b", "a"], "see the list") == "it has 'a', 'b'"
    assert few_names("it has", [], "see the list") == "it has none"
    assert few_names("it has", "abcdefgh", "see the list") == "see the list"


def test_a_loop_that_is_not_there() -> None:
    loops = "".join(f'loop.for serial "{name}" %{name} = 0 to 4 {{ }}\n' for name in "abcdefgh")
    schedule = sw.Schedule(f"func.func @f() {{\n{loops}func.return }}")
    with pytest.raises(
        StepwellError, match=r"has no loop 'zz', .*; the IR and the schedule's outline"
    ):
        schedule.split("zz", 4)
    with pytest.raises(StepwellError, match=r"; they are 'x'"):
        sw.Schedule(NEST).stage("zz", "i")
    with pytest.raises(StepwellError, match="did you mean 'unroll_and_jam'"):
        schedule.apply("unroll_and_jm(a, 4)")
    with pytest.raises(StepwellError, match=r"found step 'zz', .*; help\(stepwell.Schedule\)"):
        schedule.apply("zz(a, 4)")


def test_arguments_that_memory_cannot_hold_are_not_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "in.mlir"
    path.write_text(f"func.func @f(%x: memref<{2**63 - 1}x6xf32>) {{\n  func.return\n}}\n")
    assert opt.main([str(path), "-p", "canonicalize", "--check-each"]) == 1
    assert "error: found argument 'x' of 2.06e+11 GiB" in capsys.readouterr().err
