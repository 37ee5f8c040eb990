"""What the kernels of `examples/kernels` compute, in NumPy, at the sizes they have and at others."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from stepwell.analysis.levels import Level
from stepwell.analysis.signature import entry_function
from stepwell.driver.pipelines import lower_to
from stepwell.frontend.text import parse_text
from stepwell.interpreters.harness import random_inputs
from stepwell.runtime.jit import compile_module
from xdsl.dialects.builtin import ModuleOp

KERNELS = Path(__file__).parents[2] / "examples" / "kernels"
Arrays = tuple[np.ndarray, ...]
STEPS_IN_TIME = 6
"""How often the stencils go over their grid."""


def five_point(a: np.ndarray) -> np.ndarray:
    return (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[:-2, 1:-1] + a[2:, 1:-1]) * 0.2


def jacobi2d(a: np.ndarray, b: np.ndarray) -> Arrays:
    for _ in range(STEPS_IN_TIME):
        b[1:-1, 1:-1] = five_point(a)
        a[1:-1, 1:-1] = b[1:-1, 1:-1]
    return a, b


def gauss_seidel(a: np.ndarray) -> Arrays:
    for _ in range(STEPS_IN_TIME):
        for i in range(1, len(a) - 1):
            for j in range(1, len(a) - 1):
                a[i, j] = (a[i, j] + a[i, j - 1] + a[i, j + 1] + a[i - 1, j] + a[i + 1, j]) * 0.2
    return (a,)


def lu(a: np.ndarray) -> Arrays:
    for k in range(len(a)):
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return (a,)


def floyd_warshall(d: np.ndarray) -> Arrays:
    for k in range(len(d)):
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
    "matmul_chain": lambda a, b, c, d: (a @ b @ c @ d,),
    "convolution": convolution,
}
WELL_CONDITIONED = ("lu", "triangular_solve")

OTHER_SIZES: dict[str, Sequence[Mapping[int, int]]] = {
    "jacobi2d": ({21: 5, 20: 4}, {21: 24, 20: 23}),
    "gauss_seidel": ({21: 14, 20: 13}, {21: 27, 20: 26}),
    "lu": ({17: 3}, {17: 22}),
    "triangular_solve": ({33: 19}, {33: 24}),
    "floyd_warshall": ({17: 3}, {17: 14}),
    "blur": ({19: 5, 17: 3, 33: 23, 31: 21}, {19: 27, 17: 25, 33: 18, 31: 16}),
    "two_mm": ({17: 5, 19: 7, 13: 3, 11: 6}, {17: 8, 19: 9, 13: 1, 11: 21}),
    "three_mm": ({9: 5, 11: 3, 13: 6, 7: 2, 10: 7}, {9: 1, 11: 13, 13: 9, 7: 17, 10: 12}),
    "matmul_chain": ({15: 5, 9: 2, 13: 3, 11: 6, 19: 7}, {15: 7, 9: 11, 13: 8, 11: 2, 19: 5}),
    "convolution": ({9: 7, 7: 5}, {9: 14, 7: 12}),
}
"""What to put in the place of a kernel's extents."""


def kernel_text(name: str, sizes: Mapping[int, int] | None = None) -> str:
    """The kernel's text, with other numbers in the place of its extents."""
    text = (KERNELS / f"{name}.mlir").read_text()
    replaced = sizes or {}
    return re.sub(
        r"(?<![\w.%])(\d+)(?![\w.])|(?<=[<x])(\d+)(?=x)",
        lambda found: str(replaced.get(int(found[0]), int(found[0]))),
        text,
    )


def kernel(name: str, sizes: Mapping[int, int] | None = None) -> ModuleOp:
    return parse_text(kernel_text(name, sizes), f"{name}.mlir")


def inputs(name: str, module: ModuleOp) -> list[np.ndarray]:
    """Arrays for which the kernel is well behaved."""
    arrays = list(random_inputs(entry_function(module), 0))
    if name in WELL_CONDITIONED:
        arrays[0] = arrays[0] + 20 * np.eye(len(arrays[0]))
    if name == "floyd_warshall":  # no negative cycles
        arrays[0] = np.abs(arrays[0])
    return arrays


def copies(arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    return [array.copy() for array in arrays]


def assert_close(found: Sequence[np.ndarray], expected: Sequence[np.ndarray]) -> None:
    for array, right in zip(found, expected, strict=True):
        np.testing.assert_allclose(array, right, rtol=1e-4, atol=1e-5)


def check_natively(name: str, module: ModuleOp) -> None:
    """That a module at the loop level, which is lowered, gives natively what NumPy does."""
    arrays = inputs(name, module)
    expected = ORACLES[name](*copies(arrays))
    lower_to(module, Level.LLVM)
    given = copies(arrays)
    returned = compile_module(module)(*given)
    assert_close(tuple(given) if returned is None else (returned,), expected)
