"""
The discrete Fourier transform, as products with matrices of cosines and sines: n² multiply-adds for each row of n
numbers, at the speed of matrix products.
"""

from __future__ import annotations

from math import pi

import numpy as np

from ...dialects.dtypes import is_float_dtype
from ...errors import StepwellError
from ..recording import as_tensor, converted
from ..tensor import Tensor, TensorLike
from ..traceable import creation, traceable
from .arguments import AxisLike, integers, normalized, single_axis
from .creation import iota
from .joining import stack
from .manipulation import expand_dims, moveaxis, reshape, roll
from .padding import pad
from .products import matmul
from .selection import take

MAX_LENGTH = 4096
"""Of a row: the matrices of a longer one would take more than 256 MB."""


@traceable
def dft(
    x: TensorLike,
    /,
    length: int | None = None,
    axis: int = -2,
    *,
    inverse: bool = False,
    onesided: bool = False,
) -> Tensor:
    """
    The discrete Fourier transform along an axis (ONNX DFT). The last axis has the real part, or the real and the imaginary
    part; it has both in the result.

    `x` is cut, or padded with 0, to `length`. `onesided` leaves out what follows from the symmetry of real numbers: of the
    transform all behind its first half; of an inverse one it takes such a half, `length` is that of the result, and the
    result has the real part alone. Rows are of at most 4096 numbers.
    """
    x = as_tensor(x)
    axis = normalized(single_axis(axis), x.ndim)
    if not is_float_dtype(x.dtype) or axis == x.ndim - 1 or x.shape[-1] not in (1, 2):
        raise StepwellError(
            f"found {x.dtype} of shape {list(x.shape)} and axis {axis}, expected floats with the real and imaginary "
            "parts along the last axis, and another axis; reshape it"
        )
    moved = moveaxis(x, axis, x.ndim - 2)
    has_half = inverse and onesided
    default = 2 * (moved.shape[-2] - 1) if has_half else moved.shape[-2]
    (count,) = integers(default if length is None else length, "length")
    if not 1 <= count <= MAX_LENGTH:
        raise StepwellError(f"found rows of {count} numbers, expected 1 to {MAX_LENGTH}; cut them")
    taken = count // 2 + 1 if has_half else count
    moved = _resized(moved, taken)
    given = count // 2 + 1 if onesided and not inverse else count
    cosine, sine = _matrices(taken, given, count, inverse, x.dtype)
    if has_half:
        # The half that is not there adds the conjugate of what is.
        twice = np.full((taken, 1), 2, x.dtype)
        twice[[0, -1] if count % 2 == 0 else [0]] = 1
        cosine, sine = cosine * twice, sine * twice
    rows = tuple([slice(None)] * (moved.ndim - 1))
    real = matmul(moved[(*rows, 0)], cosine)
    imaginary = matmul(moved[(*rows, 0)], sine)
    if moved.shape[-1] == 2:
        real = real - matmul(moved[(*rows, 1)], sine)
        imaginary = imaginary + matmul(moved[(*rows, 1)], cosine)
    return moveaxis(stack([real] if has_half else [real, imaginary], -1), x.ndim - 2, axis)


@traceable
def stft(
    signal: TensorLike,
    frame_step: int,
    window: TensorLike = None,
    frame_length: int | None = None,
    /,
    *,
    onesided: bool = True,
) -> Tensor:
    """
    The transforms of the parts of `frame_length` that start at each `frame_step` of a signal, times a `window` (ONNX STFT).

    The signal is (batch, length), with the real part, or the real and the imaginary part, along a third axis; the result is
    (batch, frames, frequencies, 2). Without a length that of the window holds; a shorter window stands at the beginning.
    """
    x = as_tensor(signal)
    x = expand_dims(x, -1) if x.ndim == 2 else x
    if x.ndim != 3 or not is_float_dtype(x.dtype):
        raise StepwellError(
            f"found a signal of {x.dtype} and shape {list(x.shape)}, expected floats (batch, length, 1 or 2); reshape it"
        )
    weights = None if window is None else converted([window], x.dtype)[0]
    if weights is not None and weights.ndim != 1:
        raise StepwellError(
            f"found a window of shape {list(weights.shape)}, expected one axis; reshape it"
        )
    if frame_length is None and weights is None:
        raise StepwellError("found neither a window nor a frame length, expected one; give either")
    (step,) = integers(frame_step, "frame_step")
    given = weights.shape[0] if frame_length is None and weights is not None else frame_length
    (length,) = integers(given, "frame_length")
    whole = x.shape[1]
    if step < 1 or not 1 <= length <= min(whole, MAX_LENGTH):
        raise StepwellError(
            f"found frames of {length} at steps of {step} for a signal of {whole}, expected steps of at least 1, and "
            f"frames of 1 to {min(whole, MAX_LENGTH)}; mend them"
        )
    starts = reshape(iota((whole - length) // step + 1) * step, (-1, 1))
    frames = take(x, starts + iota(length), 1)
    if weights is not None:
        if weights.shape[0] > length:
            raise StepwellError(
                f"found a window of {weights.shape[0]} for frames of {length}, expected at most as many; cut it"
            )
        missing = length - weights.shape[0]
        frames = frames * reshape(pad(weights, [(0, missing)]), (length, 1))
    return dft(frames, None, 2, onesided=onesided)


def _resized(x: Tensor, count: int) -> Tensor:
    """So many elements of the axis before the last, 0 behind those there are."""
    found = x.shape[-2]
    if found < count:
        return pad(x, [(0, 0)] * (x.ndim - 2) + [(0, count - found), (0, 0)])
    rows = tuple([slice(None)] * (x.ndim - 2))
    return x if found == count else x[(*rows, slice(count))]


def _matrices(
    rows: int, columns: int, count: int, inverse: bool, dtype: np.dtype
) -> tuple[np.ndarray, np.ndarray]:
    """The real and imaginary parts of exp(∓2πi·r·c / count), of the inverse divided by the count."""
    # By the remainder, so that the angle is as exact for large products as for small ones.
    turns = np.outer(np.arange(rows), np.arange(columns)) % count / count
    angles = 2 * pi * turns * (1 if inverse else -1)
    scale = 1 / count if inverse else 1.0
    return (np.cos(angles) * scale).astype(dtype), (np.sin(angles) * scale).astype(dtype)


# The names of numpy.fft that are about real numbers.


@creation
def fftfreq(n: int, d: float = 1.0) -> Tensor:
    """The frequencies of a transform of `n` samples at a distance `d`: those from 0 on, then the negative ones."""
    return as_tensor(np.fft.fftfreq(single_axis(n), d))


@creation
def rfftfreq(n: int, d: float = 1.0) -> Tensor:
    """The frequencies of one half of the transform of `n` real samples at a distance `d`."""
    return as_tensor(np.fft.rfftfreq(single_axis(n), d))


def _shifted(x: TensorLike, axes: AxisLike, sign: int) -> Tensor:
    x = as_tensor(x)
    along = (
        range(x.ndim)
        if axes is None
        else [normalized(one, x.ndim) for one in integers(axes, "axes")]
    )
    for axis in along:
        x = roll(x, sign * (x.shape[axis] // 2), axis)
    return x


@traceable
def fftshift(x: TensorLike, /, axes: AxisLike = None) -> Tensor:
    """`x` with the frequency 0 in the middle of these axes, or all."""
    return _shifted(x, axes, 1)


@traceable
def ifftshift(x: TensorLike, /, axes: AxisLike = None) -> Tensor:
    """What `fftshift` has moved, back in its place."""
    return _shifted(x, axes, -1)


FFT = {function.__name__: function for function in (fftfreq, rfftfreq, fftshift, ifftshift)}

MISSING: dict[str, str] = dict.fromkeys(
    (
        *("fft", "ifft", "rfft", "irfft", "fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn"),
        *("rfftn", "irfftn", "hfft", "ihfft"),
    ),
    "there is no complex dtype; use sw.dft(x[..., None], axis=-2), which has the real and imaginary parts along the "
    "last axis",
)
