"""The discrete Fourier transform of parts along a last axis, as ONNX has it, and what `numpy.fft` has around transforms."""

from __future__ import annotations

import numpy as np

from ...dialects.dtypes import is_float_dtype
from ...errors import StepwellError
from ..recording import as_tensor, cast_to, converted
from ..tensor import Tensor, TensorLike
from ..traceable import creation, traceable
from .arguments import AxisLike, integers, normalized, single_axis
from .creation import iota
from .joining import stack
from .manipulation import expand_dims, moveaxis, reshape, roll
from .padding import pad
from .selection import take
from .transforms import half_of_real, part, real_of_half, resized, transformed, working
from .transforms import inverse as inverse_transform


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
    result has the real part alone.

    Raises StepwellError for what is no floats with the real and imaginary parts along the last axis.

    >>> sw.dft([[[1.0], [1.0]]], axis=1)
    array([[[2., 0.],
            [0., 0.]]])
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
    place = moved.ndim - 2
    moved = working(resized(moved, count // 2 + 1 if has_half else count, place))
    parts = moved[..., 0], moved[..., 1] if moved.shape[-1] == 2 else moved[..., 0] * 0
    if has_half:
        found = [real_of_half(*parts, count, place)]
    elif onesided and moved.shape[-1] == 1:
        found = list(half_of_real(parts[0], place))
    else:
        found = [*(inverse_transform if inverse else transformed)(*parts, place)]
        found = [part(one, place, slice(count // 2 + 1)) for one in found] if onesided else found
    scaled = [cast_to(one / count if inverse else one, x.dtype) for one in found]
    return moveaxis(stack(scaled, -1), place, axis)


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

    Raises StepwellError for a signal or window of other shapes, and for frames that do not fit them.

    >>> sw.stft(np.ones((1, 4)), 2, np.ones(2)).shape
    (1, 2, 2, 2)
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
    if step < 1 or not 1 <= length <= whole:
        raise StepwellError(
            f"found frames of {length} at steps of {step} for a signal of {whole}, expected steps of at least 1, and "
            f"frames of 1 to {whole}; mend them"
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


# The names of numpy.fft that are about real numbers.


@creation
def fftfreq(n: int, d: float = 1.0) -> Tensor:
    """
    The frequencies of a transform of `n` samples at a distance `d`: those from 0 on, then the negative ones.

    >>> sw.fft.fftfreq(4)
    array([ 0.  ,  0.25, -0.5 , -0.25])
    """
    return as_tensor(np.fft.fftfreq(single_axis(n), d))


@creation
def rfftfreq(n: int, d: float = 1.0) -> Tensor:
    """
    The frequencies of one half of the transform of `n` real samples at a distance `d`.

    >>> sw.fft.rfftfreq(4)
    array([0.  , 0.25, 0.5 ])
    """
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
    """
    `x` with the frequency 0 in the middle of these axes, or all.

    >>> sw.fft.fftshift([0, 1, 2, -2, -1])
    array([-2, -1,  0,  1,  2])
    """
    return _shifted(x, axes, 1)


@traceable
def ifftshift(x: TensorLike, /, axes: AxisLike = None) -> Tensor:
    """
    What `fftshift` has moved, back in its place.

    >>> sw.fft.ifftshift([-2, -1, 0, 1, 2])
    array([ 0,  1,  2, -2, -1])
    """
    return _shifted(x, axes, -1)
