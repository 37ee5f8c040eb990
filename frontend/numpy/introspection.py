"""What is asked about arrays and dtypes, which is known while tracing; NumPy's constants and dtypes by its names."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import StepwellError
from ..complex_tensor import Complex
from ..promotion import is_scalar, result_dtype
from ..recording import dtype_of
from ..tensor import Tensor, TensorLike
from .creation import diag_indices, tril_indices, triu_indices
from .manipulation import broadcast_shapes

CONSTANTS: dict[str, Any] = {
    "e": np.e,
    "euler_gamma": np.euler_gamma,
    "inf": np.inf,
    "nan": np.nan,
    "newaxis": None,
    "pi": np.pi,
}

DTYPES: dict[str, Any] = {
    name: getattr(np, name)
    for name in (
        "bool_",
        *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("float16", "float32", "float64", "complex64", "complex128", "csingle", "cdouble"),
        *(
            "intp",
            "uintp",
            "int_",
            "uint",
            "long",
            "ulong",
            "longlong",
            "ulonglong",
            "intc",
            "uintc",
        ),
        *("short", "ushort", "byte", "ubyte", "half", "single", "double", "True_", "False_"),
        *("dtype", "iinfo", "finfo", "floating", "integer", "signedinteger", "unsignedinteger"),
        *("number", "inexact", "generic", "ndarray", "complexfloating"),
        # What is written with brackets, and is known while tracing.
        *("s_", "index_exp", "mgrid", "ogrid", "ndindex"),
    )
} | {"bool": np.bool_}


def shape(x: TensorLike) -> tuple[int, ...]:
    """
    The extents of the axes.

    >>> sw.shape([[1, 2, 3], [4, 5, 6]])
    (2, 3)
    """
    return tuple(x.shape) if isinstance(x, Tensor | Complex) else np.shape(x)


def ndim(x: TensorLike) -> int:
    """
    The number of axes.

    >>> sw.ndim([[1, 2], [3, 4]])
    2
    """
    return len(shape(x))


def size(x: TensorLike, axis: int | None = None) -> int:
    """
    The number of elements, or the extent of an axis.

    >>> sw.size([[1, 2, 3], [4, 5, 6]])
    6
    """
    extents = shape(x)
    return int(np.prod(extents, dtype=np.int64)) if axis is None else extents[axis]


def result_type(*operands: Any) -> np.dtype:
    """
    The dtype that arrays, dtypes and Python numbers have in common.

    >>> sw.result_type(np.int32, np.float32)
    dtype('float64')
    """
    return result_dtype(
        [
            one if is_scalar(one) else np.dtype(one) if _names_dtype(one) else dtype_of(one)
            for one in operands
        ]
    )


def _names_dtype(value: Any) -> bool:
    return isinstance(value, np.dtype | type | str)


def isscalar(x: Any) -> bool:
    """
    Whether `x` is a number by itself: no traced value is.

    >>> sw.isscalar(3.0), sw.isscalar(np.ones(1))
    (True, False)
    """
    return not isinstance(x, Tensor | Complex) and np.isscalar(x)


def tril_indices_from(arr: TensorLike, /, k: int = 0) -> Any:
    """
    Where the elements on and below a diagonal of a matrix are: rows and columns.

    >>> sw.tril_indices_from(np.zeros((2, 2)))
    (array([0, 1, 1]), array([0, 0, 1]))
    """
    rows, columns = _matrix_shape(arr)
    return tril_indices(rows, k, columns)


def triu_indices_from(arr: TensorLike, /, k: int = 0) -> Any:
    """
    Where the elements on and above a diagonal of a matrix are: rows and columns.

    >>> sw.triu_indices_from(np.zeros((2, 2)))
    (array([0, 0, 1]), array([0, 1, 1]))
    """
    rows, columns = _matrix_shape(arr)
    return triu_indices(rows, k, columns)


def diag_indices_from(arr: TensorLike, /) -> Any:
    """
    Where the elements of the diagonal of an array of equal extents are.

    Raises StepwellError for an array of one axis, or of extents that differ.

    >>> sw.diag_indices_from(np.zeros((2, 2)))
    (array([0, 1]), array([0, 1]))
    """
    extents = shape(arr)
    if len(extents) < 2 or len({*extents}) != 1:
        raise StepwellError(
            f"found shape {list(extents)}, expected two axes or more of equal extents; cut a square"
        )
    return diag_indices(extents[0], len(extents))


def _matrix_shape(arr: TensorLike) -> tuple[int, ...]:
    extents = shape(arr)
    if len(extents) != 2:
        raise StepwellError(
            f"found shape {list(extents)}, expected a matrix; index the others away"
        )
    return extents


def iscomplexobj(x: Any) -> bool:
    """
    Whether the dtype is complex.

    >>> sw.iscomplexobj(1 + 2j)
    True
    """
    return isinstance(x, Complex) or (not isinstance(x, Tensor) and np.iscomplexobj(x))


def isrealobj(x: Any) -> bool:
    """
    Whether the dtype is not complex.

    >>> sw.isrealobj([1.0, 2.0])
    True
    """
    return not iscomplexobj(x)


def iterable(x: Any) -> bool:
    """
    Whether `x` can be iterated over: a traced value by its first axis.

    >>> sw.iterable([1, 2]), sw.iterable(3)
    (True, False)
    """
    return ndim(x) > 0 if isinstance(x, Tensor | Complex) else bool(np.iterable(x))


FUNCTIONS: dict[str, Any] = {
    "broadcast_shapes": broadcast_shapes,
    "diag_indices_from": diag_indices_from,
    "tril_indices_from": tril_indices_from,
    "triu_indices_from": triu_indices_from,
    "can_cast": np.can_cast,
    "isdtype": getattr(np, "isdtype", None),
    "iscomplexobj": iscomplexobj,
    "isrealobj": isrealobj,
    "isscalar": isscalar,
    "issubdtype": np.issubdtype,
    "iterable": iterable,
    "ndim": ndim,
    "promote_types": np.promote_types,
    "result_type": result_type,
    "shape": shape,
    "size": size,
}
"""Public functions that give Python's objects, not arrays. Those of dtypes alone are NumPy's own."""
