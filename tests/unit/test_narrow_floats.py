"""f16 and bf16: stored in 16 bits, computed with in f32, rounded once to nearest and ties to even."""

from __future__ import annotations

import re
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest
import stepwell as sw
from stepwell.dialects.dtypes import converted, float_limits
from stepwell.interpreters.harness import interpret

F16, BF16 = np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)
pytestmark = pytest.mark.filterwarnings("ignore:(invalid|overflow).*:RuntimeWarning")

EACH = pytest.mark.parametrize("dtype", [F16, BF16], ids=str)
SIZES = (1, 2, 3, 5, 7, 17, 31, 33, 100)


def sample(shape, dtype, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def single(array):
    return array.astype(np.float32)


def same_bits(found, expected):
    """Bit for bit, any NaN beside any other."""
    wide = single(expected)
    bits = f"u{found.dtype.itemsize}"
    equal = found.view(bits) == expected.view(bits)
    return found.dtype == expected.dtype and bool(
        np.all(equal | (np.isnan(wide) & np.isnan(single(found))))
    )


def numbers(dtype, wide):
    """Numbers of `wide` at, beside and half way between those of `dtype`, and at the ends of both."""
    every = single(np.arange(1 << 16, dtype=np.uint16).view(dtype)).view(np.uint32).astype(np.int64)
    kept = 16 if dtype == BF16 else 13
    steps = [0, 1 << (kept - 1), (1 << (kept - 1)) + 1, (1 << (kept - 1)) - 1, -1]
    bits = np.concatenate([every + step for step in steps]) & 0xFFFFFFFF
    array = bits.astype(np.uint32).view(np.float32).astype(wide)
    ends = [np.inf, -np.inf, np.nan, 0.0, -0.0, 1e-45, 6e-8, 2.98e-8, 65519.9, 65520, 3.4e38]
    array = np.concatenate([array, np.array(ends, wide)])
    if wide is np.float64:  # beside a tie by less than f32 can tell, and beyond its ends
        beside = (array * (1 + 2.0**-40), array * (1 - 2.0**-40), np.array([1e300, 5e-324]))
        array = np.concatenate([array, *beside])
    return array


@EACH
@pytest.mark.parametrize("wide", [np.float32, np.float64])
@pytest.mark.parametrize("target", ["host", "x86-64-v2"])  # which cannot convert f16
def test_every_number_is_converted_exactly_and_rounded_to_nearest_even(dtype, wide, target):
    every = np.arange(1 << 16, dtype=np.uint16).view(dtype)
    extend = sw.jit(lambda x: x.astype(wide), target=target)
    assert same_bits(extend(every), every.astype(wide))
    array = numbers(dtype, wide)
    with np.errstate(all="ignore"):
        expected = converted(array, dtype)
    narrow = sw.jit(lambda x: x.astype(dtype), target=target)
    assert same_bits(narrow(array), expected)
    assert same_bits(narrow(array[:9]), expected[:9])  # fewer than there are lanes
    few = np.ascontiguousarray(array[:: len(array) // 97])
    (interpreted,) = interpret(narrow.lower(few).module("core"), [few])
    with np.errstate(all="ignore"):
        assert same_bits(interpreted, converted(few, dtype))


def test_from_f64_there_is_one_rounding():
    tie = np.float64(1.0) + 2.0**-8  # half way between two numbers of bf16
    above = np.array([tie, tie + 2.0**-40])
    assert list(sw.jit(lambda x: x.astype(BF16))(above)) == [1.0, 1.0 + 2.0**-7]
    assert list(converted(above, BF16)) == [1.0, 1.0 + 2.0**-7]


@EACH
def test_other_types_are_converted_by_way_of_f32(dtype):
    x = np.array([-3, 0, 1, 100, 2049, 70000], np.int64)
    assert same_bits(sw.jit(lambda x: x.astype(dtype))(x), x.astype(np.float32).astype(dtype))
    y = np.array([-1.5, 0, 2.75, 300, np.nan, np.inf], dtype)
    assert list(sw.jit(lambda x: x.astype(np.int8))(y)) == [-1, 0, 2, 127, 0, 127]
    assert list(sw.jit(lambda x: x.astype(np.bool_))(y)) == [True, False, True, True, True, True]
    other = BF16 if dtype == F16 else F16
    assert same_bits(sw.jit(lambda x: x.astype(other))(y), single(y).astype(other))


@EACH
@pytest.mark.parametrize("n", SIZES)
def test_element_wise_functions_are_rounded_at_their_end(dtype, n):
    x, y = sample((3, n), dtype), sample((n,), dtype, 1)
    function = sw.jit(lambda x, y: sw.exp(x) * y + 1.5)
    with np.errstate(all="ignore"):
        exact = np.exp(single(x)) * single(y) + np.float32(1.5)
    found = function(x, y)
    assert found.dtype == dtype
    # Products and sums are contracted: one rounding, of half a unit in the last place, beside that of exp.
    bound = 0.51 * float(float_limits(dtype).eps) * np.maximum(np.abs(exact), 1e-2)
    assert np.all(np.abs(single(found) - exact) <= bound)


@EACH
def test_strict_rounds_every_operation(dtype):
    x, y = sample((100,), dtype), sample((100,), dtype, 1)
    expected = (single(x) * single(y)).astype(dtype)
    expected = (single(expected) + single(x)).astype(dtype)
    assert same_bits(sw.jit(lambda x, y: x * y + x, fp="strict")(x, y), expected)


@pytest.mark.sampled(8)
@EACH
@pytest.mark.parametrize("n", SIZES)
def test_sums_and_means_are_in_f32(dtype, n):
    x = sample((5, n), dtype)
    found = sw.jit(lambda x: (x.sum(axis=1), x.mean(axis=0), sw.softmax(x)))(x)
    e = np.exp(single(x) - single(x).max(axis=-1, keepdims=True))
    expected = (single(x).sum(axis=1), single(x).mean(axis=0), e / e.sum(axis=-1, keepdims=True))
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == dtype
        bound = 0.51 * float(float_limits(dtype).eps) * np.abs(other) + 1e-5
        assert np.all(np.abs(single(one) - other) <= bound)


@EACH
@pytest.mark.parametrize("target", ["host", "x86-64-v3"])
def test_conversions_are_vector_code_without_calls(dtype, target):
    x = np.ones((8, 1000), dtype)  # too few elements for threads on any machine
    assembly = sw.jit(lambda x, y: x * y + x, target=target).lower(x, x).as_text("asm")
    kernel = assembly[: assembly.index("\nmain:")]  # which the program calls
    assert not re.search(r"\bcall|\bvcvtsi|sf2", kernel)
    wanted = ["vcvtph2ps", "vcvtps2ph"] if dtype == F16 else ["vpmovzxwd", "vpslld", "vpsrld"]
    assert all(word in assembly for word in (*wanted, "vfmadd"))


@EACH
def test_constants_and_python_numbers_take_the_type(dtype):
    w = sample((17,), dtype)
    x = sample((17,), dtype, 1)
    found = sw.jit(lambda x: sw.where(x > 0.25, x * 2, w))(x)
    assert same_bits(found, np.where(single(x) > 0.25, x * dtype.type(2), w))
    assert sw.add(x, w).dtype == dtype
    assert sw.exp(x).dtype == dtype


def test_promotion():
    assert sw.add(np.ones(2, F16), np.ones(2, np.float32)).dtype == np.float32
    assert sw.add(np.ones(2, BF16), np.ones(2, np.int8)).dtype == BF16
    try:
        common = np.result_type(F16, BF16)  # since ml_dtypes 0.7
    except TypeError:
        with pytest.raises(sw.StepwellError, match="float16 and bfloat16, which NumPy promotes"):
            sw.add(np.ones(2, F16), np.ones(2, BF16))
    else:
        assert sw.add(np.ones(2, F16), np.ones(2, BF16)).dtype == common


def test_dtypes_without_a_common_one(monkeypatch: pytest.MonkeyPatch):
    """As float16 and bfloat16 before ml_dtypes 0.7."""

    def result_type(*_: object) -> None:
        raise TypeError

    monkeypatch.setattr(np, "result_type", result_type)
    with pytest.raises(sw.StepwellError, match="float16 and bfloat16, which NumPy promotes to no"):
        sw.add(np.ones(2, F16), np.ones(2, BF16))


def test_without_ml_dtypes_one_line_names_it():
    program = """
import sys; sys.modules["ml_dtypes"] = None
import stepwell as sw
from stepwell.dialects.dtypes import numpy_dtype
from xdsl.dialects.builtin import bf16
try:
    numpy_dtype(bf16)
except sw.StepwellError as error:
    print(error)
"""
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    last = found.stdout.strip().splitlines()[-1]
    assert "no package 'ml_dtypes'" in last and "pip install ml_dtypes" in last, found.stderr


@EACH
@pytest.mark.parametrize("opt", ["full", "quick"])
@pytest.mark.parametrize("size", [1, 3, 17])
def test_doubles_are_rounded_without_a_function_of_a_library(dtype, opt, size):
    """LLVM calls one for an f64 to f16 outside of vectors, which a process does not have."""
    values = np.concatenate([[-1 - 2.0**-11 - 2.0**-40], sample(size - 1, np.float64)])
    found = sw.jit(lambda x: x.astype(dtype), opt=opt, cache=False)(values)
    assert same_bits(found, converted(values, dtype))
