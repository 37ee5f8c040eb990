"""`--check-kernels`: passes that are broken on purpose are found and named, where loops are compiled too."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence

import numpy as np
import pytest
import stepwell as sw
from stepwell.analysis.levels import Level
from stepwell.driver.pipelines import lower_to
from stepwell.errors import StepwellError
from stepwell.frontend.text import make_context, parse_text
from stepwell.lowering.core_to_llvm.convert import ConvertCoreToLLVMPass
from stepwell.tools import check_kernels
from stepwell.tools.check_kernels import CheckKernels
from stepwell.tools.cli import main as stepwell
from stepwell.tools.execute import execute_apart
from stepwell.tools.opt import main as stepwell_opt
from stepwell.transforms.core.fp_flags import CoreFpFlagsPass
from stepwell.tuning.rules import ScheduleByRulesPass
from xdsl.context import Context
from xdsl.dialects import arith, llvm
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter


@sw.jit
def layers(x, w, v):
    """A product whose loops are long to interpret, and kernels whose loops are not."""
    return sw.softmax(sw.relu(x @ w) @ v, axis=-1)


SHAPES = (3, 7), (7, 18), (18, 5)


@pytest.fixture(autouse=True)
def _few_points(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let products be compiled, and softmax be interpreted."""
    monkeypatch.setattr(check_kernels, "MOST_INTERPRETED", 100)


def check() -> str:
    """Lower the layers while CheckKernels looks on: what it says. Raises StepwellError for a wrong pass."""
    said = io.StringIO()
    module = layers.lower(*(np.empty(shape, np.float32) for shape in SHAPES)).module("graph")
    lower_to(module, Level.LLVM, instrumentations=[CheckKernels(stream=said)])
    return said.getvalue()


def break_pass(
    monkeypatch: pytest.MonkeyPatch, pass_class: type[ModulePass], wrong: dict[type, type]
) -> None:
    """Let a pass do what it does, and then put other operations in the place of some."""
    right = pass_class.apply

    def apply(self: ModulePass, ctx: Context, op: ModuleOp) -> None:
        right(self, ctx, op)
        for one in [one for one in op.walk() if type(one) in wrong]:
            Rewriter.replace_op(one, wrong[type(one)](*one.operands))

    monkeypatch.setattr(pass_class, "apply", apply)


def test_right_passes_pass_and_what_was_checked_how_is_said() -> None:
    program, kernels = check().splitlines()
    assert program.startswith("--check-kernels: the program: ")
    assert kernels.startswith("--check-kernels: 3 kernels by themselves: ")
    for line in (program, kernels):
        assert "times interpreted and" in line
        assert "times compiled; largest difference 0." in line


@pytest.mark.parametrize(
    ("pass_class", "operation", "wrong", "kernel"),
    [
        # in what is compiled at the end
        (ScheduleByRulesPass, arith.MulfOp, arith.AddfOp, "main.matmul_relu"),
        # in what compiles what other passes leave
        (CoreFpFlagsPass, arith.MulfOp, arith.AddfOp, "main.matmul_relu"),
        # in what is interpreted down to the last pass
        (ConvertCoreToLLVMPass, llvm.FMulOp, llvm.FAddOp, "main.max_exp_sum_softmax"),
    ],
)
def test_a_pass_that_is_wrong_is_named(
    monkeypatch: pytest.MonkeyPatch,
    pass_class: type[ModulePass],
    operation: type[Operation],
    wrong: type[Operation],
    kernel: str,
) -> None:
    break_pass(monkeypatch, pass_class, {operation: wrong})
    with pytest.raises(StepwellError) as caught:
        check()
    message = str(caught.value)
    assert f"pass '{pass_class.name}' changes a result of '{kernel}': output 0" in message
    assert "\n" not in message


def test_where_interpreting_would_take_too_long_both_are_suspects(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(check_kernels, "MOST_CONFIRMED", 100)
    break_pass(monkeypatch, CoreFpFlagsPass, {arith.MulfOp: arith.AddfOp})
    with pytest.raises(StepwellError, match=r"as compiled: .*; mend the pass, or one below it"):
        check()


def test_code_that_crashes_ends_its_own_process() -> None:
    text = """func.func @f(%a: memref<4xf32>) {
        %far = arith.constant 1000000000000 : index
        %x = memref.load %a[%far] : memref<4xf32>
        %c0 = arith.constant 0 : index
        memref.store %x, %a[%c0] : memref<4xf32>
        func.return
    }"""
    module = parse_text(text, "f.mlir", make_context())
    with pytest.raises(StepwellError, match="the compiled code ended its process with status -"):
        execute_apart(module, [np.zeros(4, np.float32)])


MATMUL = """func.func @f(%a: tensor<5x7xf32>, %b: tensor<7x6xf32>) -> tensor<5x6xf32> {
  %c = graph.matmul %a, %b : tensor<5x7xf32>, tensor<7x6xf32> -> tensor<5x6xf32>
  func.return %c : tensor<5x6xf32>
}
"""


@pytest.mark.parametrize(
    ("main", "command"),
    [
        (stepwell_opt, ["-", "--check-kernels", "-p", "convert-graph-to-te,te-fuse,te-bufferize"]),
        (stepwell, ["run", "-", "--random", "1", "--check-each", "--no-cache"]),
    ],
)
def test_commands_check(
    main: Callable[[Sequence[str]], int],
    command: Sequence[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    stdin = io.TextIOWrapper(io.BytesIO(MATMUL.encode()))
    monkeypatch.setattr("sys.stdin", stdin)
    assert main(command) == 0
    assert "--check-kernels: 1 kernels by themselves" in capsys.readouterr().err
