"""Attention by blocks of rows: agrees with NumPy, and never holds all the scores."""

from __future__ import annotations

import re

import numpy as np
import pytest
import stepwell as sw
from stepwell.frontend.lowered import Lowered

SCALE = np.float32(0.3)


def attention(q, k, v):
    return sw.softmax(q @ sw.swapaxes(k, -1, -2) * SCALE, axis=-1) @ v


def masked(q, k, v, mask):
    return sw.softmax(q @ sw.swapaxes(k, -1, -2) * SCALE + mask, axis=-1) @ v


def expected(q: np.ndarray, k: np.ndarray, v: np.ndarray, mask: np.ndarray | None = None):
    scores = q @ k.swapaxes(-1, -2) * SCALE
    if mask is not None:
        scores = scores + mask
    exp = np.exp(scores - scores.max(-1, keepdims=True))
    return exp / exp.sum(-1, keepdims=True) @ v


def operands(batch: tuple[int, ...], rows: int, columns: int, width: int) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    shapes = ((rows, width), (columns, width), (columns, width))
    return [rng.standard_normal((*batch, *shape), np.float32) for shape in shapes]


def by_blocks(low: Lowered) -> bool:
    """Whether the rows of all nests are in blocks of one kernel."""
    return low.as_text("loop").count("loop.for reduction") > 1 and "exp.rows" in low.as_text("loop")


@pytest.mark.parametrize(
    ("batch", "rows", "columns", "width"),
    [
        ((2,), 16, 16, 8),
        ((1,), 5, 7, 3),  # the loop over a batch of one is no loop
        ((2, 1), 31, 100, 2),
        ((3,), 33, 31, 17),
        ((), 100, 33, 5),
    ],
)
def test_agrees_with_numpy(batch: tuple[int, ...], rows: int, columns: int, width: int):
    """Where rows and columns fill tiles, and where some are left over."""
    arrays = operands(batch, rows, columns, width)
    low = sw.jit(attention).lower(*arrays)
    assert by_blocks(low)
    assert np.allclose(low.compile()(*arrays), expected(*arrays), atol=1e-5)


@pytest.mark.parametrize("sizes", [(1, 2, 3), (3, 1, 7), (2, 17, 100)])
def test_least_sizes(sizes: tuple[int, int, int]):
    """By whatever rule."""
    arrays = operands((2,), *sizes)
    assert np.allclose(sw.jit(attention)(*arrays), expected(*arrays), atol=1e-5)


def test_mask():
    """Causal: what is masked is added to the scores again where they are read."""
    arrays = operands((2,), 48, 48, 16)
    mask = np.triu(np.full((48, 48), -np.inf, np.float32), 1)
    low = sw.jit(masked).lower(*arrays, mask)
    assert by_blocks(low)
    assert np.allclose(low.compile()(*arrays, mask), expected(*arrays, mask), atol=1e-5)


def test_strict_divides_before_the_product():
    """What `fp` says of the distributive law: two orders of rounding, and the same numbers but for that."""
    arrays = operands((), 16, 32, 8)
    strict, default = (sw.jit(attention, fp=fp).lower(*arrays) for fp in ("strict", "contract"))
    assert "inverse" not in strict.as_text("te") and "inverse" in default.as_text("te")
    assert np.allclose(strict.compile()(*arrays), expected(*arrays), atol=1e-5)


def test_nan_and_infinity_stay_in_their_rows():
    q, k, v = operands((2,), 32, 64, 16)
    q[0, 3], q[1, 5] = np.nan, np.inf
    with np.errstate(invalid="ignore"):
        assert np.allclose(sw.jit(attention)(q, k, v), expected(q, k, v), atol=1e-5, equal_nan=True)


def bytes_of(types: list[str]) -> list[int]:
    shapes = [type_.split("x") for type_ in types]
    width = {"f32": 4, "i8": 1}
    return [int(np.prod([int(n) for n in sizes])) * width[e] for *sizes, e in shapes]


def test_scores_are_never_all_there():
    """All scratch memory of 12 heads of 1024 rows is smaller than a quarter of the scores of one."""
    arrays = [np.zeros((12, 1024, 64), np.float32)] * 3
    low = sw.jit(attention).lower(*arrays)
    types = re.findall(r"memref\.alloca?\(\)[^:]*: memref<([^>]*)>", low.as_text("core"))
    executable = low.compile(threads=1)
    scratch = sum(bytes_of(types)) + executable.signature.arena_bytes
    assert 0 < scratch < 1024 * 1024 * 4 // 4


def test_row_maxima_and_the_quotient_are_taken_from_registers():
    arrays = operands((2,), 64, 128, 32)
    text = sw.jit(attention).lower(*arrays).as_text("loop")
    shape = r"\[[^\]]*\] : memref<1x\d+x\d+xf32>\n"
    tile = r"%matmul[_\d]*\.tile" + shape
    assert re.search(tile + r"[^}]*loop\.store %\d+, %matmul[_\d]*\.finished\[", text)
    assert re.search(r"%matmul[_\d]*\.finished" + shape + r"[^}]*arith\.maxnumf", text)
    assert re.search(r"= loop\.load " + tile + r".*inverse\.rows[^}]*arith\.mulf", text)


@pytest.mark.parametrize("rows", [2, 5])
def test_values_made_in_the_kernel_are_whole_before_the_first_block_of_rows(rows: int):
    """A block of all rows could be fused with what makes the values, which then would be of that block."""
    q = np.random.default_rng(0).standard_normal((1, 3, rows, 7), np.float32)

    def function(q: sw.Tensor) -> sw.Tensor:
        return sw.softmax(q @ sw.swapaxes(q, -1, -2)) @ (q * 2)

    scores = q @ q.swapaxes(-1, -2)
    e = np.exp(scores - scores.max(-1, keepdims=True))
    expected = e / e.sum(-1, keepdims=True) @ (q * 2)
    assert np.allclose(sw.jit(function)(q), expected, atol=1e-5)
