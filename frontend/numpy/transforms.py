"""Fourier transforms along one axis, of real and imaginary parts: what the functions of `fft` and `dft` are made of."""

from __future__ import annotations

from math import prod
from typing import TypeAlias

import numpy as np

from ...dialects import graph
from ...dialects.graph.fft_stages import complex_length, radices, unit_roots
from ...errors import StepwellError
from ..promotion import FLOAT32, FLOAT64
from ..recording import as_tensor, cast_to, record_all
from ..tensor import Tensor
from .joining import concatenate, stack
from .manipulation import flip, reshape
from .padding import pad

Parts: TypeAlias = tuple[Tensor, Tensor]


def working(x: Tensor) -> Tensor:
    """The operand in the dtype in which it is transformed: float32 for float32 and narrower floats."""
    is_single = x.dtype == FLOAT32 or (x.dtype.itemsize == 2 and x.dtype.kind not in "iu")
    return cast_to(x, FLOAT32 if is_single else FLOAT64)


def resized(x: Tensor, count: int, axis: int) -> Tensor:
    """So many elements of an axis, 0 behind those that there are."""
    if count < 1:
        raise StepwellError(f"found a length of {count}, expected at least 1; give another")
    found = x.shape[axis]
    if found < count:
        return pad(x, [(0, count - found if each == axis else 0) for each in range(x.ndim)])
    return x if found == count else part(x, axis, slice(count))


def part(x: Tensor, axis: int, chosen: slice | int) -> Tensor:
    """A part of an axis."""
    return x[(*[slice(None)] * axis, chosen)]


def along(values: np.ndarray, x: Tensor, axis: int) -> Tensor:
    """Numbers along an axis, to be multiplied with a tensor."""
    shape = [-1 if each == axis else 1 for each in range(x.ndim)]
    return as_tensor(np.asarray(values, x.dtype).reshape(shape))


def transformed(real: Tensor, imag: Tensor, axis: int) -> Parts:
    """The transform, without a scale, of whole rows along an axis counted from 0."""
    length = real.shape[axis]
    if not real.size:
        return real, imag
    if radices(length) is None:
        return _by_convolution(real, imag, axis)
    shape = real.shape
    rows = (prod(shape[:axis]), prod(shape[axis:]))
    found = record_all(graph.FftOp, reshape(real, rows), reshape(imag, rows), length)
    return reshape(found[0], shape), reshape(found[1], shape)


def inverse(real: Tensor, imag: Tensor, axis: int) -> Parts:
    """The inverse transform, without a scale: that of the parts exchanged."""
    found = transformed(imag, real, axis)
    return found[1], found[0]


def _by_convolution(real: Tensor, imag: Tensor, axis: int) -> Parts:
    """
    A length with a great prime factor, as a convolution of a length that is a power of two (L. I. Bluestein, "A linear
    filtering approach to the computation of discrete Fourier transform", 1970).
    """
    length = real.shape[axis]
    whole = 1 << (2 * length - 2).bit_length()
    # k² is taken modulo the period, so that angles are exact for large k.
    squares = np.arange(length) ** 2 % (2 * length)
    cosine, sine = unit_roots(squares, 2 * length)
    filter_ = np.zeros(whole, complex)
    filter_[:length] = cosine - 1j * sine
    filter_[whole - length + 1 :] = filter_[1:length][::-1]
    spectrum = np.fft.fft(filter_) / whole
    c, s = along(cosine, real, axis), along(sine, real, axis)
    rows = [resized(one, whole, axis) for one in (real * c - imag * s, real * s + imag * c)]
    x, y = transformed(rows[0], rows[1], axis)
    p, q = along(spectrum.real, real, axis), along(spectrum.imag, real, axis)
    x, y = inverse(x * p - y * q, x * q + y * p, axis)
    x, y = part(x, axis, slice(length)), part(y, axis, slice(length))
    return x * c - y * s, x * s + y * c


def half_of_real(x: Tensor, axis: int) -> Parts:
    """The first half, n // 2 + 1 numbers, of the transform of real numbers."""
    length, count = x.shape[axis], x.shape[axis] // 2 + 1
    if not x.size or radices(complex_length(length)) is None:
        real, imag = transformed(x, x * 0, axis)
        return part(real, axis, slice(count)), part(imag, axis, slice(count))
    shape = x.shape
    rows = (prod(shape[:axis]), prod(shape[axis:]))
    real, imag = record_all(graph.RealFftOp, reshape(x, rows), length)
    shape = (*shape[:axis], count, *shape[axis + 1 :])
    return reshape(real, shape), reshape(imag, shape)


def real_of_half(real: Tensor, imag: Tensor, length: int, axis: int) -> Tensor:
    """The real numbers, times `length`, whose transform begins with this half, of length // 2 + 1 numbers."""
    half = length // 2
    is_inside = np.ones(half + 1)
    is_inside[[0, half] if length % 2 == 0 else [0]] = 0
    imag = imag * along(is_inside, imag, axis)
    if length % 2:
        rest = slice(1, None)
        whole = concatenate([real, flip(part(real, axis, rest), axis)], axis)
        across = concatenate([imag, -flip(part(imag, axis, rest), axis)], axis)
        return inverse(whole, across, axis)[0]
    back, across = flip(real, axis), flip(imag, axis)
    even = real + back, imag - across
    odd = real - back, imag + across
    roots = unit_roots(np.arange(half + 1), length)
    c, s = along(roots[0], real, axis), along(-roots[1], real, axis)
    odd = c * odd[0] - s * odd[1], c * odd[1] + s * odd[0]
    rows = slice(half)
    found = inverse(part(even[0] - odd[1], axis, rows), part(even[1] + odd[0], axis, rows), axis)
    shape = (*real.shape[:axis], length, *real.shape[axis + 1 :])
    return reshape(stack(list(found), axis + 1), shape)
