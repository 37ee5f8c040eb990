"""The functions that there are of complex numbers. Importing this module enters them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import StepwellError
from ..complex_arrays import is_complex_dtype, part_dtype
from ..complex_tensor import Complex, is_complex
from ..promotion import is_scalar
from ..recording import cast_to
from ..tensor import Tensor, TensorLike
from . import (
    creation,
    differences,
    elementwise,
    factorizations,
    fourier,
    indexing,
    joining,
    linalg,
    manipulation,
    mathematics,
    matrices,
    padding,
    predicates,
    products,
    reductions,
    scans,
    selection,
    updates,
    windows,
)
from .complex_rules import (
    as_complex,
    by_parts,
    creation_of_zeros,
    is_of_numbers,
    joined,
    of_complex,
    parts_of,
)
from .elementwise import absolute, add, cos, divide, exp, log, multiply, sin, sqrt, subtract, where
from .mathematics import arctan2, cosh, hypot, sinh


def _zero(x: Any) -> Any:
    return 0.0 if x is None else x


# Arithmetic.


@of_complex(elementwise.add)
def _add(x: TensorLike, y: TensorLike, /) -> Complex:
    (a, b), (c, d) = parts_of(x), parts_of(y)
    return joined(add(a, c), d if b is None else b if d is None else add(b, d))


@of_complex(elementwise.subtract)
def _subtract(x: TensorLike, y: TensorLike, /) -> Complex:
    (a, b), (c, d) = parts_of(x), parts_of(y)
    return joined(subtract(a, c), b if d is None else subtract(_zero(b), d))


@of_complex(elementwise.multiply)
def _multiply(x: TensorLike, y: TensorLike, /) -> Complex:
    (a, b), (c, d) = parts_of(x), parts_of(y)
    if b is None or d is None:
        factor, (e, f) = (a, (c, d)) if b is None else (c, (a, b))
        return joined(multiply(factor, e), multiply(factor, f))
    real = subtract(multiply(a, c), multiply(b, d))
    return joined(real, add(multiply(a, d), multiply(b, c)))


@of_complex(elementwise.divide)
def _divide(x: TensorLike, y: TensorLike, /) -> Complex:
    """By R. L. Smith's algorithm (Communications of the ACM 5(8), 1962), so that no square overflows."""
    (a, b), (c, d) = parts_of(x), parts_of(y)
    if d is None:
        return joined(divide(a, c), divide(b, c))
    b = _zero(b)
    is_real_greater = absolute(c) >= absolute(d)
    greater, lesser = where(is_real_greater, c, d), where(is_real_greater, d, c)
    is_zero = greater == 0
    ratio = where(is_zero, 0.0, lesser / where(is_zero, 1.0, greater))
    divisor = greater + lesser * ratio
    first, second = where(is_real_greater, a, b), where(is_real_greater, b, a)
    rotated = where(is_real_greater, second - first * ratio, first * ratio - second)
    return joined((first + second * ratio) / divisor, rotated / divisor)


@of_complex(elementwise.power)
def _power(x: TensorLike, y: TensorLike, /) -> Complex:
    """By products where the exponent is a small integer that is known while tracing, else exp(y log x)."""
    if is_scalar(y) and float(y).is_integer() and abs(y) <= 64:
        count, factor, found = abs(int(y)), as_complex(x), None
        while count:
            if count % 2:
                found = factor if found is None else _multiply(found, factor)
            count //= 2
            factor = _multiply(factor, factor) if count else factor
        found = _ones(as_complex(x)) if found is None else found
        return found if y >= 0 else _divide(_ones(found), found)
    base = as_complex(x)
    found = _exp(_multiply(y, _log(base)))
    # log 0 is infinite; 0 to a power with a positive real part is 0.
    is_zero = (base.real == 0) & (base.imag == 0) & (_zero(parts_of(y)[0]) > 0)
    return joined(where(is_zero, 0.0, found.real), where(is_zero, 0.0, found.imag))


def _ones(x: Complex) -> Complex:
    return joined(creation.ones_like(x.real), creation.zeros_like(x.real))


# Parts.


@of_complex(elementwise.absolute)
def _absolute(x: TensorLike, /) -> Tensor:
    return hypot(*as_complex(x).parts)


@of_complex(mathematics.angle)
def _angle(z: TensorLike, /, deg: bool = False) -> Tensor:
    x = as_complex(z)
    found = arctan2(x.imag, x.real)
    return found * (180 / np.pi) if deg else found


@of_complex(mathematics.conj)
def _conj(x: TensorLike, /) -> Complex:
    real, imag = as_complex(x).parts
    return joined(real, -imag)


@of_complex(mathematics.real)
def _real(x: TensorLike, /) -> Tensor:
    return as_complex(x).real.copy()


@of_complex(mathematics.imag)
def _imag(x: TensorLike, /) -> Tensor:
    return as_complex(x).imag.copy()


# Functions.


@of_complex(elementwise.exp)
def _exp(x: TensorLike, /) -> Complex:
    """With the results of C99 (annex G) where a part is infinite or NaN."""
    real, imag = as_complex(x).parts
    size = exp(real)
    first = size * cos(imag)
    # Infinity times the sine of zero would be NaN.
    second = where(imag == 0, imag, size * sin(imag))
    has_no_angle = elementwise.logical_not(predicates.isfinite(imag))
    first = where(has_no_angle & (real == np.inf), real, first)
    is_nothing = has_no_angle & (real == -np.inf)
    return joined(where(is_nothing, 0.0, first), where(is_nothing, 0.0, second))


@of_complex(elementwise.log)
def _log(x: TensorLike, /) -> Complex:
    return joined(log(_absolute(x)), _angle(x))


@of_complex(elementwise.sqrt)
def _sqrt(x: TensorLike, /) -> Complex:
    """The root with a real part that is not negative (W. Kahan, "Branch cuts for complex elementary functions", 1987)."""
    value = as_complex(x)
    root = sqrt(absolute(value.real) * 0.5 + _absolute(value) * 0.5)
    rise = absolute(value.imag)
    # The quotient of zeros is zero, and that of infinities infinite.
    other = where((root == 0) | (rise == np.inf), rise, rise / (root * 2.0))
    is_right = value.real >= 0
    size = where(is_right, other, root)
    return joined(where(is_right, root, other), mathematics.copysign(size, value.imag))


@of_complex(elementwise.sin)
def _sin(x: TensorLike, /) -> Complex:
    real, imag = as_complex(x).parts
    return joined(sin(real) * cosh(imag), cos(real) * sinh(imag))


@of_complex(elementwise.cos)
def _cos(x: TensorLike, /) -> Complex:
    real, imag = as_complex(x).parts
    return joined(cos(real) * cosh(imag), -(sin(real) * sinh(imag)))


@of_complex(mathematics.sinh)
def _sinh(x: TensorLike, /) -> Complex:
    real, imag = as_complex(x).parts
    return joined(sinh(real) * cos(imag), cosh(real) * sin(imag))


@of_complex(mathematics.cosh)
def _cosh(x: TensorLike, /) -> Complex:
    real, imag = as_complex(x).parts
    return joined(cosh(real) * cos(imag), sinh(real) * sin(imag))


@of_complex(elementwise.tanh)
def _tanh(x: TensorLike, /) -> Complex:
    """W. Kahan, "Branch cuts for complex elementary functions", 1987; beyond ±20 the real part is ±1 in double precision."""
    real, imag = as_complex(x).parts
    near = elementwise.clip(real, -20, 20)
    tangent, sine = mathematics.tan(imag), sinh(near)
    slope = tangent * tangent + 1
    divisor = slope * sine * sine + 1
    first = slope * sqrt(sine * sine + 1) * sine / divisor
    # There the imaginary part falls as exp(-2 |x|).
    rest = exp((absolute(near) - absolute(real)) * 2)
    return joined(where(near == real, first, elementwise.sign(real)), tangent / divisor * rest)


@of_complex(mathematics.tan)
def _tan(x: TensorLike, /) -> Complex:
    """-i tanh(i x)."""
    real, imag = as_complex(x).parts
    found = _tanh(Complex(-imag, real))
    return joined(found.imag, -found.real)


@of_complex(elementwise.square)
def _square(x: TensorLike, /) -> Complex:
    return _multiply(x, x)


@of_complex(elementwise.reciprocal)
def _reciprocal(x: TensorLike, /) -> Complex:
    return _divide(1.0, x)


# Comparisons and predicates.


@of_complex(elementwise.equal)
def _equal(x: TensorLike, y: TensorLike, /) -> Tensor:
    (a, b), (c, d) = parts_of(x), parts_of(y)
    return elementwise.logical_and(a == c, _zero(b) == _zero(d))


@of_complex(elementwise.not_equal)
def _not_equal(x: TensorLike, y: TensorLike, /) -> Tensor:
    return elementwise.logical_not(_equal(x, y))


@of_complex(predicates.isnan)
def _isnan(x: TensorLike, /) -> Tensor:
    real, imag = as_complex(x).parts
    return predicates.isnan(real) | predicates.isnan(imag)


@of_complex(predicates.isinf)
def _isinf(x: TensorLike, /) -> Tensor:
    real, imag = as_complex(x).parts
    return predicates.isinf(real) | predicates.isinf(imag)


@of_complex(predicates.isfinite)
def _isfinite(x: TensorLike, /) -> Tensor:
    real, imag = as_complex(x).parts
    return predicates.isfinite(real) & predicates.isfinite(imag)


@of_complex(predicates.iscomplex)
def _iscomplex(x: TensorLike, /) -> Tensor:
    return as_complex(x).imag != 0


@of_complex(predicates.isreal)
def _isreal(x: TensorLike, /) -> Tensor:
    return as_complex(x).imag == 0


@of_complex(predicates.isclose)
def _isclose(
    x: TensorLike,
    y: TensorLike,
    /,
    rtol: float = 1e-05,
    atol: float = 1e-08,
    equal_nan: bool = False,
) -> Tensor:
    x, y = as_complex(x), as_complex(y)
    is_near = _absolute(_subtract(x, y)) <= atol + rtol * _absolute(y)
    found = (is_near & _isfinite(y)) | _equal(x, y)
    return found | (_isnan(x) & _isnan(y)) if equal_nan else found


@of_complex(predicates.allclose)
def _allclose(x: TensorLike, y: TensorLike, /, *args: Any, **kwargs: Any) -> Tensor:
    return reductions.all(_isclose(x, y, *args, **kwargs))


# Products.


def _bilinear(function: Any) -> None:
    """Let a function that sums products of its two operands take complex ones: by four products of parts, or two."""

    def rule(x: TensorLike, y: TensorLike, /, *args: Any, **kwargs: Any) -> Complex:
        (a, b), (c, d) = parts_of(x), parts_of(y)

        def of(one: Any, other: Any) -> Any:
            return function(one, other, *args, **kwargs)

        if b is None or d is None:
            return joined(of(a, c), of(a, d) if b is None else of(b, c))
        return joined(of(a, c) - of(b, d), of(a, d) + of(b, c))

    of_complex(function)(rule)


for _function in (
    *(products.matmul, products.dot, products.inner, products.outer, products.tensordot),
    *(products.kron, products.cross),
):
    _bilinear(_function)


@of_complex(products.vdot)
def _vdot(x: TensorLike, y: TensorLike, /) -> Complex:
    first: Any = manipulation.ravel(_conj(x))
    second: Any = manipulation.ravel(as_complex(y))
    return products.dot(first, second)  # pyright: ignore[reportReturnType]


# Linear algebra: the real matrix [[a, -b], [b, a]] does to [x; y] what a + bi does to x + yi.


@of_complex(factorizations.solve)
def _solve(a: TensorLike, b: TensorLike, /) -> Complex:
    left, right = as_complex(a), as_complex(b)
    upper = joining.concatenate([left.real, -left.imag], -1)
    lower = joining.concatenate([left.imag, left.real], -1)
    whole = joining.concatenate([upper, lower], -2)
    axis = -1 if right.ndim == 1 else -2
    found = factorizations.solve(whole, joining.concatenate(list(right.parts), axis))
    real, imag = joining.split(found, 2, axis)
    return joined(real, imag)


@of_complex(factorizations.inv)
def _inv(x: TensorLike, /) -> Complex:
    value = as_complex(x)
    return _solve(value, joined(matrices.eye(value.shape[-1], dtype=value.real.dtype), 0.0))


@of_complex(linalg.norm)
def _norm(x: TensorLike, /, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Tensor:
    value = as_complex(x)
    is_of_matrix = (value.ndim if axis is None else np.size(axis)) == 2
    if is_of_matrix and ord in (2, -2, "nuc"):
        raise StepwellError(
            f"found ord {ord!r} of a complex matrix, expected 'fro', 1, -1, inf or -inf: there are no singular values of "
            "complex matrices"
        )
    return linalg.norm(_absolute(value), ord, axis, keepdims)


@of_complex(linalg.vector_norm)
def _vector_norm(x: TensorLike, /, **kwargs: Any) -> Tensor:
    return linalg.vector_norm(_absolute(x), **kwargs)


# Dtypes.


@of_complex(manipulation.astype)
def _astype(x: TensorLike, dtype: Any, /, **kwargs: Any) -> Any:
    if not is_complex_dtype(dtype):
        return cast_to(as_complex(x).real, np.dtype(dtype))
    part = part_dtype(np.dtype(dtype))
    real, imag = as_complex(x).parts
    return Complex(cast_to(real, part), cast_to(imag, part))


@of_complex(creation.array)
@of_complex(creation.asarray)
def _asarray(x: TensorLike, /, dtype: Any = None, **kwargs: Any) -> Any:
    """Lists of real numbers are one array; of complex ones, and with traced values among them, they are joined."""
    found = _stacked(x) if is_complex(x) else as_complex(x)
    return found if dtype is None else _astype(found, dtype)


def _stacked(value: Any) -> Any:
    if not isinstance(value, list | tuple) or is_of_numbers(value):
        return as_complex(value)
    rows: Any = [_stacked(one) for one in value]  # pyright: ignore[reportUnknownVariableType]
    return joining.stack(rows)


# What moves elements, and what adds them, is of each part what it is of real numbers.

for _function in (
    *(elementwise.negative, reductions.sum, reductions.mean, scans.cumsum, scans.cumulative_sum),
    *(differences.diff, differences.ediff1d, differences.gradient, differences.trapezoid),
    *(manipulation.reshape, manipulation.ravel, manipulation.transpose, manipulation.moveaxis),
    *(manipulation.swapaxes, manipulation.squeeze, manipulation.expand_dims),
    *(manipulation.broadcast_to, manipulation.matrix_transpose, manipulation.permute_dims),
    *(manipulation.flip, manipulation.fliplr, manipulation.flipud, manipulation.roll),
    *(manipulation.rot90, manipulation.repeat, manipulation.tile, creation.copy),
    *(joining.concatenate, joining.stack, joining.vstack, joining.hstack, joining.dstack),
    *(joining.column_stack, joining.split, joining.array_split, joining.unstack),
    *(matrices.diagonal, matrices.diag, matrices.diagflat, matrices.trace, matrices.tril),
    *(matrices.triu, selection.take, selection.take_along_axis, joining.delete),
    *(indexing.getitem, windows.sliding_window_view, fourier.fftshift, fourier.ifftshift),
):
    by_parts(_function)
for _function, _places in (
    (elementwise.where, (1, 2)),
    (padding.pad, (0,)),
    (joining.append, (0, 1)),
    (joining.insert, (0, 2)),
):
    by_parts(_function, _places)


@of_complex(updates.updated)
def _updated(x: Any, key: Any, values: TensorLike, how: str, /) -> Complex:
    if how not in ("none", "add"):
        raise StepwellError(
            f"found '{how}' of complex numbers at a key, expected set or add; compute the elements first, and set them"
        )
    if not isinstance(x, Complex):
        raise StepwellError(
            "found complex values for elements of a real tensor, expected real ones; convert it with .astype(complex)"
        )
    pairs = zip(x.parts, as_complex(values).parts, strict=True)
    real, imag = (updates.updated(part, key, value, how) for part, value in pairs)
    return joined(real, imag)


for _function, _place in (
    *((creation.zeros, 1), (creation.ones, 1), (creation.empty, 1)),
    *((creation.zeros_like, 1), (creation.ones_like, 1), (creation.empty_like, 1)),
    *((matrices.eye, None), (matrices.identity, 1)),
):
    creation_of_zeros(_function, _place)
