"""`stepwell-opt` in process: what goes to which stream, exit statuses, and the instrumentations."""

import io
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from stepwell.analysis.levels import Level
from stepwell.driver.pass_manager import (
    Instrumentation,
    IRPrinting,
    PassManager,
    module_text,
    timing_table,
)
from stepwell.driver.pipeline_spec import parse_passes, pipeline_text
from stepwell.errors import StepwellError
from stepwell.frontend.text import make_context, parse_text
from stepwell.tools import diagnostics
from stepwell.tools.check_each import CheckEach
from stepwell.tools.opt import main
from stepwell.tools.pass_list import pass_list
from stepwell.transforms.stepwell_pass import StepwellPass
from stepwell.universe import STEPWELL_UNIVERSE, multiverse
from xdsl.context import Context
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

TWICE = """func.func @f(%x: i32, %y: i32) -> i32 {
  %a = arith.addi %x, %y : i32
  %b = arith.addi %x, %y : i32
  %c = arith.muli %a, %b : i32
  func.return %c : i32
}
"""


@pytest.fixture
def twice(tmp_path: Path) -> str:
    path = tmp_path / "twice.mlir"
    path.write_text(TWICE)
    return str(path)


# The driver


def test_the_result_goes_to_stdout_and_nothing_to_stderr(
    twice: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([twice, "-p", "cse"]) == 0
    out, err = capsys.readouterr()
    assert out.count("arith.addi") == 1
    assert err == ""


def test_prints_and_tables_go_to_stderr(twice: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([twice, "-p", "cse", "--print-ir-after-all", "--time-passes"]) == 0
    out, err = capsys.readouterr()
    assert out.count("func.func") == 1
    assert "IR after cse" in err and "total" in err


def test_output_file(twice: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "out.mlir"
    assert main([twice, "-o", str(output)]) == 0
    assert capsys.readouterr().out == ""
    assert "func.func @f" in output.read_text()


@pytest.mark.parametrize("args", [[], ["-"]])
def test_reads_stdin(
    args: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(TWICE.encode())))
    assert main([*args, "-p", "cse"]) == 0
    assert "func.func @f" in capsys.readouterr().out


def test_xdsl_options_are_kept(twice: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([twice, "--print-op-generic"]) == 0
    assert '"func.func"' in capsys.readouterr().out
    with pytest.raises(SystemExit) as stop:
        main(["--help"])
    assert not stop.value.code
    text = capsys.readouterr().out
    assert "--allow-unregistered-dialect" in text and "--print-ir-after-change" in text


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert not stop.value.code
    assert capsys.readouterr().out.startswith("stepwell-opt ")


def test_a_reader_that_leaves_early_is_no_error(twice: str) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "stepwell.tools.opt", twice],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout and process.stderr
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait() == diagnostics.BROKEN_PIPE


def test_no_verify_each_still_verifies_the_ends(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bad.mlir"
    path.write_text('%a = "arith.addf"() : () -> i32')
    assert main([str(path), "--no-verify-each"]) == 1
    assert "arith.addf" in capsys.readouterr().err
    assert main([str(path), "--disable-verify", "--print-op-generic"]) == 0


def test_bugs_are_one_line_that_says_how_to_see_more(capsys: pytest.CaptureFixture[str]) -> None:
    def body() -> int:
        raise KeyError("some key\nof two lines")

    assert diagnostics.run_tool(body) == 1
    err = capsys.readouterr().err
    assert err.startswith("internal error: KeyError: ")
    assert "STEPWELL_DEBUG=1" in err and err.count("\n") == 1


def test_debug_shows_the_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("STEPWELL_DEBUG", "1")
    assert main(["nosuch.mlir"]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_an_interrupt_is_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    def body() -> int:
        raise KeyboardInterrupt

    assert diagnostics.run_tool(body) == diagnostics.INTERRUPTED
    assert capsys.readouterr().err == ""


# The pass table and pipelines as text


def test_every_pass_has_the_name_it_is_registered_by() -> None:
    for name, factory in STEPWELL_UNIVERSE.all_passes.items():
        pass_class = factory()
        assert pass_class.name == name
        assert issubclass(pass_class, StepwellPass)
        assert pass_class.level_in in Level and pass_class.level_out in Level


def test_the_list_of_passes_has_a_whole_sentence_for_each() -> None:
    """The first line of a docstring, which must not go on in the next one, says what to do, as steps are called."""
    for line in pass_list().splitlines()[1:-1]:
        words = line.split("  ")[-1].strip()
        assert words.endswith("."), line
        assert not re.match(r"[A-Z][a-z]*[^s]s ", words), (
            f"{line}: not what it does, but what to do"
        )


def test_every_dialect_has_the_name_it_is_registered_by() -> None:
    for name, factory in STEPWELL_UNIVERSE.all_dialects.items():
        assert factory().name == name


def test_nothing_of_xdsls_is_shadowed() -> None:
    everything = multiverse()
    assert len(everything.all_passes) >= 100
    assert "cse" not in STEPWELL_UNIVERSE.all_passes


def test_pipeline_text_is_read_back() -> None:
    text = 'cse,scf-parallel-loop-tiling{parallel_loop_tile_sizes=4,8},mlir-opt{arguments="-x"}'
    assert pipeline_text(parse_passes(text)) == text


# Passes that misbehave


@dataclass(frozen=True)
class BreakingPass(StepwellPass):
    """Swaps the first addition for a subtraction."""

    name = "test-break"
    level_in = level_out = Level.CORE

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in list(op.walk()):
            if isinstance(inner, arith.AddiOp):
                block = inner.parent
                assert block is not None
                swapped = arith.SubiOp(inner.lhs, inner.rhs)
                block.insert_op_before(swapped, inner)
                inner.result.replace_all_uses_with(swapped.result)
                inner.detach()
                inner.erase()
                return


@dataclass(frozen=True)
class InvalidatingPass(StepwellPass):
    """Erases the return."""

    name = "test-invalidate"
    level_in = level_out = Level.CORE

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in list(op.walk()):
            if isinstance(inner, func.ReturnOp):
                inner.detach()
                inner.erase()


@dataclass(frozen=True)
class RefusingPass(StepwellPass):
    """Refuses everything."""

    name = "test-refuse"
    level_in = level_out = Level.CORE

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        raise PassFailedException("found a\nmodule, expected none")


@dataclass(frozen=True)
class CrashingPass(StepwellPass):
    """Has a bug."""

    name = "test-crash"
    level_in = level_out = Level.CORE

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        raise IndexError("list index out of range")


def run_passes(*passes: ModulePass, watchers: list[Instrumentation] | None = None) -> ModuleOp:
    ctx = make_context()
    module = parse_text(TWICE, "twice.mlir", ctx)
    PassManager(passes, watchers or []).run(ctx, module)
    return module


def test_a_refusal_is_one_line_with_the_pass() -> None:
    with pytest.raises(StepwellError) as caught:
        run_passes(RefusingPass())
    assert str(caught.value) == (
        "twice.mlir:1:1: pass 'test-refuse' refused: found a module, expected none"
    )


def test_an_invalid_result_names_the_pass() -> None:
    with pytest.raises(StepwellError, match=r"^twice.mlir:4:8: .*after pass 'test-invalidate'"):
        run_passes(*parse_passes("canonicalize"), InvalidatingPass())


def test_a_bug_in_a_pass_names_the_pass(capsys: pytest.CaptureFixture[str]) -> None:
    def body() -> int:
        run_passes(CrashingPass())
        return 0

    assert diagnostics.run_tool(body) == 1
    err = capsys.readouterr().err
    assert err.startswith(
        "internal error: IndexError: list index out of range in pass 'test-crash'"
    )


def test_check_each_names_the_pass_that_changes_a_result() -> None:
    with pytest.raises(StepwellError) as caught:
        run_passes(
            *parse_passes("canonicalize,cse"),
            BreakingPass(),
            *parse_passes("dce"),
            watchers=[CheckEach(seed=3)],
        )
    message = str(caught.value)
    assert "pass 'test-break' changes a result of 'f': output 0 is" in message
    assert "seed 3" in message and "\n" not in message


def test_check_each_lets_good_passes_pass() -> None:
    text = module_text(run_passes(*parse_passes("canonicalize,cse,dce"), watchers=[CheckEach()]))
    assert text.count("arith.addi") == 1


def test_printing_after_change(capsys: pytest.CaptureFixture[str]) -> None:
    stream = io.StringIO()
    printing = IRPrinting(after_change=True, stream=stream)
    run_passes(*parse_passes("canonicalize,cse,dce"), watchers=[printing])
    assert stream.getvalue().count("IR after") == 1
    assert "IR after cse" in stream.getvalue()


def test_timing_table_is_aligned() -> None:
    lines = timing_table([("a", 0.003), ("a-long-name", 0.001)]).splitlines()
    assert len({len(line) for line in lines}) == 1
    assert lines[1].split() == ["a", "3.000", "75.0"]
    assert lines[-1].split() == ["total", "4.000", "100.0"]


def test_start_up_is_quick() -> None:
    """Every lit test starts the driver: nothing heavy may be imported to parse and print."""
    script = (
        "import sys; from stepwell.tools.opt import main; main(['-']); "
        "heavy = {'numpy', 'llvmlite', 'islpy'} & set(sys.modules); "
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        input=TWICE,
        text=True,
        capture_output=True,
        env=os.environ,
        check=False,
    )
    assert done.returncode == 0, done.stderr
