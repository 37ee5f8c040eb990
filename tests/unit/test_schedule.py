"""The Python `Schedule`: steps, undo and redo, scripts that give the same IR, and what it shows."""

from pathlib import Path

import numpy as np
import pytest
import stepwell as sw
from stepwell.analysis.verify import verify
from stepwell.dialects.schedule.script_text import parse_script
from stepwell.dialects.schedule.steps import Split
from stepwell.driver.pass_manager import module_text
from stepwell.errors import StepwellError
from stepwell.frontend.text import parse_text
from stepwell.interpreters.harness import interpret
from stepwell.tools.opt import main
from stepwell.transforms.step_support.refusal import Refusal

PROGRAM = """\
func.func @f(%A: memref<17x13xf32>, %B: memref<13x11xf32>, %C: memref<17x11xf32> {stepwell.result}) {
  %zero = arith.constant 0.0 : f32
  loop.for parallel "z" %z = 0 to 17 {
    loop.for parallel "w" %w = 0 to 11 {
      loop.store %zero, %C[%z, %w] : memref<17x11xf32>
    }
  }
  loop.for parallel "i" %i = 0 to 17 {
    loop.for parallel "j" %j = 0 to 11 {
      loop.for reduction "k" %k = 0 to 13 {
        %a = loop.load %A[%i, %k] : memref<17x13xf32>
        %b = loop.load %B[%k, %j] : memref<13x11xf32>
        %p = arith.mulf %a, %b : f32
        %c = loop.load %C[%i, %j] : memref<17x11xf32>
        %s = arith.addf %c, %p fastmath<reassoc> : f32
        loop.store %s, %C[%i, %j] : memref<17x11xf32>
      }
    }
  }
  func.return
}
"""
SHIFT = """\
func.func @g(%A: memref<9x9xf32>) {
  loop.for serial "x" %x = 1 to 9 {
    loop.for serial "y" %y = 0 to 8 {
      %a = loop.load %A[%x - 1, %y + 1] : memref<9x9xf32>
      loop.store %a, %A[%x, %y] : memref<9x9xf32>
    }
  }
  func.return
}
"""


def scheduled() -> sw.Schedule:
    s = sw.Schedule(PROGRAM)
    return s.split("k", 4).split("f/i", 5, tail="peel").reorder("j", ["k.outer", "j"])


def text(s: sw.Schedule) -> str:
    return module_text(s.module)


# Steps.


def test_steps_chain_and_keep_the_results() -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape).astype(np.float32) for shape in ((17, 13), (13, 11)))
    s = scheduled()
    verify(s.module)
    (interpreted,) = interpret(s.module, [a, b])
    np.testing.assert_allclose(interpreted, a @ b, atol=1e-5)
    np.testing.assert_allclose(s.compile()(a, b), a @ b, atol=1e-5)


def test_the_program_given_is_left_as_it_is() -> None:
    module = parse_text(PROGRAM)
    before = module_text(module)
    s = sw.Schedule(module).split("i", 4)
    assert module_text(module) == before
    s.module.body.block.first_op.detach()  # of a copy
    assert text(s) != before and "i.outer" in text(s)


def test_a_step_is_given_as_method_object_or_call() -> None:
    texts = {
        text(sw.Schedule(PROGRAM).split("i", 4, tail="peel")),
        text(sw.Schedule(PROGRAM).split("f/i", factor=4, tail="peel")),
        text(sw.Schedule(PROGRAM).apply(Split("f/i", 4, tail="peel"))),
        text(sw.Schedule(PROGRAM).apply("split(i, 4, tail=peel)")),
    }
    assert len(texts) == 1


def test_a_refused_step_changes_nothing() -> None:
    s = sw.Schedule(SHIFT)
    before, script = text(s), str(s)
    with pytest.raises(Refusal, match=r"reorder\(.*iterations \(x=1, y=1\) and \(x=2, y=0\)"):
        s.reorder("x", ["y", "x"])
    assert (text(s), str(s)) == (before, script)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: s.split("i"), "found no 'factor' for step 'split'"),
        (lambda s: s.split("i", "4"), "found factor='4' for step 'split', expected a whole number"),
        (lambda s: s.split("i", 4, tial="peel"), "did you mean 'tail'"),
        (lambda s: s.split("q", 4), "function 'f' has no loop 'q'"),
        (lambda s: s.apply("spit(i, 4)"), "did you mean 'split'"),
        (lambda s: s.undo(), "there is no step to undo"),
        (lambda s: s.redo(), "there is no step to redo"),
        (
            lambda s: sw.Schedule(PROGRAM, "g"),
            "found no function 'g', expected one of the program's; it has 'f'",
        ),
        (
            lambda s: sw.Schedule(PROGRAM, script="schedule.splt"),
            "<script>:1:1: found 'schedule.splt",
        ),
        (lambda s: sw.Schedule("func.func @f("), "<string>:1:14"),
    ],
)
def test_mistakes_are_one_line(call, message: str) -> None:
    with pytest.raises(StepwellError) as caught:
        call(sw.Schedule(PROGRAM))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_fault_in_a_step_does_not_leave_half_a_rewrite(monkeypatch: pytest.MonkeyPatch) -> None:
    from stepwell.transforms.loop.split import SplitPlan

    def fail(self: SplitPlan) -> None:
        self.for_op.detach()
        raise RuntimeError("a bug")

    s = sw.Schedule(PROGRAM)
    before = text(s)
    monkeypatch.setattr(SplitPlan, "apply", fail)
    with pytest.raises(RuntimeError) as caught:
        s.split("i", 4)
    assert text(s) == before
    assert 'split("f/i", factor=4)' in caught.value.__notes__[0]


# Back and forth.


def test_undo_and_redo() -> None:
    s = scheduled()
    texts = [text(s)]
    for _ in range(3):
        texts.append(text(s.undo()))
    assert texts[-1] == text(sw.Schedule(PROGRAM))
    assert str(s) == str(sw.Schedule(PROGRAM))
    for expected in reversed(texts[:-1]):
        assert text(s.redo()) == expected
    assert str(s) == str(scheduled())


def test_a_new_step_ends_what_can_be_redone() -> None:
    s = scheduled().undo().split("j", 3)
    with pytest.raises(StepwellError, match="no step to redo"):
        s.redo()
    assert [type(step).__name__ for step in s.steps] == ["Split", "Split", "Split"]


def test_a_script_is_gone_through_line_by_line() -> None:
    s = sw.Schedule(PROGRAM, script=str(scheduled()))
    assert s.steps == () and len(s.remaining) == 3
    assert s.step() == Split("f/k", 4)
    assert "k.outer" in text(s) and "i.outer" not in text(s)
    s.undo()
    assert len(s.remaining) == 3
    assert s.run() is s and s.step() is None
    assert text(s) == text(scheduled())


def test_a_refused_line_names_its_number_and_remains() -> None:
    script = (
        'schedule.script { schedule.split "x" factor = 2 schedule.reorder "x.outer" order = ["y"] }'
    )
    s = sw.Schedule(SHIFT, script=script)
    with pytest.raises(Refusal, match=r"^step 2 of 2: reorder\("):
        s.run()
    assert len(s.steps) == 1 and len(s.remaining) == 1


def test_a_script_in_the_module_is_taken_out() -> None:
    s = sw.Schedule(PROGRAM + 'schedule.script { schedule.split "f/i" factor = 4 }')
    assert "schedule" not in text(s)
    assert s.step() == Split("f/i", 4)


# Scripts.


def test_the_script_printed_gives_the_same_ir_in_every_way(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    s = scheduled()
    program, script, both = (tmp_path / name for name in ("p.mlir", "s.mlir", "both.mlir"))
    program.write_text(PROGRAM)
    script.write_text(str(s))
    both.write_text(f"{PROGRAM}{s}\n")
    assert main([str(program), "-p", f"apply-schedule{{file={script}}}"]) == 0
    from_file = capsys.readouterr().out
    assert main([str(both), "-p", "apply-schedule"]) == 0
    embedded = capsys.readouterr().out
    assert embedded == from_file == text(s) + "\n\n"
    assert text(sw.Schedule(PROGRAM, script=str(s)).run()) == text(s)


def test_scripts_print_and_parse() -> None:
    printed = str(scheduled())
    (script,) = parse_script(printed).ops
    assert str(printed) in str(parse_script(printed)).replace("\n  ", "\n")
    assert script.steps == scheduled().steps
    assert str(sw.Schedule(PROGRAM)) == "schedule.script {\n}"


def test_a_lowered_program_is_taken_to_the_loop_level(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    @sw.jit
    def product(a, b):
        return sw.relu(a @ b)

    a, b = np.ones((8, 6), np.float32), np.ones((6, 4), np.float32)
    low = product.lower(a, b)
    s = sw.Schedule(low)
    kernels = [line for line in s.outline().splitlines() if line and line[0] != " "]
    assert len(kernels) > 1
    with pytest.raises(StepwellError, match="without a function"):
        s.split("no_such", 2)
    kernel = next(name for name in kernels if name != "main")
    loop = next(op for op in s._nests.resolve(f"{kernel}/")[0].loops()).loop_name.data
    s = sw.Schedule(low, kernel).split(loop, 3, tail="peel")
    assert f'schedule.split "{kernel}/{loop}" factor = 3 tail = "peel"' in str(s)
    np.testing.assert_allclose(s.compile()(a, b), np.full((8, 4), 6.0))

    program, script = tmp_path / "p.mlir", tmp_path / "s.mlir"
    program.write_text(str(low.unscheduled()))
    script.write_text(str(s))
    assert main([str(program), "-p", f"apply-schedule{{file={script}}}"]) == 0
    assert capsys.readouterr().out.startswith(text(s))


# Questions.


def test_why_not_answers_without_changing_anything() -> None:
    s = sw.Schedule(SHIFT)
    before = text(s)
    reason = s.why_not("reorder(x, [y, x])")
    assert reason is not None and "would be swapped" in reason
    assert s.why_not(Split("x", 4)) is None
    assert s.can("split(x, 4)") and not s.can("reorder(x, [y, x])")
    with pytest.raises(StepwellError, match="has no loop 'q'"):
        s.why_not("split(q, 4)")
    assert text(s) == before and s.steps == ()


def test_dependences_are_listed() -> None:
    dependences = sw.Schedule(SHIFT).dependences()
    assert str(dependences) == "flow  %A  store 5:7 -> load 4:12  distance (1, -1)  carried by x"
    assert str(sw.Schedule(PROGRAM.replace("%C[%i, %j]", "%C[0, 0]")).dependences()).count("\n") > 2
    copy = 'func.func @f(%A: memref<4xf32>) { loop.for serial "i" %i = 0 to 4 { } func.return }'
    assert str(sw.Schedule(copy).dependences()) == "no dependences"


def test_a_script_in_a_program_is_applied_on_the_way_down(tmp_path: Path) -> None:
    script = 'schedule.script { schedule.split "f/i" factor = 4 tail = "peel" }'
    path = tmp_path / "p.mlir"
    path.write_text(PROGRAM + script)
    low = sw.load(path)
    assert "schedule.script" in low.as_text("loop")
    a, b = np.ones((17, 13), np.float32), np.ones((13, 11), np.float32)
    np.testing.assert_allclose(low.compile()(a, b), np.full((17, 11), 13.0))
    assert "apply-schedule" in [name for name, _ in low.timings]
    with pytest.raises(StepwellError, match="step 1 of 1: split"):
        sw.Schedule(PROGRAM)  # the program alone is fine
        path.write_text(PROGRAM + script.replace("f/i", "f/q"))
        sw.load(path).compile()
