"""
Fourier transforms, with the names and arguments of `numpy.fft`. Complex results are complex64 of float32, complex64 and
narrower floats, and complex128 of all else.

Lengths are of any size: mixed radix where their prime factors are at most 13, else a convolution (Bluestein).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import StepwellError
from ..complex_tensor import Complex
from ..recording import as_tensor
from ..tensor import Tensor, TensorLike
from ..traceable import rule_of_complex, traceable
from .arguments import AxisLike, integers, normalized, single_axis
from .complex_rules import as_complex
from .fourier import fftfreq, fftshift, ifftshift, rfftfreq
from .transforms import half_of_real, inverse, real_of_half, resized, transformed, working


def _complex(x: TensorLike) -> Complex:
    real, imag = as_complex(x).parts
    return Complex(working(real), working(imag))


def _real(x: TensorLike) -> Tensor:
    if isinstance(x, Complex):
        raise StepwellError(
            f"found {x!r} in a transform of real numbers, expected real ones; take x.real"
        )
    return working(as_tensor(x))


def _length(n: int | None, default: int) -> int:
    return default if n is None else single_axis(n)


def _factor(count: int, norm: str | None, is_inverse: bool) -> float:
    """What a transform is multiplied by."""
    if norm not in (None, "backward", "ortho", "forward"):
        raise StepwellError(
            f"found norm {norm!r:.20}, expected 'backward', 'ortho' or 'forward'; name one of them"
        )
    if norm == "ortho":
        return float(1 / np.sqrt(count))
    return 1 / count if is_inverse == (norm in (None, "backward")) else 1.0


def _scaled(x: Tensor, factor: float) -> Tensor:
    return x if factor == 1 else x * factor


def _along(x: Complex, n: int | None, axis: int, norm: str | None, is_inverse: bool) -> Complex:
    axis = normalized(single_axis(axis), x.ndim)
    count = _length(n, x.shape[axis])
    factor = _factor(count, norm, is_inverse)
    real, imag = (resized(one, count, axis) for one in x.parts)
    found = (inverse if is_inverse else transformed)(real, imag, axis)
    return Complex(_scaled(found[0], factor), _scaled(found[1], factor))


def _axes(
    ndim: int, s: Sequence[int] | None, axes: AxisLike, default: Sequence[int] | None
) -> list[tuple[int, int | None]]:
    """Each axis, counted from 0, with its length where that is given."""
    if axes is None:
        count = len(s) if s is not None else ndim
        chosen = default if default is not None else range(ndim - count, ndim)
    else:
        chosen = integers(axes, "axes")
    places = [normalized(axis, ndim) for axis in chosen]
    lengths: list[int | None] = [None] * len(places)
    if s is not None:
        lengths = [None if one == -1 else one for one in integers(s, "s")]
    if len(lengths) != len(places):
        raise StepwellError(
            f"found {len(lengths)} lengths for {len(places)} axes, expected as many; give one for each"
        )
    return list(zip(places, lengths, strict=True))


def _along_several(
    x: Complex,
    axes: Sequence[tuple[int, int | None]],
    norm: str | None,
    is_inverse: bool,
) -> Complex:
    for axis, length in reversed(axes):
        x = _along(x, length, axis, norm, is_inverse)
    return x


@traceable
def fft(a: TensorLike, /, n: int | None = None, axis: int = -1, norm: str | None = None) -> Complex:
    """
    The discrete Fourier transform of real or complex numbers along an axis, cut or padded with 0 to `n`: complex.

    float32 and complex64 give complex64, all others complex128.

    >>> sw.fft.fft([1.0, 0.0, 0.0, 0.0])
    array([1.+0.j, 1.+0.j, 1.+0.j, 1.+0.j])
    """
    return _along(_complex(a), n, axis, norm, False)


@traceable
def ifft(
    a: TensorLike, /, n: int | None = None, axis: int = -1, norm: str | None = None
) -> Complex:
    """
    The inverse transform along an axis, cut or padded with 0 to `n`, divided by n unless `norm` says otherwise: complex.

    >>> sw.fft.ifft([4.0, 0.0, 0.0, 0.0])
    array([1.+0.j, 1.+0.j, 1.+0.j, 1.+0.j])
    """
    return _along(_complex(a), n, axis, norm, True)


@traceable
def rfft(
    a: TensorLike, /, n: int | None = None, axis: int = -1, norm: str | None = None
) -> Complex:
    """
    The first n // 2 + 1 numbers of the transform of real numbers, from which the others follow: complex.

    >>> sw.fft.rfft([1.0, 1.0, 1.0, 1.0])
    array([4.+0.j, 0.+0.j, 0.+0.j])
    """
    x = _real(a)
    axis = normalized(single_axis(axis), x.ndim)
    count = _length(n, x.shape[axis])
    factor = _factor(count, norm, False)
    found = half_of_real(resized(x, count, axis), axis)
    return Complex(_scaled(found[0], factor), _scaled(found[1], factor))


@traceable
def irfft(
    a: TensorLike, /, n: int | None = None, axis: int = -1, norm: str | None = None
) -> Tensor:
    """
    The n real numbers whose transform begins with these: 2 (m - 1) of m without `n`. The imaginary parts of the first,
    and for even n of the last, are taken for 0.

    >>> sw.fft.irfft([4.0, 0.0, 0.0])
    array([1., 1., 1., 1.])
    """
    x = _complex(a)
    axis = normalized(single_axis(axis), x.ndim)
    count = _length(n, 2 * (x.shape[axis] - 1))
    factor = _factor(count, norm, True)
    real, imag = (resized(one, count // 2 + 1, axis) for one in x.parts)
    return _scaled(real_of_half(real, imag, count, axis), factor)


@traceable
def hfft(a: TensorLike, /, n: int | None = None, axis: int = -1, norm: str | None = None) -> Tensor:
    """
    The transform, n real numbers, of numbers that are conjugate to each other across 0, of which this is a half.

    >>> sw.fft.hfft([1.0, 0.0, 0.0])
    array([1., 1., 1., 1.])
    """
    x = as_complex(a)
    turned: Any = Complex(x.real, -x.imag)
    opposite = {None: "forward", "backward": "forward", "forward": "backward"}
    return irfft(turned, n, axis, opposite.get(norm, norm))


@traceable
def ihfft(
    a: TensorLike, /, n: int | None = None, axis: int = -1, norm: str | None = None
) -> Complex:
    """
    The first half of the inverse transform of real numbers: the inverse of `hfft`.

    >>> sw.fft.ihfft([4.0, 0.0, 0.0, 0.0]).real
    array([1., 1., 1.])
    """
    opposite = {None: "forward", "backward": "forward", "forward": "backward"}
    x = rfft(a, n, axis, opposite.get(norm, norm))
    return Complex(x.real, -x.imag)


@traceable
def fftn(
    a: TensorLike, /, s: Sequence[int] | None = None, axes: AxisLike = None, norm: str | None = None
) -> Complex:
    """
    The transform along several axes, or all: cut or padded to `s`, of as many lengths; complex.

    >>> sw.fft.fftn([[1.0, 1.0], [1.0, 1.0]])
    array([[4.+0.j, 0.+0.j],
           [0.+0.j, 0.+0.j]])
    """
    x = _complex(a)
    return _along_several(x, _axes(x.ndim, s, axes, None), norm, False)


@traceable
def ifftn(
    a: TensorLike, /, s: Sequence[int] | None = None, axes: AxisLike = None, norm: str | None = None
) -> Complex:
    """
    The inverse of `fftn`.

    >>> sw.fft.ifftn([[4.0, 0.0], [0.0, 0.0]])
    array([[1.+0.j, 1.+0.j],
           [1.+0.j, 1.+0.j]])
    """
    x = _complex(a)
    return _along_several(x, _axes(x.ndim, s, axes, None), norm, True)


@traceable
def fft2(
    a: TensorLike,
    /,
    s: Sequence[int] | None = None,
    axes: AxisLike = (-2, -1),
    norm: str | None = None,
) -> Complex:
    """
    The transform along two axes, the last ones by default; complex.

    >>> sw.fft.fft2([[1.0, 1.0], [1.0, 1.0]])
    array([[4.+0.j, 0.+0.j],
           [0.+0.j, 0.+0.j]])
    """
    return fftn(a, s, axes, norm)


@traceable
def ifft2(
    a: TensorLike,
    /,
    s: Sequence[int] | None = None,
    axes: AxisLike = (-2, -1),
    norm: str | None = None,
) -> Complex:
    """
    The inverse of `fft2`.

    >>> sw.fft.ifft2([[4.0, 0.0], [0.0, 0.0]])
    array([[1.+0.j, 1.+0.j],
           [1.+0.j, 1.+0.j]])
    """
    return ifftn(a, s, axes, norm)


@traceable
def rfftn(
    a: TensorLike, /, s: Sequence[int] | None = None, axes: AxisLike = None, norm: str | None = None
) -> Complex:
    """
    The transform of real numbers along several axes, or all, the last of them as by `rfft`; complex.

    >>> sw.fft.rfftn([[1.0, 1.0], [1.0, 1.0]])
    array([[4.+0.j, 0.+0.j],
           [0.+0.j, 0.+0.j]])
    """
    x = _real(a)
    *others, (axis, length) = _axes(x.ndim, s, axes, None)
    return _along_several(rfft(x, length, axis, norm), others, norm, False)


@traceable
def irfftn(
    a: TensorLike, /, s: Sequence[int] | None = None, axes: AxisLike = None, norm: str | None = None
) -> Tensor:
    """
    The inverse of `rfftn`, real numbers; the last of `s` is that of the result.

    >>> sw.fft.irfftn([[4.0, 0.0], [0.0, 0.0]])
    array([[1., 1.],
           [1., 1.]])
    """
    x = _complex(a)
    *others, (axis, length) = _axes(x.ndim, s, axes, None)
    found: Any = _along_several(x, others, norm, True)
    return irfft(found, length, axis, norm)


@traceable
def rfft2(
    a: TensorLike,
    /,
    s: Sequence[int] | None = None,
    axes: AxisLike = (-2, -1),
    norm: str | None = None,
) -> Complex:
    """
    The transform of real numbers along two axes, the last ones by default, the second as by `rfft`; complex.

    >>> sw.fft.rfft2([[1.0, 1.0], [1.0, 1.0]])
    array([[4.+0.j, 0.+0.j],
           [0.+0.j, 0.+0.j]])
    """
    return rfftn(a, s, axes, norm)


@traceable
def irfft2(
    a: TensorLike,
    /,
    s: Sequence[int] | None = None,
    axes: AxisLike = (-2, -1),
    norm: str | None = None,
) -> Tensor:
    """
    The inverse of `rfft2`, real numbers.

    >>> sw.fft.irfft2([[4.0, 0.0], [0.0, 0.0]])
    array([[1., 1.],
           [1., 1.]])
    """
    return irfftn(a, s, axes, norm)


_FUNCTIONS = (
    *(fft, ifft, rfft, irfft, hfft, ihfft, fft2, ifft2, rfft2, irfft2, fftn, ifftn, rfftn, irfftn),
)

for _function in _FUNCTIONS:
    rule_of_complex(_function, _function.__wrapped__)  # pyright: ignore[reportFunctionMemberAccess]

FFT = {
    function.__name__: function
    for function in (*_FUNCTIONS, fftfreq, rfftfreq, fftshift, ifftshift)
}
"""The names of `stepwell.fft`."""
