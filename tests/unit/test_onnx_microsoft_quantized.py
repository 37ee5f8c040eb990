"""Layers of quantized numbers in `com.microsoft`, compared with NumPy and, where it is installed, ONNX Runtime."""

import numpy as np
import pytest
from stepwell import StepwellError

from .onnx_node import found_of, model_of, runtime_results

S = np.float32
RNG = np.random.default_rng(3)


def codes(*shape, dtype=np.uint8):
    info = np.iinfo(dtype)
    return RNG.integers(info.min, info.max + 1, shape).astype(dtype)


def floats(*shape):
    return RNG.uniform(-1, 1, shape).astype(np.float32)


def numbers(q, scale, zero):
    return (q.astype(np.float32) - np.float32(zero)) * scale


def quantized(x, scale, zero):
    info = np.iinfo(zero.dtype)
    return np.clip(np.rint(x / scale) + zero, info.min, info.max).astype(zero.dtype)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


A, B, IMAGE = codes(2, 3, 5), codes(3, 5), codes(1, 3, 5, 7)
I8 = codes(4, 6, dtype=np.int8)
SA, ZA, SB, ZB, SC, ZC = S(0.02), np.uint8(120), S(0.03), np.uint8(7), S(0.05), np.uint8(99)
A_, B_, IMAGE_ = numbers(A, SA, ZA), numbers(B, SB, ZB), numbers(IMAGE, SA, ZA)


def pooled(x):
    """The mean over windows of 3 × 2 with steps of 2."""
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 2), (-2, -1))
    return windows[..., ::2, ::2, :, :].mean((-2, -1))


def dynamic(a):
    low, high = min(a.min(), S(0)), max(a.max(), S(0))
    scale = (high - low) / S(255)
    zero = np.uint8(np.rint(-low / scale))
    return quantized(a, scale, zero).astype(np.int32) - int(zero), scale


WEIGHTS, ROWS = codes(6, 8, dtype=np.int8), floats(4, 6)
STEPS, ZEROS, BIAS = (
    RNG.uniform(0.01, 0.02, 8).astype(np.float32),
    codes(8, dtype=np.int8),
    floats(8),
)
EXACT = I8.astype(np.int32) @ (WEIGHTS.astype(np.int32) - ZEROS)
DYNAMIC, DYNAMIC_SCALE = dynamic(ROWS)
SUMS = codes(8).astype(np.int32) * 50
GEMM = 0.5 * SA * SB * ((A[0].astype(np.int32) - int(ZA)) @ (B[:2, :].T.astype(np.int32) - int(ZB)))


def nbits_case(bits, packed_zeros):
    """A product with 5 rows of 48 weights in blocks of 32: the second block of a row is half full."""
    k, n, block, blocks = 48, 5, 32, 2
    q = RNG.integers(0, 1 << bits, (n, blocks * block))
    zeros = RNG.integers(0, 1 << bits, (n, blocks))
    scales, x, bias = floats(n, blocks), floats(3, k), floats(n)
    pack = (lambda c: c) if bits == 8 else (lambda c: c[..., ::2] | c[..., 1::2] << 4)
    used = zeros if packed_zeros else np.full((n, blocks), 1 << (bits - 1))
    w = ((q.reshape(n, blocks, block) - used[..., None]) * scales[..., None]).reshape(n, -1)[:, :k]
    return (
        {"K": k, "N": n, "bits": bits, "block_size": block},
        [
            x,
            pack(q).reshape(n, blocks, -1).astype(np.uint8),
            scales,
            pack(zeros).astype(np.uint8) if packed_zeros else None,
            None,
            bias,
        ],
        x @ w.T + bias,
    )


CASES = {
    "QLinearAdd": ({}, [A, SA, ZA, B, SB, ZB, SC, ZC], quantized(A_ + B_, SC, ZC)),
    "QLinearMul": ({}, [A, SA, ZA, B, SB, ZB, SC, ZC], quantized(A_ * B_, SC, ZC)),
    "QLinearSigmoid": (
        {},
        [A, SA, ZA, S(1 / 256), np.uint8(0)],
        quantized(sigmoid(A_), S(1 / 256), np.uint8(0)),
    ),
    "QLinearLeakyRelu": (
        {"alpha": 0.1},
        [A, SA, ZA, SC, ZC],
        quantized(np.where(A_ < 0, A_ * S(0.1), A_), SC, ZC),
    ),
    "QLinearSoftmax": (
        {"opset": 13},
        [A, SA, ZA, S(1 / 256), np.uint8(0)],
        quantized(softmax(A_), S(1 / 256), np.uint8(0)),
    ),
    "QLinearSoftmax flattened": (
        {"opset": 11, "axis": 1},
        [A, SA, ZA, S(1 / 256), np.uint8(0)],
        quantized(softmax(A_.reshape(2, 15)).reshape(A.shape), S(1 / 256), np.uint8(0)),
    ),
    "QLinearConcat": (
        {"axis": 0},
        [SC, ZC, A[0], SA, ZA, B, SB, ZB],
        quantized(np.concatenate([A_[0], B_]), SC, ZC),
    ),
    "QLinearWhere": (
        {},
        [A > 90, A, SA, ZA, B, SB, ZB, SC, ZC],
        quantized(np.where(A > 90, A_, B_), SC, ZC),
    ),
    "QLinearAveragePool": (
        {"kernel_shape": [3, 2], "strides": [2, 2]},
        [IMAGE, SA, ZA, SC, ZC],
        quantized(pooled(IMAGE_), SC, ZC),
    ),
    "QLinearAveragePool channels last": (
        {"kernel_shape": [3, 2], "strides": [2, 2], "channels_last": 1},
        [np.ascontiguousarray(np.moveaxis(IMAGE, 1, -1)), SA, ZA, SC, ZC],
        np.moveaxis(quantized(pooled(IMAGE_), SC, ZC), 1, -1),
    ),
    "QLinearGlobalAveragePool": (
        {},
        [IMAGE, SA, ZA, S(0.01), ZC],
        quantized(IMAGE_.mean((2, 3), keepdims=True), S(0.01), ZC),
    ),
    "MatMulIntegerToFloat": (
        {},
        [I8, WEIGHTS, SA, STEPS, None, ZEROS, BIAS],
        EXACT * (SA * STEPS) + BIAS,
    ),
    "DynamicQuantizeMatMul": (
        {},
        [ROWS, WEIGHTS, STEPS, ZEROS, BIAS],
        DYNAMIC @ (WEIGHTS.astype(np.int32) - ZEROS) * (DYNAMIC_SCALE * STEPS) + BIAS,
    ),
    "QGemm": (
        {"alpha": 0.5, "transB": 1},
        [A[0], SA, ZA, B[:2], SB, ZB, SUMS[:2], SC, ZC],
        quantized(GEMM + S(0.5) * SA * SB * SUMS[:2], SC, ZC),
    ),
    "QGemm to floats": (
        {"alpha": 0.5, "transB": 1},
        [A[0], SA, ZA, B[:2], SB, ZB],
        GEMM.astype(np.float32),
    ),
    "MatMulNBits 4 bits": nbits_case(4, packed_zeros=True),
    "MatMulNBits 8 bits": nbits_case(8, packed_zeros=True),
    "MatMulNBits symmetric": nbits_case(4, packed_zeros=False),
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("case", CASES)
def test_it_computes_what_its_formula_says(case):
    attributes, arrays, expected = CASES[case]
    model, inputs = model_of(case.split()[0], attributes, arrays)
    (found,) = found_of(model, inputs)
    assert found.dtype == expected.dtype or expected.dtype == np.float64
    _close(found, expected, case)
    if (results := runtime_results(model, inputs)) is not None:
        _close(found, results[0], case)


def test_zero_points_that_are_left_out_are_zero():
    """ONNX Runtime refuses this node, which its own schema allows."""
    model, inputs = model_of("QLinearMul", {}, [I8, SA, None, I8, SB, None, SC])
    (found,) = found_of(model, inputs)
    expected = quantized(numbers(I8, SA, 0) * numbers(I8, SB, 0), SC, np.int8(0))
    _close(found, expected, "QLinearMul")


def test_an_input_before_the_one_left_out_is_still_needed():
    model, inputs = model_of("QLinearMul", {}, [I8, None, None, I8, SB, None, SC])
    with pytest.raises(
        StepwellError, match=r"found input 1 of com\.microsoft\.QLinearMul left out"
    ):
        found_of(model, inputs)


def _close(found, expected, case):
    """A quantized number that lies in the middle of two may be either: one step is allowed where there are quotients."""
    assert found.shape == expected.shape, case
    if found.dtype.kind in "iu":
        steps = np.abs(found.astype(np.int32) - expected.astype(np.int32))
        assert steps.max() <= 1, case
        assert (steps > 0).mean() < 0.2, case
    else:
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
