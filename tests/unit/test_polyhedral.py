"""`loop-polyhedral` on kernels of the polyhedral literature: same results, and what it is known to find."""

import numpy as np
import pytest
from stepwell.analysis.dependence import dependences
from stepwell.analysis.in_bounds import check_in_bounds
from stepwell.analysis.signature import entry_function
from stepwell.analysis.verify import verify
from stepwell.dialects import loop
from stepwell.errors import StepwellError
from stepwell.frontend.text import parse_text
from stepwell.interpreters.harness import interpret
from stepwell.transforms.loop.polyhedral import LoopPolyhedralPass
from xdsl.context import Context

from .kernel_oracles import (
    KERNELS,
    ORACLES,
    OTHER_SIZES,
    assert_close,
    check_natively,
    copies,
    inputs,
    kernel,
)


def test_every_kernel_has_an_oracle() -> None:
    names = {path.name.removesuffix(".mlir") for path in KERNELS.glob("*.mlir")}
    assert {name for name in names if not name.endswith(".schedule")} == set(ORACLES)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", sorted(ORACLES))
def test_schedules_keep_results(name: str) -> None:
    module = kernel(name)
    check_in_bounds(module)
    arrays = inputs(name, module)
    expected = ORACLES[name](*copies(arrays))
    assert_close(interpret(module, copies(arrays)), expected)
    for tile, fuse in ((0, "max"), (5, "max"), (8, "min")):
        scheduled = module.clone()
        LoopPolyhedralPass(tile=tile, fuse=fuse).apply(Context(), scheduled)
        verify(scheduled)
        check_in_bounds(scheduled)
        assert_close(interpret(scheduled, copies(arrays)), expected)


@pytest.mark.parametrize("name", sorted(ORACLES))
def test_schedules_keep_results_at_other_sizes(name: str) -> None:
    for sizes in OTHER_SIZES[name]:
        module = kernel(name, sizes)
        check_in_bounds(module)
        arrays = inputs(name, module)
        LoopPolyhedralPass(tile=4).apply(Context(), module)
        verify(module)
        check_in_bounds(module)
        assert_close(interpret(module, copies(arrays)), ORACLES[name](*copies(arrays)))


@pytest.mark.parametrize("name", sorted(ORACLES))
def test_schedules_keep_results_natively(name: str) -> None:
    module = kernel(name)
    LoopPolyhedralPass(tile=8).apply(Context(), module)
    check_natively(name, module)


@pytest.mark.parametrize("name", sorted(ORACLES))
def test_kinds_written_in_the_kernels_are_what_the_dependences_say(name: str) -> None:
    function = entry_function(kernel(name))
    found = dependences(function)
    for op in function.walk():
        if isinstance(op, loop.ForOp):
            assert op.kind.data is found.kind_of(op), op.loop_name.data


@pytest.mark.parametrize("name", sorted(ORACLES))
def test_loops_called_parallel_are_parallel(name: str) -> None:
    module = kernel(name)
    LoopPolyhedralPass(tile=0).apply(Context(), module)
    function = entry_function(module)
    found = dependences(function)
    for op in function.walk():
        if isinstance(op, loop.ForOp) and op.kind.data is loop.LoopKind.PARALLEL:
            assert found.is_parallel(op), op.loop_name.data


def test_gauss_seidel_is_skewed_and_tiled() -> None:
    module = kernel("gauss_seidel")
    LoopPolyhedralPass(tile=4).apply(Context(), module)
    loops = [op for op in module.walk() if isinstance(op, loop.ForOp)]
    assert [op.step.value.data for op in loops] == [4, 4, 4, 1, 1, 1]
    # The tiles' own loops are bounded by each other: the space has been skewed.
    assert loops[0].induction_variable in (*loops[1].lower_operands, *loops[1].upper_operands)


def test_two_mm_has_parallel_outer_loops() -> None:
    module = kernel("two_mm")
    LoopPolyhedralPass(tile=0, fuse="min").apply(Context(), module)
    outermost = [op for op in entry_function(module).body.block.ops if isinstance(op, loop.ForOp)]
    assert all(op.kind.data is loop.LoopKind.PARALLEL for op in outermost)


def refusal(text: str, **options: object) -> str:
    module = parse_text(text, "f.mlir")
    before = str(module)
    with pytest.raises(StepwellError) as caught:
        LoopPolyhedralPass(**options).apply(Context(), module)
    assert str(module) == before
    return str(caught.value)


NOT_AFFINE = """
func.func @f(%A: memref<8xf32>, %p: memref<8xindex>) {
  loop.for serial "i" %i = 0 to 8 {
    %n = loop.load %p[%i] : memref<8xindex>
    %a = memref.load %A[%n] : memref<8xf32>
    loop.store %a, %A[%i] : memref<8xf32>
  }
  func.return
}
"""
SCRATCH_INSIDE = """
func.func @f(%A: memref<8xf32>) {
  loop.for serial "i" %i = 0 to 8 {
    %t = loop.alloc register : memref<f32>
    %a = loop.load %A[%i] : memref<8xf32>
    loop.store %a, %t[] : memref<f32>
  }
  func.return
}
"""


def test_refusals_say_what_stands_in_the_way() -> None:
    assert "f.mlir:5:10: 'memref.load' is not an affine access" in refusal(NOT_AFFINE)
    assert "f.mlir:4:10: '%t' is made inside of a loop" in refusal(SCRATCH_INSIDE)
    assert "found fuse=all for pass 'loop-polyhedral', expected one of max, min" in refusal(
        SCRATCH_INSIDE, fuse="all"
    )
    assert "found tile=-1 for pass 'loop-polyhedral', expected at least 0" in refusal(
        SCRATCH_INSIDE, tile=-1
    )


def test_conditions_outside_of_loops_that_give_values_are_replaced_once() -> None:
    module = parse_text("""
func.func @f(%x: memref<i32> {stepwell.noalias}) {
  %a = loop.if (-1 <= 0) -> (i32) {
    %b = loop.load %x[] : memref<i32>
    loop.yield %b : i32
  } else {
    %c = arith.constant 0 : i32
    loop.yield %c : i32
  }
  loop.store %a, %x[] : memref<i32>
  func.return
}
""")
    LoopPolyhedralPass(tile=2).apply(Context(), module)
    module.verify()
    (found,) = interpret(module, [np.array(7, np.int32)])
    assert found == 7
