"""The standard's dtypes, which are NumPy's, and what is asked about them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import StepwellError
from ...frozen import frozen
from ..devices import CPU, check_device
from ..operators import call
from ..promotion import dtype_named, is_scalar, result_dtype
from ..recording import dtype_of
from ..tensor import Tensor, TensorLike
from .array import Array
from .calls import standard

_KINDS = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
    "real floating": ("float32", "float64"),
}
_WIDER = {
    "integral": ("signed integer", "unsigned integer"),
    "numeric": ("signed integer", "unsigned integer", "real floating"),
    "complex floating": (),
}

DTYPES = {name: np.dtype(name) for names in _KINDS.values() for name in names}
"""Those that are claimed. float16 and bfloat16, which the standard does not have, are taken too."""


@frozen
class FloatInfo:
    """What is known of a floating-point dtype, as Python's floats."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: np.dtype


@frozen
class IntegerInfo:
    """What is known of an integer dtype."""

    bits: int
    max: int
    min: int
    dtype: np.dtype


def _dtype_of(value: Any) -> np.dtype:
    return dtype_of(value) if isinstance(value, Array | Tensor | np.ndarray) else dtype_named(value)


def finfo(type: Any, /) -> FloatInfo:
    """The limits of a floating-point dtype, or of an array's."""
    dtype = _dtype_of(type)
    if dtype.kind != "f":
        raise StepwellError(f"found finfo of {dtype}, expected a floating-point dtype; use iinfo")
    found = np.finfo(dtype)
    return FloatInfo(
        found.bits,
        *map(float, (found.eps, found.max, found.min, found.smallest_normal)),
        dtype=dtype,
    )


def iinfo(type: Any, /) -> IntegerInfo:
    """The limits of an integer dtype, or of an array's."""
    dtype = _dtype_of(type)
    if dtype.kind not in "iu":
        raise StepwellError(f"found iinfo of {dtype}, expected an integer dtype; use finfo")
    found = np.iinfo(dtype)
    return IntegerInfo(found.bits, int(found.max), int(found.min), dtype)


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether a dtype is another, or of a kind, as "real floating", or one of several."""
    found = np.dtype(dtype)
    if isinstance(kind, tuple):
        return any(isdtype(found, one) for one in kind)  # pyright: ignore[reportUnknownVariableType]
    if not isinstance(kind, str):
        return found == np.dtype(kind)
    return found in dtypes(kind=kind).values()


def can_cast(from_: Any, to: Any, /) -> bool:
    """Whether every number of the first dtype, or of an array's, is one of the second, by NumPy's rules."""
    return np.can_cast(_dtype_of(from_), _dtype_of(to))


def result_type(*arrays_and_dtypes: Any) -> np.dtype:
    """The dtype that arrays, dtypes and Python numbers have in common."""
    return result_dtype([one if is_scalar(one) else _dtype_of(one) for one in arrays_and_dtypes])


@standard
def _converted(x: TensorLike, dtype: Any, /) -> Any:
    return call("astype", x, dtype)


def astype(
    x: TensorLike, dtype: Any, /, *, copy: bool = True, device: str | None = None
) -> TensorLike:
    """`x` in another dtype; itself where it has that already and `copy` is False."""
    check_device(device)
    return x if not copy and x.dtype == dtype_named(dtype) else _converted(x, dtype_named(dtype))


# What the namespace says about itself.


def dtypes(*, device: str | None = None, kind: Any = None) -> dict[str, np.dtype]:
    """The dtypes of a kind, or of several, by name."""
    check_device(device)
    if kind is None:
        return dict(DTYPES)
    if isinstance(kind, tuple):
        return {name: dtype for one in kind for name, dtype in dtypes(kind=one).items()}  # pyright: ignore[reportUnknownVariableType]
    if kind not in _KINDS and kind not in _WIDER:
        raise StepwellError(
            f"found the kind {kind!r:.40}, expected one of {', '.join((*_KINDS, *_WIDER))}; name one"
        )
    return {name: DTYPES[name] for one in _WIDER.get(kind, (kind,)) for name in _KINDS[one]}


class Info:
    """What `__array_namespace_info__` gives."""

    def capabilities(self) -> dict[str, Any]:
        """Arrays have masks and results whose shapes the elements say; traced values ask for `size=`, by other names."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> str:
        return CPU

    def default_dtypes(self, *, device: str | None = None) -> dict[str, np.dtype]:
        check_device(device)
        names = {"real floating": "float64", "integral": "int64", "indexing": "int64"}
        return {kind: DTYPES[name] for kind, name in names.items()}

    def devices(self) -> list[str]:
        return [CPU]

    dtypes = staticmethod(dtypes)


def info() -> Info:
    """The standard's questions about the namespace: its devices, dtypes and capabilities."""
    return Info()


info.__name__ = info.__qualname__ = "__array_namespace_info__"

FUNCTIONS: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (astype, can_cast, finfo, iinfo, info, isdtype, result_type)
}
