"""Quantization and products of quantized matrices, against what ONNX says of them in NumPy."""

import numpy as np
import pytest
import stepwell as sw
from hypothesis import given, settings
from hypothesis import strategies as st

RNG = np.random.default_rng(3)
QUANTIZED = ["i1", "u1", "i2", "u2"]


def run(function, *arrays):
    """What the function gives natively, which is what it gives at once and interpreted at te."""
    jitted = sw.jit(function, opt="quick")
    found = jitted(*arrays)
    module = jitted.lower(*arrays).module("te")
    for other in (function(*arrays), sw.interpret(module, arrays)):
        parts = other if isinstance(other, tuple | list) else (other,)
        for one, same in zip(
            found if isinstance(found, tuple | list) else (found,), parts, strict=True
        ):
            np.testing.assert_array_equal(one, same)
    return found


def quantized(x, scale, zero, dtype):
    info = np.iinfo(dtype)
    return np.clip(np.rint(x / scale) + zero, info.min, info.max).astype(dtype)


@pytest.mark.parametrize("dtype", QUANTIZED)
def test_quantize_and_dequantize_a_tensor(dtype):
    x = RNG.uniform(-3, 3, (3, 17)).astype("f4") * np.float32(10)
    x[0, :5] = [0.5, 1.5, 2.5, 1e9, -1e9]
    scale, zero = np.float32(0.5), np.array(7, dtype)
    found = run(sw.quantize_linear, x, scale, zero)
    np.testing.assert_array_equal(found, quantized(x, scale, 7, dtype))
    back = run(sw.dequantize_linear, found, scale, zero)
    np.testing.assert_array_equal(back, (found.astype("f4") - 7) * scale)
    assert sw.quantize_linear(x, scale).dtype == np.uint8
    assert sw.quantize_linear(x, scale, dtype=dtype).dtype == np.dtype(dtype)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_one_scale_for_each_slice(axis):
    x = RNG.uniform(-30, 30, (3, 5, 7)).astype("f4")
    shape = [x.shape[axis] if n == axis % 3 else 1 for n in range(3)]
    scale = RNG.uniform(0.1, 1, x.shape[axis]).astype("f4")
    zero = RNG.integers(-5, 6, x.shape[axis]).astype("i1")
    found = run(lambda *args: sw.quantize_linear(*args, axis=axis), x, scale, zero)
    wide, zeros = scale.reshape(shape), zero.reshape(shape)
    np.testing.assert_array_equal(found, quantized(x, wide, zeros, "i1"))
    back = run(lambda *args: sw.dequantize_linear(*args, axis=axis), found, scale, zero)
    np.testing.assert_array_equal(back, (found.astype("f4") - zeros) * wide)


@pytest.mark.parametrize("block", [1, 2, 3, 8])
def test_one_scale_for_each_block(block):
    x = RNG.uniform(-30, 30, (3, 5)).astype("f4")
    scale = RNG.uniform(0.1, 1, (3, -(-5 // block))).astype("f4")
    zero = RNG.integers(0, 6, scale.shape).astype("u1")
    call = {"axis": 1, "block_size": block}
    found = run(lambda *args: sw.quantize_linear(*args, **call), x, scale, zero)
    wide, zeros = (np.repeat(each, block, 1)[:, :5] for each in (scale, zero))
    np.testing.assert_array_equal(found, quantized(x, wide, zeros, "u1"))
    back = run(lambda *args: sw.dequantize_linear(*args, **call), found, scale, zero)
    np.testing.assert_array_equal(back, (found.astype("f4") - zeros) * wide)


def test_sums_of_products_are_dequantized():
    x = RNG.integers(-(2**31), 2**31, (2, 17)).astype("i4")
    found = run(sw.dequantize_linear, x, np.float32(1e-4))
    np.testing.assert_array_equal(found, x.astype("f4") * np.float32(1e-4))


@pytest.mark.parametrize("low, high", [(-3, 5), (1, 4), (-4, -1), (0, 0)])
def test_dynamic_quantize_linear(low, high):
    x = RNG.uniform(low, high, (3, 7)).astype("f4")
    y, scale, zero = run(sw.dynamic_quantize_linear, x)
    bottom, top = min(0, x.min()), max(0, x.max())
    expected = np.float32(top - bottom) / np.float32(255) or np.float32(1)
    np.testing.assert_allclose(scale, expected, rtol=1e-6)
    assert zero == np.clip(np.rint(-bottom / expected), 0, 255)
    np.testing.assert_array_equal(y, quantized(x, scale, zero.astype("f4"), "u1"))


@settings(max_examples=40, deadline=None)
@given(
    st.integers(1, 5),
    st.integers(0, 19),
    st.integers(1, 5),
    st.sampled_from(["i1", "u1"]),
    st.sampled_from(["i1", "u1"]),
    st.integers(0, 9),
)
def test_products_are_exact(m, k, n, left, right, seed):
    rng = np.random.default_rng(seed)
    info = [np.iinfo(left), np.iinfo(right)]
    a = rng.integers(info[0].min, info[0].max + 1, (m, k)).astype(left)
    b = rng.integers(info[1].min, info[1].max + 1, (k, n)).astype(right)
    za = rng.integers(info[0].min, info[0].max + 1, m if seed % 2 else ()).astype(left)
    zb = rng.integers(info[1].min, info[1].max + 1, n if seed % 3 else ()).astype(right)
    rows = za.astype("i4").reshape(-1, 1)
    expected = (a.astype("i4") - rows) @ (b.astype("i4") - zb.astype("i4"))
    np.testing.assert_array_equal(sw.matmul_integer(a, b, za, zb), expected)


def test_products_natively():
    a = RNG.integers(0, 256, (5, 17)).astype("u1")
    b = RNG.integers(-128, 128, (17, 3)).astype("i1")
    za, zb = np.array(131, "u1"), RNG.integers(-128, 128, 3).astype("i1")
    found = run(sw.matmul_integer, a, b, za, zb)
    expected = (a.astype("i4") - 131) @ (b.astype("i4") - zb)
    np.testing.assert_array_equal(found, expected)
    scales = [np.float32(each) for each in (0.02, 0.03, 0.9)]
    y = run(sw.qlinear_matmul, a, scales[0], za, b, scales[1], zb, scales[2], np.array(5, "i1"))
    np.testing.assert_array_equal(
        y, quantized(expected * (scales[0] * scales[1] / scales[2]), np.float32(1), 5, "i1")
    )
    np.testing.assert_array_equal(
        run(sw.matmul_integer, a[0], b[:, 1]), a[0].astype("i4") @ b[:, 1]
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: sw.quantize_linear(x, np.ones(3, "f4")), "found scales of shape .3. for axis 1"),
        (
            lambda x: sw.quantize_linear(x, np.float32(1), dtype=np.int64),
            "found int64 for quantized",
        ),
        (lambda x: sw.dequantize_linear(x, np.float32(1)), "found float32 for quantized numbers"),
        (
            lambda x: sw.quantize_linear(x, np.ones((2, 2), "f4"), block_size=2),
            "for blocks of 2 along axis 1",
        ),
        (lambda x: sw.matmul_integer(x, x.T), "found float32 for quantized numbers"),
        (
            lambda x: sw.dequantize_linear(x.astype("i1"), np.float32(1), np.uint8(0)),
            "found a zero point of uint8 for int8",
        ),
    ],
)
def test_mistakes_are_one_line(call, message):
    with pytest.raises(sw.StepwellError, match=message):
        call(np.ones((2, 5), "f4"))


@pytest.mark.parametrize("zeros", [np.uint8(3), np.uint8([3, 0, 250, 9])])
def test_convolutions_of_quantized_numbers(zeros):
    generator = np.random.default_rng(8)
    x = generator.integers(0, 256, (2, 4, 5, 6)).astype(np.uint8)
    w = generator.integers(0, 256, (4, 2, 3, 2)).astype(np.uint8)
    image = np.pad(x.astype(np.int64) - 7, [(0, 0), (0, 0), (1, 0), (0, 1)])
    weights = w.astype(np.int64) - zeros.astype(np.int64).reshape(-1, 1, 1, 1)
    sums = np.zeros((2, 4, 4, 6), np.int64)
    for f in range(4):
        channels = image[:, f // 2 * 2 :][:, :2]
        views = np.lib.stride_tricks.sliding_window_view(channels, (3, 2), (2, 3))
        sums[:, f] = np.einsum("nchwuv,cuv->nhw", views, weights[f])
    window = (1, ((1, 0), (0, 1)), 1, 2)
    found = sw.conv_integer(x, w, np.uint8(7), zeros, *window)
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, sums)
    b, steps = generator.integers(-999, 999, 4).astype(np.int32), np.float32([0.5, 0.25, 1, 2])
    scale = np.float32(0.01) * steps / np.float32(3)
    exact = (sums + b.reshape(-1, 1, 1)) * scale.reshape(-1, 1, 1)
    expected = np.clip(np.rint(exact.astype(np.float32)) + 5, -128, 127)
    rest = (np.float32(3), np.int8(5), b, *window)
    quantized = sw.qlinear_conv(x, np.float32(0.01), np.uint8(7), w, steps, zeros, *rest)
    np.testing.assert_array_equal(quantized, expected.astype(np.int8))
