"""Arrays made of nothing: filled, counting, grids and windows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, cast

import numpy as np

from ...dialects import graph
from ...errors import StepwellError
from ..promotion import division_dtype, dtype_named
from ..recording import as_tensor, cast_to, promoted, record
from ..tensor import Tensor, TensorLike
from ..traceable import creation, traceable
from .arguments import integers
from .counting import iota
from .elementwise import floor, where
from .examples import with_example
from .joining import stack
from .manipulation import broadcast_arrays, broadcast_to, moveaxis, reshape

# Filled.


def _filled(shape: Any, value: TensorLike, dtype: Any) -> Tensor:
    tensor = as_tensor(value)
    if dtype is not None:
        tensor = cast_to(tensor, dtype_named(dtype))
    extents = integers(shape, "shape")
    if min(extents, default=0) < 0:
        raise StepwellError(f"found shape {list(extents)}, expected extents of at least 0; mend it")
    return broadcast_to(tensor, extents)


@creation
def full(shape: int | Sequence[int], fill_value: TensorLike, dtype: Any = None) -> Tensor:
    """
    An array of `shape` full of a value, which may be an array that broadcasts.

    The dtype is that of the value unless it is given.

    >>> sw.full((2, 2), [1, 7])
    array([[1, 7],
           [1, 7]])
    """
    return _filled(shape, fill_value, dtype)


@creation
def zeros(shape: int | Sequence[int], dtype: Any = float) -> Tensor:
    """
    An array of `shape` of zeros.

    float64 unless `dtype` says otherwise, as in NumPy.

    >>> sw.zeros((2, 2), np.int32)
    array([[0, 0],
           [0, 0]], dtype=int32)
    """
    return _filled(shape, np.zeros((), dtype_named(dtype)), None)


@creation
def ones(shape: int | Sequence[int], dtype: Any = float) -> Tensor:
    """
    An array of `shape` of ones.

    float64 unless `dtype` says otherwise, as in NumPy.

    >>> sw.ones((2, 2))
    array([[1., 1.],
           [1., 1.]])
    """
    return _filled(shape, np.ones((), dtype_named(dtype)), None)


@creation
def empty(shape: int | Sequence[int], dtype: Any = float) -> Tensor:
    """
    An array of `shape`: zeros, as traced values have no elements that are left undefined.

    >>> sw.empty((2,), np.int32)
    array([0, 0], dtype=int32)
    """
    return _filled(shape, np.zeros((), dtype_named(dtype)), None)


def _like(x: Tensor, value: TensorLike, dtype: Any, shape: Any) -> Tensor:
    return _filled(
        x.shape if shape is None else shape, value, dtype if dtype is not None else x.dtype
    )


@traceable
def full_like(
    x: TensorLike, fill_value: TensorLike, /, dtype: Any = None, *, shape: Any = None
) -> Tensor:
    """
    An array full of a value, of the shape and dtype of `x` where these are not given.

    >>> sw.full_like([1.0, 2.0], 7)
    array([7., 7.])
    """
    return _like(as_tensor(x), fill_value, dtype, shape)


@traceable
def zeros_like(x: TensorLike, /, dtype: Any = None, *, shape: Any = None) -> Tensor:
    """
    Zeros, of the shape and dtype of `x` where these are not given.

    >>> sw.zeros_like([1.5, 2.5])
    array([0., 0.])
    """
    return _like(as_tensor(x), 0, dtype, shape)


@traceable
def ones_like(x: TensorLike, /, dtype: Any = None, *, shape: Any = None) -> Tensor:
    """
    Ones, of the shape and dtype of `x` where these are not given.

    >>> sw.ones_like([[1, 2], [3, 4]])
    array([[1, 1],
           [1, 1]])
    """
    return _like(as_tensor(x), 1, dtype, shape)


@traceable
def empty_like(x: TensorLike, /, dtype: Any = None, *, shape: Any = None) -> Tensor:
    """
    Zeros, of the shape and dtype of `x` where these are not given. See `empty`.

    >>> sw.empty_like([1, 2])
    array([0, 0])
    """
    return _like(as_tensor(x), 0, dtype, shape)


# Of what there is.


@traceable
def asarray(x: TensorLike, /, dtype: Any = None, *, copy: bool | None = None) -> Tensor:
    """
    A tensor, an array, a number or nested lists of these as one tensor, of a dtype if it is given. Traced values do not
    change, so that nothing is copied.

    >>> sw.asarray([1, 2], dtype=np.float32)
    array([1., 2.], dtype=float32)
    """
    tensor = _joined(x)
    return tensor if dtype is None else cast_to(tensor, dtype_named(dtype))


asanyarray = asfortranarray = asarray


@traceable
def ascontiguousarray(x: TensorLike, /, dtype: Any = None) -> Tensor:
    """
    As `asarray`, of at least one axis.

    >>> sw.ascontiguousarray(5)
    array([5])
    """
    tensor = asarray(x, dtype)
    return tensor if tensor.ndim else reshape(tensor, (1,))


@traceable
def array(x: TensorLike, /, dtype: Any = None, *, copy: bool | None = True) -> Tensor:
    """
    As `asarray`, but what it gives may be assigned into: NumPy copies here, and traced values do not change.

    >>> sw.array([1, 2.5])
    array([1. , 2.5])
    """
    return asarray(x, dtype).copy()


def _joined(value: Any) -> Tensor:
    """Lists that have Tensors in them, joined from the innermost on."""
    if not isinstance(value, list | tuple) or not _has_tensor(value):
        return as_tensor(value)
    parts = promoted(*(_joined(part) for part in cast("list[Any]", value)))
    return record(graph.ConcatOp, [record(graph.ExpandDimsOp, part, 0) for part in parts], 0)


def _has_tensor(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return any(map(_has_tensor, cast("list[Any]", value)))
    return isinstance(value, Tensor)


@traceable
def copy(x: TensorLike, /) -> Tensor:
    """
    `x` itself: traced values do not change.

    >>> sw.copy([1, 2])
    array([1, 2])
    """
    return as_tensor(x)


# Evenly spaced.


@creation
def linspace(
    start: TensorLike,
    stop: TensorLike,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    """
    `num` numbers from `start` to `stop`, evenly spaced along a new axis, without `stop` unless `endpoint`; with `retstep`
    also the distance. Either may be an array or traced.

    float64 of Python numbers and integers; the new axis is `axis` of the result.

    Raises StepwellError for a `num` below 0.

    >>> sw.linspace(0, 1, 5)
    array([0.  , 0.25, 0.5 , 0.75, 1.  ])
    """
    (count,) = integers(num, "num")
    if count < 0:
        raise StepwellError(f"found num {count} in linspace, expected at least 0; mend it")
    first, last = promoted(start, stop, to=division_dtype)
    first, last = broadcast_arrays(first, last)
    gaps = count - 1 if endpoint else count
    step = (last - first) / gaps if gaps > 0 else full_like(first, np.nan)
    along = reshape(iota(count, dtype=first.dtype), (count, *[1] * first.ndim))
    numbers = first + along * step if gaps > 0 else first + along * (last - first)
    if endpoint and count > 1:
        numbers = where(along == count - 1, last, numbers)
    target = None if dtype is None else dtype_named(dtype)
    if target is not None and target.kind in "iu":
        numbers = floor(numbers)
    numbers = moveaxis(numbers if target is None else cast_to(numbers, target), 0, axis)
    return (numbers, step) if retstep else numbers


@traceable
def meshgrid(
    *vectors: TensorLike, indexing: str = "xy", sparse: bool = False, copy: bool = True
) -> list[Tensor]:
    """
    The coordinates of the points of a grid, from the vectors of those along each axis. By "xy" the first two axes are in
    each other's place; `sparse` leaves axes of extent 1 along which nothing changes.

    Raises StepwellError for an `indexing` that is neither.

    >>> x, y = sw.meshgrid([1, 2, 3], [10, 20])
    >>> x + y
    array([[11, 12, 13],
           [21, 22, 23]])
    """
    if indexing not in ("xy", "ij"):
        raise StepwellError(f"found indexing {indexing!r:.20}, expected 'xy' or 'ij'; name one")
    rank = len(vectors)
    order = [1, 0, *range(2, rank)] if indexing == "xy" and rank > 1 else [*range(rank)]
    tensors = [reshape(vector, (-1,)) for vector in vectors]
    extents = [1] * rank
    for axis, tensor in zip(order, tensors, strict=True):
        extents[axis] = tensor.shape[0]
    spread = [
        reshape(tensor, [-1 if other == axis else 1 for other in range(rank)])
        for axis, tensor in zip(order, tensors, strict=True)
    ]
    return spread if sparse else [broadcast_to(each, extents) for each in spread]


@creation
def indices(dimensions: Sequence[int], dtype: Any = int, sparse: bool = False) -> Any:
    """
    The index of each element of an array of these extents along each axis, along a new first axis.

    The shape is (number of axes, *dimensions); `sparse` gives a tuple of arrays that broadcast to it.

    >>> sw.indices((2, 2))[0]
    array([[0, 0],
           [1, 1]])
    """
    extents = integers(dimensions, "dimensions")
    rank = len(extents)
    if sparse:
        return tuple(
            reshape(
                iota(extent, dtype=dtype), [-1 if other == axis else 1 for other in range(rank)]
            )
            for axis, extent in enumerate(extents)
        )
    if not rank:
        return _filled((0,), 0, dtype)
    return stack([iota(extents, axis, dtype) for axis in range(rank)])


@creation
def fromfunction(function: Callable[..., Any], shape: Sequence[int], *, dtype: Any = float) -> Any:
    """
    What a function gives for the indices of all elements of an array, an array of them for each axis.

    >>> sw.fromfunction(lambda i, j: i * 10 + j, (2, 3), dtype=int)
    array([[ 0,  1,  2],
           [10, 11, 12]])
    """
    extents = integers(shape, "shape")
    return as_tensor(function(*(iota(extents, axis, dtype) for axis in range(len(extents)))))


# What NumPy computes while tracing: its arguments are known, so the result is a constant.


def _constant(numpys: Callable[..., Any], text: str, call: str, printed: str) -> Callable[..., Any]:
    @wraps(numpys, assigned=("__name__", "__qualname__"))
    def make(*args: Any, **kwargs: Any) -> Any:
        try:
            found = numpys(*args, **kwargs)
        except (TypeError, ValueError) as error:
            raise StepwellError(
                f"found wrong arguments of {numpys.__name__} ({error}), expected NumPy's; mend them"
            ) from None
        if isinstance(found, tuple):
            return tuple(map(as_tensor, cast("tuple[Any, ...]", found)))
        return as_tensor(found)

    make.__doc__ = with_example(text, call, printed)
    make.__module__ = __name__
    return creation(make)


hanning = _constant(
    np.hanning,
    "The Hann window of so many points.",
    "sw.hanning(5)",
    "array([0. , 0.5, 1. , 0.5, 0. ])",
)
hamming = _constant(
    np.hamming,
    "The Hamming window of so many points.",
    "sw.hamming(5)",
    "array([0.08, 0.54, 1.  , 0.54, 0.08])",
)
bartlett = _constant(
    np.bartlett,
    "The triangular window of so many points.",
    "sw.bartlett(5)",
    "array([0. , 0.5, 1. , 0.5, 0. ])",
)
blackman = _constant(
    np.blackman,
    "The Blackman window of so many points.",
    "sw.blackman(5)[1:4]",
    "array([0.34, 1.  , 0.34])",
)
kaiser = _constant(
    np.kaiser,
    "The Kaiser window of so many points and a shape parameter beta.",
    "sw.kaiser(3, 2.0)",
    "array([0.4387, 1.    , 0.4387])",
)
logspace = _constant(
    np.logspace,
    "Numbers evenly spaced on a logarithmic scale, from exponent to exponent.",
    "sw.logspace(0, 3, 4)",
    "array([   1.,   10.,  100., 1000.])",
)
geomspace = _constant(
    np.geomspace,
    "Numbers in geometric progression, from the first to the last.",
    "sw.geomspace(1, 8, 4)",
    "array([1., 2., 4., 8.])",
)
tril_indices = _constant(
    np.tril_indices,
    "Where the elements on and below a diagonal are: rows and columns.",
    "sw.tril_indices(2)",
    "(array([0, 1, 1]), array([0, 0, 1]))",
)
triu_indices = _constant(
    np.triu_indices,
    "Where the elements on and above a diagonal are: rows and columns.",
    "sw.triu_indices(2)",
    "(array([0, 0, 1]), array([0, 1, 1]))",
)
mask_indices = _constant(
    np.mask_indices,
    "Where a matrix of n rows that NumPy's `mask_func`, such as numpy.triu, leaves is not zero: rows and columns.",
    "sw.mask_indices(2, np.triu)",
    "(array([0, 0, 1]), array([0, 1, 1]))",
)
diag_indices = _constant(
    np.diag_indices,
    "Where the elements of the diagonal of an array of equal extents are.",
    "sw.diag_indices(2)",
    "(array([0, 1]), array([0, 1]))",
)
