"""The discrete Fourier transform."""

from __future__ import annotations

from ..numpy import fourier
from .registry import Value, integer, onnx_op


@onnx_op("DFT", since=20)
def dft(
    x: Value,
    dft_length: Value = None,
    axis: Value = None,
    *,
    inverse: int = 0,
    onesided: int = 0,
) -> Value:
    along = -2 if axis is None else integer(axis, "the axis")
    return dft_along(x, dft_length, axis=along, inverse=inverse, onesided=onesided)


@onnx_op("DFT")
def dft_along(
    x: Value, dft_length: Value = None, *, axis: int = 1, inverse: int = 0, onesided: int = 0
) -> Value:
    length = None if dft_length is None else integer(dft_length, "the length")
    return fourier.dft(x, length, axis, inverse=bool(inverse), onesided=bool(onesided))
