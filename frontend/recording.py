"""
Recording: operations on Tensors are kept as operations of the graph dialect, in a block, and the user's lines
with them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Generator, Hashable, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from types import TracebackType
from typing import Any, NamedTuple, Self, TypeGuard, cast

import numpy as np
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, LocationAttr, StringAttr, TensorType
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from ..dialects import graph
from ..dialects.dtypes import element_type, has_element_type
from ..dialects.graph.base import GraphOp, evaluated
from ..dialects.int64 import is_int64
from ..dialects.late_copy import ArrayChanged
from ..dialects.resources import ElementsAttr, Loan, is_changed, tensor_elements
from ..dialects.shaped import dense_tensor
from ..errors import StepwellError
from ..runtime.in_threads import in_threads
from .active import active
from .array_memory import check_memory
from .arrays import as_array, is_array
from .call_site import CallSites, Place, call_site_text, name_of
from .promotion import (
    Scalar,
    common_float_dtype,
    default_dtype,
    is_scalar,
    require_supported,
    result_dtype,
    scalar_array,
    weak_scalar,
)
from .tensor import ARGUMENT, Tensor, TensorLike

_limit: ContextVar[int | None] = ContextVar("_limit", default=None)
_records_constants: ContextVar[bool] = ContextVar("_records_constants", default=False)


_WORTH_THREADS = 1 << 20
"""Bytes that take longer to look at than a thread takes to start."""


class TooLarge(StepwellError):
    """An array that `evaluating_at_most` does not let come into being."""


class _Captured(NamedTuple):
    """The elements of a constant, what they were made of in which dtype, and what that is called."""

    elements: ElementsAttr
    value: object
    dtype: np.dtype
    name: str


class Recording:
    """Operations in a block. Those made by `record` go to the innermost one that is entered in the thread."""

    def __init__(self, loan: Loan | None = None) -> None:
        """Arrays that are captured are kept as `loan` says, by default as copies."""
        self.block = Block()
        self._loan = loan
        # By identity and dtype; the object is kept so that its identity is not given to another.
        self._constants: dict[tuple[int, np.dtype], tuple[object, Tensor]] = {}
        self._scalars: dict[tuple[bytes, np.dtype], Tensor] = {}
        self._call_sites = CallSites(_location)
        self._verified: set[Hashable] = set()
        """what operations that were verified are"""
        self.callbacks: list[object] = []
        """What is to be called with values: see `debugging.py`."""
        self.keeps_values = True
        """Whether values of it can be results of the program."""
        self.is_checked_later = False
        """Whether `check_captured` will be called, which copies arrays that were captured before."""
        self._captured: list[_Captured] = []

    def __enter__(self) -> Self:
        active.recordings.append(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        active.recordings.pop()

    def new_value(self, shape: Sequence[int], dtype: np.dtype, hint: str) -> Tensor:
        """A value from outside: a new argument of the block."""
        type_ = dense_tensor(element_type(dtype), shape)
        value = self.block.insert_arg(type_, len(self.block.args))
        value.name_hint = valid_hint(hint)
        tensor = Tensor(value, self)
        tensor.shared = ARGUMENT
        return tensor

    def sees(self, other: object) -> bool:
        """Whether what is recorded here may use the values of another recording."""
        return other is self

    def location(self) -> LocationAttr | None:
        """The place of what is recorded now: the user's line."""
        return self._call_sites()

    def hint_of(self, value: object) -> str | None:
        """What the user calls an array."""
        return name_of(value)

    def array(self, value: Any, dtype: np.dtype | None = None) -> Tensor:
        """An array the function has captured, converted to `dtype`: a constant, one for each object."""
        key = (id(value), dtype or np.dtype(np.void))
        known = self._constants.get(key)
        if known is None:
            hint = self.hint_of(value) or "constant"
            array = as_array(value, f"'{hint}'")
            array = array if dtype is None else array.astype(dtype, copy=False)
            tensor = self._constant(array, hint) if array.ndim else self.scalar(array)
            known = self._constants[key] = (value, tensor)
            if array.ndim and isinstance(op := tensor.value.owner, graph.ConstantOp):
                self._captured.append(_Captured(op.value, value, tensor.dtype, valid_hint(hint)))
        return known[1]

    def check_captured(self) -> None:
        """
        Copy the arrays that are captured, unless they are: they may change then.

        Raises StepwellError for one that has been changed since it was captured.
        """
        arrays = [as_array(one.value, "a captured array") for one in self._captured]
        is_much = sum(array.nbytes for array in arrays) >= _WORTH_THREADS
        pairs = [*zip(self._captured, arrays, strict=True)]
        changed = in_threads(_is_changed, pairs) if is_much else [*map(_is_changed, pairs)]
        for one, is_other in zip(self._captured, changed, strict=True):
            if is_other:
                raise ArrayChanged(one.name)
        # What is captured from now on, as in results, is copied at once.
        self.is_checked_later = False

    def scalar(self, array: np.ndarray) -> Tensor:
        """A number as a constant without axes, one for each value."""
        key = (array.tobytes(), array.dtype)
        tensor = self._scalars.get(key)
        if tensor is None:
            tensor = self._scalars[key] = self._constant(array, _number_hint(array))
        return tensor

    def _constant(self, array: np.ndarray, hint: str) -> Tensor:
        hint = valid_hint(hint)
        value = tensor_elements(array, hint, self._loan, copies_later=self.is_checked_later)
        (tensor,) = self.record(graph.ConstantOp, value)
        tensor.value.name_hint = hint
        return tensor

    def record(
        self, make: Callable[..., Operation], *args: Any, **kwargs: Any
    ) -> tuple[Tensor, ...]:
        """Append the operation `make(...)` makes, checked, with the user's line as its location."""
        try:
            op = make(*args, **kwargs)
            self._verify(op)
        except VerifyException as error:
            name = getattr(make, "name", "graph operation").removeprefix("graph.")
            raise StepwellError(
                _in_words_of_python(f"in {name}: {error}"), where=call_site_text()
            ) from error
        for result in op.results:
            _check_size(result)
        location = self.location()
        if location is not None:
            op.location = location
        self.block.add_op(op)
        for result in op.results:
            result.name_hint = op.name.rpartition(".")[2]
        return tuple(Tensor(result, self) for result in op.results)

    def _verify(self, op: Operation) -> None:
        """
        Verify an operation, unless one of the same kind, types and properties was: that is all that it depends on, and
        of elements on their type.
        """
        if op.regions:
            op.verify_()
            return
        types = [value.type for value in (*op.operands, *op.results)]
        properties = [
            (name, cast(Any, value).type if isinstance(value, ElementsAttr) else value)
            for name, value in op.properties.items()
        ]
        about = (type(op), len(op.operands), tuple(types), tuple(properties))
        if about not in self._verified:
            op.verify_()
            self._verified.add(about)


class EagerRecording(Recording):
    """
    Operations that are evaluated at once, on NumPy arrays, by their reference semantics.

    This is what Stepwell's functions do outside of a traced function.
    """

    def __init__(self) -> None:
        super().__init__()
        self._values: dict[SSAValue, np.ndarray] = {}

    def _verify(self, op: Operation) -> None:
        op.verify_()  # few are recorded here at a time

    def array(self, value: Any, dtype: np.dtype | None = None) -> Tensor:
        array = as_array(value, "an operand")
        return self._constant(array if dtype is None else array.astype(dtype, copy=False), "")

    def _constant(self, array: np.ndarray, hint: str) -> Tensor:
        tensor = self.new_value(array.shape, array.dtype, "arg")
        self._values[tensor.value] = array
        return tensor

    def record(
        self, make: Callable[..., Operation], *args: Any, **kwargs: Any
    ) -> tuple[Tensor, ...]:
        results = super().record(make, *args, **kwargs)
        op = self.block.last_op
        assert isinstance(op, GraphOp)
        for result in results:
            _check_memory(result)
        arrays = evaluated(op, *(self._values[operand] for operand in op.operands))
        self._values.update(zip(op.results, arrays, strict=True))
        return results

    def value(self, tensor: Tensor) -> np.ndarray:
        """The elements, as a new array."""
        return np.array(self._values[tensor.value], order="C")


@contextmanager
def recording_constants() -> Generator[None]:
    """Let functions on arrays alone be recorded inside, where else they are computed at once."""
    token = _records_constants.set(True)
    try:
        yield
    finally:
        _records_constants.reset(token)


def records_constants() -> bool:
    """Whether functions on arrays alone are recorded now."""
    return _records_constants.get()


@contextmanager
def evaluating_at_most(limit: int) -> Generator[None]:
    """
    Let functions on arrays alone be computed inside, unless that makes an array of more bytes than `limit`:
    then TooLarge is raised.
    """
    token, outer = _limit.set(limit), _records_constants.set(False)
    try:
        yield
    finally:
        _limit.reset(token)
        _records_constants.reset(outer)


def _location(place: Place) -> FileLineColLoc:
    filename, line, column = place
    return FileLineColLoc(StringAttr(filename), IntAttr(line), IntAttr(column))


def _is_changed(captured: tuple[_Captured, np.ndarray]) -> bool:
    """Whether an array does not hold the elements any more of which a constant was made."""
    one, array = captured
    return is_changed(one.elements, array.astype(one.dtype, copy=False))


_MOST_AXES = 64
"""Of an array of NumPy, its `NPY_MAXDIMS`."""


def _check_size(result: SSAValue) -> None:
    """Raises StepwellError for a tensor that is no array of NumPy's, which counts the bytes of an empty one by its other extents."""
    shape = cast("TensorType[Attribute]", result.type).get_shape()
    if not is_int64(math.prod(filter(None, shape)) * 8):
        raise StepwellError(
            f"found a result of shape {list(shape)}, expected fewer elements than 64 bits can address; "
            "mend the shapes",
            where=call_site_text(),
        )
    if len(shape) > _MOST_AXES:
        raise StepwellError(
            f"found a result of {len(shape)} axes, expected at most {_MOST_AXES}, as in NumPy; join some of them",
            where=call_site_text(),
        )


def _check_memory(tensor: Tensor) -> None:
    """Raises StepwellError when an array of the tensor's shape would be too large to be made."""
    needed = tensor.size * tensor.dtype.itemsize
    limit = _limit.get()
    if limit is not None and needed > limit:
        raise TooLarge(f"found an array of {needed} bytes, expected at most {limit}")
    check_memory(tensor.shape, tensor.dtype, "an array")


def active_recording() -> Recording | None:
    """What operations are recorded in now, or None outside of traced functions."""
    return cast("Recording", active.recordings[-1]) if active.recordings else None


def _required_recording() -> Recording:
    recording = active_recording()
    if recording is None:
        raise StepwellError(
            "found a tensor outside of a traced function, expected one that is being traced; return the tensor "
            "from its function and use the array that a call gives"
        )
    return recording


def record_all(make: Callable[..., Operation], *args: Any, **kwargs: Any) -> tuple[Tensor, ...]:
    """
    Record the operation `make(*args, **kwargs)` makes, where Tensors, also in lists, stand for values.

    Raises StepwellError, at the user's line, for operands the operation is not defined for, and for a
    Tensor of another recording.
    """
    recording = _required_recording()
    return recording.record(make, *(_unwrapped(arg, recording) for arg in args), **kwargs)


def record(make: Callable[..., Operation], *args: Any, **kwargs: Any) -> Tensor:
    """`record_all` for an operation with one result."""
    (result,) = record_all(make, *args, **kwargs)
    return result


def _unwrapped(arg: Any, recording: Recording) -> Any:
    if isinstance(arg, Tensor):
        if not recording.sees(arg.recording):
            raise StepwellError(
                f"found {arg!r} of another traced function, expected a value of this one; pass it as an "
                "argument, or return it",
                where=call_site_text(),
            )
        arg.check_current()
        return arg.value
    if isinstance(arg, list):
        return [_unwrapped(item, recording) for item in cast("list[Any]", arg)]
    return arg


def as_tensor(value: TensorLike, dtype: np.dtype | None = None) -> Tensor:
    """
    The operand `value` as a Tensor of the active recording; arrays and numbers become `dtype`, Tensors stay.

    Raises StepwellError for what is no tensor, array or number.
    """
    recording = _required_recording()
    if isinstance(value, Tensor):
        value.check_current()
        return value
    if is_scalar(value):
        return recording.scalar(scalar_array(value, dtype or default_dtype(value)))
    if isinstance(value, list | tuple):
        return recording.array(_array_of_list(cast("Sequence[Any]", value)), dtype)
    if is_array(value):
        return recording.array(value, dtype)
    raise StepwellError(
        f"found a {type(value).__name__} as an operand, expected a tensor, an array or a number; "
        + ("ask `x is None` before" if value is None else "convert it to a NumPy array")
    )


def _array_of_list(value: Sequence[Any]) -> np.ndarray:
    try:
        array = np.asarray(value)
    except ValueError:
        array = None
    if array is None or not has_element_type(array.dtype):
        raise StepwellError(
            f"found the {type(value).__name__} {value!r:.60} as an operand, expected numbers in rows of equal "
            "lengths; join tensors with stepwell.stack or stepwell.concatenate"
        )
    return array


def dtype_of(value: TensorLike) -> np.dtype:
    """The dtype `value` has as an operand by itself."""
    if is_scalar(value):
        return default_dtype(value)
    dtype: Any = getattr(value, "dtype", None)
    if _is_dtype(dtype):
        native = dtype if dtype.isnative else dtype.newbyteorder("=")
        return require_supported(native, "an operand")
    return as_tensor(value).dtype


def _is_dtype(value: Any) -> TypeGuard[np.dtype]:
    return isinstance(value, np.dtype)


def promoted(*values: TensorLike, to: Callable[[np.dtype], np.dtype] | None = None) -> list[Tensor]:
    """
    The operands in the dtype they have in common, by NumPy's promotion, or in what `to` makes of it.

    Raises StepwellError when Stepwell does not have that dtype.
    """
    common = promoted_dtype(*values)
    return converted(values, to(common) if to else common)


def promoted_dtype(*values: TensorLike) -> np.dtype:
    """The dtype that operands have in common, by NumPy's promotion."""
    return result_dtype([_promotes_as(value) for value in values])


def _promotes_as(value: TensorLike) -> np.dtype | Scalar:
    if isinstance(value, Tensor) and value.weak:
        return weak_scalar(value.dtype)
    return value if is_scalar(value) else dtype_of(value)


def promoted_to_floats(*values: TensorLike) -> list[Tensor]:
    """The operands in the dtype in which a function of real numbers is computed of them."""
    common = common_float_dtype([_promotes_as(value) for value in values])
    return converted(values, common)


def converted(values: Sequence[TensorLike], dtype: np.dtype) -> list[Tensor]:
    """The operands in this dtype."""
    return [cast_to(as_tensor(value, dtype), dtype) for value in values]


def cast_to(tensor: Tensor, dtype: np.dtype) -> Tensor:
    """The tensor in another dtype; itself when it has that one."""
    if tensor.dtype == dtype:
        return tensor
    return record(graph.CastOp, tensor, element_type(dtype))


_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_$.-]")


def valid_hint(name: str) -> str:
    """
    `name` as the IR can print it. `x_1` becomes `x.1`: the printer numbers equal names with such endings.
    """
    name = re.sub(r"_(\d+)$", r".\1", _NOT_IN_A_NAME.sub("_", name))
    return name if name and not name[0].isdigit() and name[0] not in "$.-" else f"v{name}"


def _number_hint(array: np.ndarray) -> str:
    """`c2` for 2, `c0.5` for 0.5, `cm1` for -1."""
    number = array.item()
    text = str(int(number)) if number == number // 1 and abs(number) < 1e6 else f"{number:.4g}"
    return "c" + text.replace("-", "m").replace("+", "")


def _in_words_of_python(message: str) -> str:
    return (
        message.replace("graph.cast", ".astype").replace("graph.ne", "!=").replace("graph.mul", "*")
    )
