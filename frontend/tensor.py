"""The stand-in for an array in a traced function: `numpy.ndarray`'s operators and methods, no elements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from types import EllipsisType
from typing import Any, NoReturn, TypeAlias, cast

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue

from ..dialects.dtypes import numpy_dtype
from ..errors import StepwellError
from .active import is_recording
from .call_site import call_site_text
from .devices import CPU, check_device
from .numpy_dispatch import TracedArray
from .operators import call
from .tensor_messages import no_attribute, unusable

TensorLike: TypeAlias = Any
"""A Tensor, an array, a Python scalar, or a list of numbers."""


VIEW = "which NumPy has as a view of another array"
ARGUMENT = "an argument, which belongs to the caller"

MOST_PARTS = 64
"""How many parts Python may take a tensor apart into, in `x, y, z = points` or a loop that is unrolled."""


def is_basic(key: Any) -> bool:
    """Whether what a key names is a view in NumPy."""
    return all(isinstance(one, slice | int | EllipsisType | None) for one in _parts(key))


def _parts(key: Any) -> tuple[Any, ...]:
    return cast("tuple[Any, ...]", key) if isinstance(key, tuple) else (key,)


class Tensor(TracedArray):
    """
    A traced value: what will be an array when the compiled function runs.

    Operators, indexing and methods are those of `numpy.ndarray`, with its broadcasting and promotion;
    each records an operation. NumPy's functions, called on a Tensor, are Stepwell's of the same name.

    >>> sw.jit(lambda x: (x[::-1] + 1).sum(), opt="quick")(np.arange(3.0))  # x is a Tensor
    array(6.)
    """

    __slots__ = ("recording", "shared", "shows", "value", "weak")
    __array_priority__ = 1000

    def __init__(self, value: SSAValue, recording: object):
        self.value = value
        self.recording = recording
        """What its operation is recorded in."""
        self.shared: str | None = None
        """Why nothing is assigned into it: with whom an array in its place would share its elements."""
        self.shows: tuple[Tensor, SSAValue] | None = None
        """Of what NumPy has as a view: the tensor whose elements it shows, and the value that this had then."""
        self.weak = False
        """Whether it stands for a Python number, which takes the dtype of the arrays it meets: see `promotion.py`."""

    @property
    def type(self) -> TensorType[Attribute]:
        """The type of the value in the IR."""
        return cast("TensorType[Attribute]", self.value.type)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.type.get_shape()

    @shape.setter
    def shape(self, shape: Any) -> NoReturn:
        raise StepwellError(
            f"found an assignment to the shape of {self!r}, expected none: traced values do not change; write "
            f"x = x.reshape({shape!r:.60})",
            where=call_site_text(),
        )

    @property
    def dtype(self) -> np.dtype:
        return numpy_dtype(self.type.get_element_type())

    @dtype.setter
    def dtype(self, dtype: Any) -> NoReturn:
        raise StepwellError(
            f"found an assignment to the dtype of {self!r}, expected none: traced values do not change; write "
            "x = x.astype(dtype)",
            where=call_site_text(),
        )

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def device(self) -> str:
        """The array API's name of where the elements will be."""
        return CPU

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        # By its name: it stands above this module, and is loaded when a program asks for it.
        return import_module(".array_api.namespace", __package__).namespace(api_version)

    def to_device(self, device: str, /, *, stream: None = None) -> Tensor:
        """The tensor itself: there is one device."""
        check_device(device)
        return self

    @property
    def T(self) -> Tensor:
        """The axes in reverse order."""
        return call("transpose", self)

    def __repr__(self) -> str:
        return f"Tensor({self.dtype}{list(self.shape)})"

    def __len__(self) -> int:
        if not self.shape:
            raise self._unusable("len() of a tensor without axes")
        return self.shape[0]

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):  # asked for by Python and by libraries, which expect no advice
            raise AttributeError(name)
        raise AttributeError(no_attribute(name, [one for one in dir(Tensor) if one[0] != "_"]))

    def __str__(self) -> str:
        if not is_recording():
            return repr(self)
        return f"{self!r}, traced: it has no elements yet (stepwell.debug_print shows them)"

    def __format__(self, specification: str) -> str:
        if specification:
            raise self._unusable("a formatted tensor")
        return str(self)

    # What would need the elements.

    def _unusable(self, what: str) -> StepwellError:
        return unusable(repr(self), what, is_traced=is_recording())

    def __bool__(self) -> bool:
        raise self._unusable("a branch on a tensor")

    def __array__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise self._unusable("a tensor made into a NumPy array")

    def __iter__(self) -> Iterator[Tensor]:
        """The parts along the first axis, as `x, y, z = points` takes them; a long loop would be unrolled."""
        if not self.shape:
            raise self._unusable("a loop over a tensor without axes")
        if len(self) > MOST_PARTS:
            raise self._unusable("a long loop over a tensor")
        return iter(call("unstack", self))

    def __contains__(self, item: object) -> bool:
        raise self._unusable("'in' on a tensor")

    def __float__(self) -> float:
        raise self._unusable("float() of a tensor")

    def __int__(self) -> int:
        raise self._unusable("int() of a tensor")

    def __complex__(self) -> complex:
        raise self._unusable("complex() of a tensor")

    def __index__(self) -> int:
        raise self._unusable("a tensor used as a Python integer")

    def __hash__(self) -> int:
        raise self._unusable("the hash of a tensor")

    def __reduce__(self) -> NoReturn:
        raise self._unusable("a pickled tensor")

    def __copy__(self) -> Tensor:
        return self.copy()

    def __deepcopy__(self, memo: object) -> Tensor:
        return self.copy()

    def item(self, *args: int) -> NoReturn:
        raise self._unusable(".item() of a tensor")

    def tolist(self) -> NoReturn:
        raise self._unusable(".tolist() of a tensor")

    def __delitem__(self, key: Any) -> NoReturn:
        raise StepwellError(
            f"found a deletion of elements of {self!r}, expected none: traced values do not change; write "
            "x = stepwell.delete(x, indices, axis)",
            where=call_site_text(),
        )

    def __setitem__(self, key: Any, value: TensorLike) -> None:
        """
        From here on this name stands for a new value with these elements replaced. Values that were computed from the old
        one stay as they are; of views of it, which NumPy would change, there is no use any more.
        """
        if self.shared is not None:
            raise StepwellError(
                f"found an assignment into {self!r}, {self.shared}, expected a value that nothing else shows; write "
                "x = x.at[...].set(value), or copy it first: x = x.copy()",
                where=call_site_text(),
            )
        new: Tensor = call("updated", self, key, value, "none")
        if new.recording is not self.recording:
            raise StepwellError(
                f"found an assignment into {self!r}, which is from outside of this loop or branch; hand it in as state "
                "and return it",
                where=call_site_text(),
            )
        self.value = new.value

    def copy(self) -> Tensor:
        """The same value, which may be assigned into."""
        self.check_current()
        return Tensor(self.value, self.recording)

    def as_view_of(self, other: Tensor) -> Tensor:
        """This tensor, which NumPy has as a view of another one."""
        self.shared = VIEW
        self.shows = other.shows or (other, other.value)
        return self

    def check_current(self) -> None:
        """Raises StepwellError for a view of what has been assigned into since, where NumPy would show the new elements."""
        if self.shows is None or self.shows[0].value is self.shows[1]:
            return
        raise StepwellError(
            f"found a use of {self!r}, {VIEW}, which has been assigned into since, expected one before that; copy it "
            "first: y = x[...].copy()",
            where=call_site_text(),
        )

    def __pos__(self) -> Tensor:
        return self.copy()

    def __getitem__(self, key: Any) -> Tensor:
        part: Tensor = call("__getitem__", self, key)
        if is_basic(key):
            part.as_view_of(self)
            if not part.shape and EllipsisType not in map(type, _parts(key)):
                part.shows = None  # a number of NumPy's
        return part

    # NumPy's methods.

    def astype(self, dtype: Any, *, copy: bool = True) -> Tensor:
        return call("astype", self, dtype)

    def reshape(self, *shape: Any, order: str = "C") -> Tensor:
        return call("reshape", self, shape[0] if len(shape) == 1 else shape, order)

    def flatten(self, order: str = "C") -> Tensor:
        return call("ravel", self, order).copy()

    def ravel(self, order: str = "C") -> Tensor:
        return call("ravel", self, order)

    def transpose(self, *axes: Any) -> Tensor:
        if len(axes) == 1 and not isinstance(axes[0], int):
            axes = axes[0]
        return call("transpose", self, axes or None)

    def swapaxes(self, axis1: int, axis2: int) -> Tensor:
        return call("swapaxes", self, axis1, axis2)

    def squeeze(self, axis: int | Sequence[int] | None = None) -> Tensor:
        return call("squeeze", self, axis)

    def take(self, indices: TensorLike, axis: int | None = None) -> Tensor:
        return call("take", self, indices, axis)

    def clip(self, min: TensorLike = None, max: TensorLike = None) -> Tensor:
        return call("clip", self, min, max)

    def round(self, decimals: int = 0) -> Tensor:
        return call("round", self, decimals)

    def sum(self, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> Tensor:
        return call("sum", self, axis, dtype, keepdims=keepdims)

    def prod(self, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> Tensor:
        return call("prod", self, axis, dtype, keepdims=keepdims)

    def mean(self, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> Tensor:
        return call("mean", self, axis, dtype, keepdims=keepdims)

    def max(self, axis: Any = None, *, keepdims: bool = False) -> Tensor:
        return call("max", self, axis, keepdims=keepdims)

    def min(self, axis: Any = None, *, keepdims: bool = False) -> Tensor:
        return call("min", self, axis, keepdims=keepdims)

    def all(self, axis: Any = None, *, keepdims: bool = False) -> Tensor:
        return call("all", self, axis, keepdims=keepdims)

    def any(self, axis: Any = None, *, keepdims: bool = False) -> Tensor:
        return call("any", self, axis, keepdims=keepdims)

    def var(
        self, axis: Any = None, dtype: Any = None, *, ddof: float = 0, keepdims: bool = False
    ) -> Tensor:
        return call("var", self, axis, dtype, ddof=ddof, keepdims=keepdims)

    def std(
        self, axis: Any = None, dtype: Any = None, *, ddof: float = 0, keepdims: bool = False
    ) -> Tensor:
        return call("std", self, axis, dtype, ddof=ddof, keepdims=keepdims)

    def cumsum(self, axis: int | None = None, dtype: Any = None) -> Tensor:
        return call("cumsum", self, axis, dtype)

    def cumprod(self, axis: int | None = None, dtype: Any = None) -> Tensor:
        return call("cumprod", self, axis, dtype)

    def dot(self, other: TensorLike) -> Tensor:
        return call("dot", self, other)

    def argsort(self, axis: int | None = -1) -> Tensor:
        return call("argsort", self, axis)

    def repeat(self, repeats: int, axis: int | None = None) -> Tensor:
        return call("repeat", self, repeats, axis)

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
        return call("diagonal", self, offset, axis1, axis2)

    def trace(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
        return call("trace", self, offset, axis1, axis2)

    def nonzero(self, *, size: int | None = None) -> tuple[Tensor, ...]:
        return call("nonzero", self, size=size)

    def searchsorted(self, v: TensorLike, side: str = "left") -> Tensor:
        return call("searchsorted", self, v, side)

    def conj(self) -> Tensor:
        return self.copy()

    conjugate = conj

    @property
    def real(self) -> Tensor:
        return self.copy().as_view_of(self)

    @property
    def imag(self) -> Tensor:
        return call("zeros_like", self).as_view_of(self)

    @property
    def mT(self) -> Tensor:
        """The last two axes in each other's place."""
        return call("matrix_transpose", self)

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * self.itemsize

    def argmax(self, axis: int | None = None, *, keepdims: bool = False) -> Tensor:
        return call("argmax", self, axis, keepdims=keepdims)

    def argmin(self, axis: int | None = None, *, keepdims: bool = False) -> Tensor:
        return call("argmin", self, axis, keepdims=keepdims)
