"""Maxima and minima of floats: NaN where one is, and the right one of two zeros, from x86's instructions."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
import stepwell as sw
from stepwell.frontend.text import parse_text
from stepwell.runtime.jit import compile_module
from stepwell.transforms.core.expand_extremes import CoreExpandExtremesPass
from stepwell.universe import make_context

SPECIAL = (0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, -np.nan, 1e-40, -1e-40, 3.5, -2.5)
PAIRS = np.array([*product(SPECIAL, repeat=2)]).T
SIZE = PAIRS.shape[1]
assert SIZE % 8 == 0

TEXT = """
func.func @f(%a: memref<SIZExTYPE>, %b: memref<SIZExTYPE>, %y: memref<SIZExTYPE> {stepwell.result}, %z: memref<SIZExTYPE> {stepwell.result}) {
  %c0 = arith.constant 0 : index
  %step = arith.constant LANES : index
  %end = arith.constant SIZE : index
  scf.for %i = %c0 to %end step %step {
    %v = vector.load %a[%i] : memref<SIZExTYPE>, vector<LANESxTYPE>
    %w = vector.load %b[%i] : memref<SIZExTYPE>, vector<LANESxTYPE>
    %g = arith.maximumf %v, %w : vector<LANESxTYPE>
    %s = arith.minimumf %v, %w : vector<LANESxTYPE>
    vector.store %g, %y[%i] : memref<SIZExTYPE>, vector<LANESxTYPE>
    vector.store %s, %z[%i] : memref<SIZExTYPE>, vector<LANESxTYPE>
  }
  func.return
}
"""


def scalars(text: str) -> str:
    """The same element by element."""
    for old, new in (("vector.load", "memref.load"), ("vector.store", "memref.store")):
        text = text.replace(old, new)
    return text.replace(", vector<1xTYPE>", "").replace("vector<1xTYPE>", "TYPE")


def check(greatest: np.ndarray, least: np.ndarray, a: np.ndarray, b: np.ndarray) -> None:
    check_greatest(greatest, a, b)
    check_least(least, a, b)


def check_greatest(found: np.ndarray, a: np.ndarray, b: np.ndarray) -> None:
    np.testing.assert_array_equal(found, np.maximum(a, b))
    zeros = (a == 0) & (b == 0)
    np.testing.assert_array_equal(np.signbit(found)[zeros], (np.signbit(a) & np.signbit(b))[zeros])
    # A zero that is greater than a negative number is that zero.
    kept = (found == 0) & ~zeros
    np.testing.assert_array_equal(np.signbit(found)[kept], np.signbit(np.where(a > b, a, b))[kept])


def check_least(found: np.ndarray, a: np.ndarray, b: np.ndarray) -> None:
    np.testing.assert_array_equal(found, np.minimum(a, b))
    zeros = (a == 0) & (b == 0)
    np.testing.assert_array_equal(np.signbit(found)[zeros], (np.signbit(a) | np.signbit(b))[zeros])
    kept = (found == 0) & ~zeros
    np.testing.assert_array_equal(np.signbit(found)[kept], np.signbit(np.where(a < b, a, b))[kept])


def with_constant(text: str, lanes: int, constant: str) -> str:
    """Extremes of a constant, which is the second operand of the maximum and the first of the minimum."""
    number = f"arith.constant dense<{constant}> : vector<{lanes}xTYPE>"
    text = text.replace("%step =", f"%k = {number}\n  %step =").replace(
        "maximumf %v, %w", "maximumf %v, %k"
    )
    return text.replace("minimumf %v, %w", "minimumf %k, %w")


@pytest.mark.parametrize("target", ["x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("lanes", [1, 8])
@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_constants(dtype: str, lanes: int, target: str) -> None:
    for constant in ("0.0", "-0.0", "1.5", "-2.5"):
        text = with_constant(TEXT, lanes, constant).replace("LANES", str(lanes))
        text = scalars(text).replace(f"dense<{constant}>", constant) if lanes == 1 else text
        module = parse_text(text.replace("SIZE", str(SIZE)).replace("TYPE", dtype))
        CoreExpandExtremesPass(target).apply(make_context(), module)
        assert ("arith.addf" in str(module)) == (constant == "0.0")
        a, b = PAIRS.astype(np.float32 if dtype == "f32" else np.float64)
        number = np.full_like(a, float(constant))
        greatest, least = compile_module(module)(a, b)
        check_greatest(greatest, a, number)
        check_least(least, number, b)


@pytest.mark.parametrize("target", ["x86-64-v3", "x86-64-v4", "neoverse-n1"])
@pytest.mark.parametrize("lanes", [1, 8])
@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_all_pairs_of_special_values(dtype: str, lanes: int, target: str) -> None:
    text = TEXT.replace("LANES", str(lanes))
    text = scalars(text) if lanes == 1 else text
    module = parse_text(text.replace("SIZE", str(SIZE)).replace("TYPE", dtype))
    CoreExpandExtremesPass(target).apply(make_context(), module)
    assert ("maximumf" in str(module)) == (target == "neoverse-n1")
    a, b = PAIRS.astype(np.float32 if dtype == "f32" else np.float64)
    check(*compile_module(module)(a, b), a, b)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_rectified(dtype: str) -> None:
    x = sw.astype(PAIRS[0], dtype)
    rectified = sw.jit(lambda x: sw.astype(sw.relu(x), "float64"), fp="strict")
    found = np.asarray(rectified(x))
    check_greatest(found, np.asarray(sw.astype(x, "float64")), np.zeros(SIZE))


def test_chains_of_programs() -> None:
    """Here LLVM sees several, and whatever this machine has."""
    a, b = PAIRS

    def both(a: Any, b: Any) -> Any:
        return sw.maximum(sw.maximum(a, b), a), sw.minimum(b, sw.minimum(a, b))

    check(*sw.jit(both, fp="strict")(a, b), a, b)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_either_zero_may_be_the_greatest(dtype: str) -> None:
    """By default the sign of a zero is left open, and nothing else."""
    a, b = (pair.astype(dtype) for pair in PAIRS)
    greatest, least, rectified = sw.jit(
        lambda a, b: (sw.maximum(a, b), sw.minimum(a, b), sw.relu(a))
    )(a, b)
    np.testing.assert_array_equal(greatest, np.maximum(a, b))
    np.testing.assert_array_equal(least, np.minimum(a, b))
    np.testing.assert_array_equal(rectified, np.maximum(a, 0))
