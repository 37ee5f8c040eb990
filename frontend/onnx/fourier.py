"""The discrete Fourier transform, and the bands of frequencies that models of sound put it in."""

from __future__ import annotations

import numpy as np

from ...errors import StepwellError
from ..numpy import fourier
from .registry import Value, integer, known, onnx_op
from .tensors import required_dtype


@onnx_op("STFT")
def stft(
    signal: Value,
    frame_step: Value,
    window: Value = None,
    frame_length: Value = None,
    *,
    onesided: int = 1,
) -> Value:
    step = integer(frame_step, "the step")
    length = None if frame_length is None else integer(frame_length, "the length of frames")
    return fourier.stft(signal, step, window, length, onesided=bool(onesided))


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


MOST_BANDS = 1 << 12
"""And as many frequencies, which is what a transform has: their weights are worked out at import."""


@onnx_op("MelWeightMatrix")
def mel_weight_matrix(
    num_mel_bins: Value,
    dft_length: Value,
    sample_rate: Value,
    lower_edge_hertz: Value,
    upper_edge_hertz: Value,
    *,
    output_datatype: int = 1,
) -> Value:
    """
    How much each frequency of a transform counts in each band: triangles whose corners are equally far from each other in
    mels, 2595 · log10(1 + hertz / 700), moved to the frequency below.
    """
    bands, length = integer(num_mel_bins, "the bands"), integer(dft_length, "the length")
    rate = integer(sample_rate, "the rate")
    count = length // 2 + 1
    if not (0 <= bands <= MOST_BANDS and 1 <= count <= MOST_BANDS and rate > 0):
        raise StepwellError(
            f"found {bands} bands of {count} frequencies at a rate of {rate}, expected at most {MOST_BANDS} each, and "
            "a rate above 0; mend them"
        )
    edges = [
        float(known(edge, "the edges").reshape(())) for edge in (lower_edge_hertz, upper_edge_hertz)
    ]
    low, high = (2595 * np.log10(1 + hertz / 700) for hertz in edges)
    mels = low + np.arange(bands + 2) * ((high - low) / (bands + 2))
    corners = np.floor((length + 1) * (700 * (10 ** (mels / 2595) - 1)) / rate)
    first, middle, last = corners[:-2], corners[1:-1], corners[2:]
    frequency = np.arange(count)[:, None]
    rise = (frequency - first) / np.where(middle == first, 1, middle - first)
    fall = (last - frequency) / np.where(last == middle, 1, last - middle)
    # On the side where a triangle has no width its corner alone is left.
    rises = (frequency >= first) & (frequency < middle)
    falls = (frequency > middle) & (frequency < last)
    weights = rises * rise + falls * fall + (frequency == middle)
    return np.asarray(weights).astype(required_dtype(output_datatype, "a weight"))
