"""Products of operands that are stored in narrower types than they are computed in: one kernel, no widened copies."""

from __future__ import annotations

import re

import ml_dtypes
import numpy as np
import pytest
import stepwell as sw
from stepwell.interpreters.harness import interpret

F16, BF16 = np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)
SIZES = ((1, 1, 1), (2, 3, 5), (7, 17, 31), (33, 100, 3), (31, 33, 100), (5, 2, 1), (100, 31, 17))


def cast_product(a, b):
    return a.astype(np.int32) @ b.astype(np.int32)


def integers(dtype, shape, seed):
    info = np.iinfo(dtype)
    return np.random.default_rng(seed).integers(info.min, info.max + 1, shape).astype(dtype)


def numbers(dtype, shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def kernels(lowered):
    return re.findall(r"func.func private @(\S+)\(", lowered.as_text("loop"))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("left", [np.int8, np.uint8])
def test_products_of_bytes_are_exact(left, size):
    m, n, k = size
    a, b = integers(left, (m, k), 0), integers(np.int8, (k, n), 1)
    lowered = sw.jit(cast_product).lower(a, b)
    expected = a.astype(np.int32) @ b.astype(np.int32)
    assert np.array_equal(lowered.compile()(a, b), expected)
    assert len(kernels(lowered)) == 1
    (interpreted,) = interpret(lowered.module("loop"), [a, b])
    assert np.array_equal(interpreted, expected)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("k", [1, 1023, 1024, 1025, 5000])
@pytest.mark.parametrize("left", [np.int8, np.uint8])
def test_sums_of_extreme_products_are_exact(left, k):
    worst = np.iinfo(left).min or np.iinfo(left).max
    a, b = np.full((17, k), worst, left), np.full((k, 33), -128, np.int8)
    lowered = sw.jit(cast_product).lower(a, b)
    found = lowered.compile()(a, b)
    assert np.array_equal(found, np.full((17, 33), k * int(worst) * -128))
    assert "adds up integers in f32" in str(lowered.plan())


def test_both_operands_are_packed_as_floats_and_no_copy_is_widened():
    a, b = integers(np.int8, (96, 128), 0), integers(np.int8, (128, 64), 1)
    lowered = sw.jit(cast_product).lower(a, b)
    text = lowered.as_text("loop")
    buffers = re.findall(r"%(\w+) = loop.alloc \w+ : memref<.*x(\w+)>", text)
    assert {name for name, _ in buffers} >= {"left", "right", "tile"}
    assert {element for _, element in buffers} == {"f32"}
    assembly = lowered.as_text("asm")
    assert "vfmadd" in assembly and "vpmulld" not in assembly and "vcvttss2si" not in assembly


@pytest.mark.parametrize("dtype", [np.int8, F16, BF16], ids=str)
def test_rows_that_lie_in_order_are_converted_as_they_lie(dtype):
    """They need no transposing; columns of a left operand, and what is f32 already, are not copied so."""
    a, b = (numbers(np.float32, shape).astype(dtype) for shape in ((100, 31), (31, 64)))

    def product(a, b):
        return sw.matmul(a, b, dtype=np.int32 if dtype == np.int8 else np.float32)

    lowered = sw.jit(product).lower(a, b)
    assert "A in its own order" in lowered.plan(1)
    assert (
        "%left = loop.alloc" in (text := lowered.as_text("loop")) and ": memref<100x31xf32>" in text
    )
    expected = product(a.astype(np.float32), b.astype(np.float32))
    np.testing.assert_allclose(lowered.compile()(a, b), expected, rtol=1e-5, atol=1e-5)
    turned = sw.jit(lambda a, b: product(a.T, b)).lower(a.T.copy(), b)
    same = sw.jit(product).lower(a.astype(np.float32), b.astype(np.float32))
    assert "own order" not in turned.plan(9) and "own order" not in same.plan(9)


def test_the_result_is_worked_on_in_the_same_kernel():
    a, b = integers(np.int8, (37, 300), 0), integers(np.int8, (300, 50), 1)
    scale = numbers(np.float32, (50,))

    def dequantized(a, b, scale):
        return sw.relu(cast_product(a, b).astype(np.float32) * scale)

    lowered = sw.jit(dequantized).lower(a, b, scale)
    expected = np.maximum(cast_product(a, b).astype(np.float32) * scale, 0)
    assert np.array_equal(lowered.compile()(a, b, scale), expected)
    assert len(kernels(lowered)) == 1


def test_weights_are_converted_when_the_program_is_compiled():
    a, w = integers(np.int8, (40, 200), 0), integers(np.int8, (200, 30), 1)
    lowered = sw.jit(lambda a: cast_product(a, w)).lower(a)
    assert np.array_equal(lowered.compile()(a), cast_product(a, w))


@pytest.mark.parametrize(
    "function",
    [
        lambda a, b: sw.matmul(a, b, dtype=np.int32),
        lambda a, b: cast_product(b.T, a.T).T,
        lambda a, b: sw.reshape(cast_product(sw.reshape(a, (2, 17, 60)), b), (34, 21)),
        lambda a, b: cast_product(a, b[:, 0])[:, None] + np.int32(0),
    ],
    ids=["dtype", "turned", "batch", "vector"],
)
def test_other_ways_to_say_it(function):
    a, b = integers(np.int8, (34, 60), 0), integers(np.int8, (60, 21), 1)
    expected = cast_product(a, b)
    found = sw.jit(function)(a, b)
    assert np.array_equal(found, expected[:, : found.shape[1]])


def test_products_of_one_operand_with_itself():
    a = integers(np.int8, (35, 70), 0)
    assert np.array_equal(sw.jit(lambda a: cast_product(a, a.T))(a), cast_product(a, a.T))


def test_integers_of_16_bits_are_added_up_as_they_are():
    a, b = integers(np.int16, (20, 33), 0), integers(np.int16, (33, 19), 1)
    lowered = sw.jit(cast_product).lower(a, b)
    assert np.array_equal(lowered.compile()(a, b), cast_product(a, b))
    assert "in f32" not in str(lowered.plan())
    assert np.array_equal(sw.jit(lambda a, b: a @ b)(a, b), a @ b)  # wraps, as NumPy does


@pytest.mark.sampled(3)
@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("dtype", [F16, BF16], ids=str)
def test_products_of_narrow_floats_are_rounded_once(dtype, size):
    m, n, k = size
    a, b = numbers(dtype, (m, k)), numbers(dtype, (k, n), 1)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    magnitude = np.abs(a.astype(np.float64)) @ np.abs(b.astype(np.float64))
    # The sum is in f32, off by at most k units of its last place of the terms' magnitude, and rounded once.
    bound = k * 2.0**-24 * magnitude + float(ml_dtypes.finfo(dtype).eps) / 2 * np.abs(exact) + 1e-7
    lowered = sw.jit(lambda a, b: a @ b).lower(a, b)
    found = lowered.compile()(a, b)
    assert found.dtype == dtype
    assert np.all(np.abs(found.astype(np.float64) - exact) <= bound)
    wide = sw.jit(lambda a, b: sw.matmul(a, b, dtype=np.float32))(a, b)
    assert wide.dtype == np.float32
    assert np.all(np.abs(wide - exact) <= k * 2.0**-23 * magnitude)
    assert len(kernels(lowered)) == 1
    (interpreted,) = interpret(lowered.module("loop"), [a, b])
    assert np.all(np.abs(interpreted.astype(np.float64) - exact) <= bound)


def test_special_numbers_go_through_a_product():
    a = np.eye(33, dtype=BF16)
    b = np.zeros((33, 5), BF16)
    b[:, 0] = np.array(1e-39, BF16)  # denormal
    b[7, 1], b[8, 2] = np.inf, np.nan
    found = sw.jit(lambda a, b: a @ b)(a, b).astype(np.float32)
    assert np.array_equal(found[:, 0], b[:, 0].astype(np.float32))
    assert found[7, 1] == np.inf and np.isnan(np.delete(found[:, 1], 7)).all()  # 0 · inf
    assert np.isnan(found[:, 2]).all()


def test_operands_of_two_types():
    a, b = numbers(BF16, (40, 50)), numbers(np.float32, (50, 60), 1)
    lowered = sw.jit(lambda a, b: a @ b).lower(a, b)
    expected = a.astype(np.float32) @ b
    assert np.allclose(lowered.compile()(a, b), expected, rtol=1e-5, atol=1e-4)
    assert len(kernels(lowered)) == 1
