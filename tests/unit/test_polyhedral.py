"""`loop-polyhedral` on kernels of the polyhedral literature: same results, and what it is known to find."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from stepwell.analysis.dependence import dependences
from stepwell.analysis.in_bounds import check_in_bounds
from stepwell.analysis.levels import Level
from stepwell.analysis.signature import entry_function
from stepwell.analysis.verify import verify
from stepwell.dialects import loop
from stepwell.errors import StepwellError
from stepwell.frontend.text import parse_file, parse_text
from stepwell.interpreters.harness import interpret, random_inputs
from stepwell.lowering.pipelines import lower_to
from stepwell.runtime.jit import compile_module
from stepwell.transforms.loop.polyhedral import LoopPolyhedralPass
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

KERNELS = Path(__file__).parents[2] / "examples" / "kernels"
Arrays = tuple[np.ndarray, ...]


def five_point(a: np.ndarray) -> np.ndarray:
    return (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[:-2, 1:-1] + a[2:, 1:-1]) * 0.2


def jacobi2d(a: np.ndarray, b: np.ndarray) -> Arrays:
    for _ in range(6):
        b[1:-1, 1:-1] = five_point(a)
        a[1:-1, 1:-1] = b[1:-1, 1:-1]
    return a, b


def gauss_seidel(a: np.ndarray) -> Arrays:
    for _ in range(6):
        for i in range(1, 20):
            for j in range(1, 20):
                a[i, j] = (a[i, j] + a[i, j - 1] + a[i, j + 1] + a[i - 1, j] + a[i + 1, j]) * 0.2
    return (a,)


def lu(a: np.ndarray) -> Arrays:
    for k in range(17):
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return (a,)


def floyd_warshall(d: np.ndarray) -> Arrays:
    for k in range(17):
        d = np.minimum(d, d[:, k, None] + d[k, None, :])
    return (d,)


def blur(x: np.ndarray) -> Arrays:
    third = np.float32(1 / 3)
    rows = (x[:, :-2] + x[:, 1:-1] + x[:, 2:]) * third
    return ((rows[:-2] + rows[1:-1] + rows[2:]) * third,)


def convolution(x: np.ndarray, w: np.ndarray) -> Arrays:
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(2, 3))
    return (np.einsum("ncijuv,fcuv->nfij", windows, w),)


ORACLES: dict[str, Callable[..., Arrays]] = {
    "jacobi2d": jacobi2d,
    "gauss_seidel": gauss_seidel,
    "lu": lu,
    "triangular_solve": lambda low, x: (low, np.linalg.solve(np.tril(low), x)),
    "floyd_warshall": floyd_warshall,
    "blur": blur,
    "two_mm": lambda a, b, c: (a @ b @ c,),
    "three_mm": lambda a, b, c, d: ((a @ b) @ (c @ d),),
    "convolution": convolution,
}
WELL_CONDITIONED = ("lu", "triangular_solve")


def inputs(name: str, module: ModuleOp) -> list[np.ndarray]:
    arrays = list(random_inputs(entry_function(module), 0))
    if name in WELL_CONDITIONED:
        arrays[0] = arrays[0] + 20 * np.eye(len(arrays[0]))
    if name == "floyd_warshall":  # no negative cycles
        arrays[0] = np.abs(arrays[0])
    return arrays


def copies(arrays: list[np.ndarray]) -> list[np.ndarray]:
    return [array.copy() for array in arrays]


def test_every_kernel_has_an_oracle() -> None:
    assert {path.stem for path in KERNELS.glob("*.mlir")} == set(ORACLES)


@pytest.mark.parametrize("name", sorted(ORACLES))
def test_schedules_keep_results(name: str) -> None:
    module = parse_file(KERNELS / f"{name}.mlir")
    check_in_bounds(module)
    arrays = inputs(name, module)
    expected = ORACLES[name](*copies(arrays))
    for found, right in zip(interpret(module, copies(arrays)), expected, strict=True):
        np.testing.assert_allclose(found, right, rtol=1e-4, atol=1e-5)
    for tile, fuse in ((0, "max"), (5, "max"), (8, "min")):
        scheduled = module.clone()
        LoopPolyhedralPass(tile=tile, fuse=fuse).apply(Context(), scheduled)
        verify(scheduled)
        check_in_bounds(scheduled)
        results = interpret(scheduled, copies(arrays))
        for found, right in zip(results, expected, strict=True):
            np.testing.assert_allclose(found, right, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["gauss_seidel", "lu", "convolution"])
def test_schedules_keep_results_natively(name: str) -> None:
    module = parse_file(KERNELS / f"{name}.mlir")
    arrays = inputs(name, module)
    expected = ORACLES[name](*copies(arrays))
    LoopPolyhedralPass(tile=8).apply(Context(), module)
    lower_to(module, Level.LLVM)
    given = copies(arrays)
    returned = compile_module(module)(*given)
    found = tuple(given) if returned is None else (returned,)
    for array, right in zip(found, expected, strict=True):
        np.testing.assert_allclose(array, right, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", sorted(ORACLES))
def test_kinds_written_in_the_kernels_are_what_the_dependences_say(name: str) -> None:
    function = entry_function(parse_file(KERNELS / f"{name}.mlir"))
    found = dependences(function)
    for op in function.walk():
        if isinstance(op, loop.ForOp):
            assert op.kind.data is found.kind_of(op), op.loop_name.data


@pytest.mark.parametrize("name", sorted(ORACLES))
def test_loops_called_parallel_are_parallel(name: str) -> None:
    module = parse_file(KERNELS / f"{name}.mlir")
    LoopPolyhedralPass(tile=0).apply(Context(), module)
    function = entry_function(module)
    found = dependences(function)
    for op in function.walk():
        if isinstance(op, loop.ForOp) and op.kind.data is loop.LoopKind.PARALLEL:
            assert found.is_parallel(op), op.loop_name.data


def test_gauss_seidel_is_skewed_and_tiled() -> None:
    module = parse_file(KERNELS / "gauss_seidel.mlir")
    LoopPolyhedralPass(tile=4).apply(Context(), module)
    loops = [op for op in module.walk() if isinstance(op, loop.ForOp)]
    assert [op.step.value.data for op in loops] == [4, 4, 4, 1, 1, 1]
    # The tiles' own loops are bounded by each other: the space has been skewed.
    assert loops[0].induction_variable in (*loops[1].lower_operands, *loops[1].upper_operands)


def test_two_mm_has_parallel_outer_loops() -> None:
    module = parse_file(KERNELS / "two_mm.mlir")
    LoopPolyhedralPass(tile=0, fuse="min").apply(Context(), module)
    outermost = [op for op in entry_function(module).body.block.ops if isinstance(op, loop.ForOp)]
    assert all(op.kind.data is loop.LoopKind.PARALLEL for op in outermost)


def refusal(text: str, **options: object) -> str:
    module = parse_text(text, "f.mlir")
    before = str(module)
    with pytest.raises(StepwellError) as caught:
        LoopPolyhedralPass(**options).apply(Context(), module)  # type: ignore[arg-type]
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
    assert "fuse is 'all', expected one of max, min" in refusal(SCRATCH_INSIDE, fuse="all")
    assert "tile is -1, expected 0 or more" in refusal(SCRATCH_INSIDE, tile=-1)
