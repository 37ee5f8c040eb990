"""The array of the standard: elements in memory, whose functions are compiled."""

from __future__ import annotations

import operator
from typing import Any, cast

import numpy as np

from ...errors import StepwellError
from ..array_operators import ArrayOperators
from ..devices import CPU, check_device
from ..operators import call

PREFIX = "array_api."
"""Of the names by which the functions of this namespace are entered among operators."""


class Array(ArrayOperators):
    """
    An array of the standard, made by `asarray` and the other creation functions: a NumPy array, `elements`, with which it
    shares memory.

    Its operators are functions of the namespace, compiled for each shape. Elements are read and written as NumPy does, in
    place; only a key with arrays of indices is compiled. NumPy, and all that takes DLPack, reads it without a copy.
    """

    __slots__ = ("__weakref__", "elements")

    def __init__(self, elements: np.ndarray):
        self.elements = elements

    @property
    def dtype(self) -> np.dtype:
        return self.elements.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return self.elements.shape

    @property
    def ndim(self) -> int:
        return self.elements.ndim

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.elements.size

    @property
    def device(self) -> str:
        return CPU

    @property
    def T(self) -> Array:
        """The two axes of a matrix in each other's place."""
        if self.ndim != 2:
            raise StepwellError(
                f"found .T of an array of {self.ndim} axes, expected 2; use matrix_transpose or permute_dims"
            )
        return Array(self.elements.T)

    @property
    def mT(self) -> Array:
        """The last two axes in each other's place."""
        return call(PREFIX + "matrix_transpose", self)

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        return call(PREFIX + "namespace", api_version)

    def to_device(self, device: str, /, *, stream: None = None) -> Array:
        """The array itself: there is one device."""
        check_device(device)
        if stream is not None:
            raise StepwellError(f"found stream {stream!r:.20}, expected None; a CPU has no streams")
        return self

    def __dlpack__(
        self,
        *,
        stream: None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        return self.elements.__dlpack__(
            stream=stream, max_version=max_version, dl_device=cast("Any", dl_device), copy=copy
        )

    def __dlpack_device__(self) -> tuple[int, int]:
        return cast("tuple[int, int]", self.elements.__dlpack_device__())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(self.elements, dtype=dtype, copy=copy)

    __array_priority__ = 1000

    def __repr__(self) -> str:
        return f"Array({np.array2string(self.elements, separator=', ', prefix='Array(')}, dtype={self.dtype})"

    def __len__(self) -> int:
        return len(self.elements)

    def __bool__(self) -> bool:
        return bool(self._only("bool"))

    def __int__(self) -> int:
        return int(self._only("int"))

    def __float__(self) -> float:
        return float(self._only("float"))

    def __complex__(self) -> complex:
        return complex(self._only("complex"))

    def __index__(self) -> int:
        return operator.index(self._only("an index"))

    def _only(self, what: str) -> Any:
        if self.ndim:
            raise TypeError(
                f"found {what} of an array of shape {list(self.shape)}, expected one without axes; name an element"
            )
        return self.elements.item()

    def __getitem__(self, key: Any) -> Array:
        parts = cast("tuple[Any, ...]", key) if isinstance(key, tuple) else (key,)
        if any(_is_indices(part) for part in parts):
            return call(PREFIX + "__getitem__", self, key)
        return Array(np.asarray(self.elements[tuple(map(_bare, parts))]))

    def __setitem__(self, key: Any, value: Any) -> None:
        parts = cast("tuple[Any, ...]", key) if isinstance(key, tuple) else (key,)
        self.elements[tuple(map(_bare, parts))] = _bare(value)

    def _applied(self, name: str, *operands: Any) -> Any:
        return call(PREFIX + name, *operands)


def _is_indices(part: Any) -> bool:
    return isinstance(part, Array | np.ndarray) and cast("Any", part).dtype.kind != "b"


def _bare(part: Any) -> Any:
    return part.elements if isinstance(part, Array) else part
