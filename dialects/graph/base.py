"""The bases of every graph operation: registration, type checks, folding of constants, cost."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import cache
from math import isfinite
from typing import Any, ClassVar, TypeAlias, TypeVar, cast

import numpy as np
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    i1,
)
from xdsl.interfaces import HasCanonicalizationPatternsInterface, HasFolderInterface
from xdsl.ir import Attribute, Block, Dialect, Operation, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, traits_def
from xdsl.pattern_rewriter import RewritePattern
from xdsl.traits import ConstantLike, Pure
from xdsl.utils.exceptions import VerifyException

from ..by_position import by_position
from ..dtypes import (
    ELEMENT_TYPES,
    bit_width,
    is_element_type,
    is_float,
    is_float_dtype,
    is_narrow_float,
    numpy_dtype,
)
from ..interfaces import Array, HasCost, ReferenceSemantics
from ..resources import ElementsAttr, elements_to_numpy, tensor_elements
from ..shaped import Tensor, shape_of, tensor_type
from .shapes import element_count, is_compatible

Value: TypeAlias = SSAValue | Operation
"""What the constructors take for an operand."""

FLOATS: tuple[Attribute, ...] = tuple(t for t in ELEMENT_TYPES if is_float(t))
INTEGERS: tuple[Attribute, ...] = tuple(t for t in ELEMENT_TYPES if not is_float(t) and t != i1)
NUMBERS = FLOATS + INTEGERS
BITS = (*INTEGERS, i1)
EVERY = (*NUMBERS, i1)

FOLD_LIMIT = 1024
"""Constants of more elements than this, read or made, are not folded at compile time."""

OPERATIONS: list[type[Operation]] = []
"""Every graph operation but those of control flow, in order of definition."""

OpT = TypeVar("OpT", bound="GraphOp")


def graph_op(cls: type[OpT]) -> type[OpT]:
    """Class decorator: defines the operation and makes it part of the dialect."""
    definition = by_position(irdl_op_definition(cls))
    OPERATIONS.append(definition)
    return definition


class GraphDialect(Dialect):
    """The dialect: every operation defined by `graph_op` so far, and those that are given, of control flow."""

    @property
    def operations(self) -> Iterator[type[Operation]]:
        yield from OPERATIONS
        yield from super().operations


def constant_array(value: SSAValue) -> Array | None:
    """The elements when the value is a constant that is cheap to look at, else None."""
    if not _makes_constants(type(value.owner)):
        return None  # the most
    attr = ConstantLike.get_constant_value(value)
    if isinstance(attr, DenseIntOrFPElementsAttr):
        return elements_to_numpy(cast(ElementsAttr, attr))
    if (
        not isinstance(attr, DenseResourceAttr)
        or (element_count(shape_of(value)) or 0) > FOLD_LIMIT
    ):
        return None
    return elements_to_numpy(attr)


@cache
def _makes_constants(kind: type[Operation | Block]) -> bool:
    return issubclass(kind, Operation) and kind.has_trait(ConstantLike, value_if_unregistered=False)


def splat_number(value: SSAValue) -> Any:
    """The number every element of the constant equals, as a NumPy scalar, else None."""
    array = constant_array(value)
    if array is None or array.size == 0:
        return None
    first = array.reshape(-1)[0]
    # By bytes: 0.0 and -0.0 are different numbers here. A broadcast array has no strides.
    if any(array.strides) and array.tobytes() != first.tobytes() * array.size:
        return None
    return first


def _widened(array: Array) -> Array:
    """The elements in the dtype in which they are computed with."""
    is_narrow = is_float_dtype(array.dtype) and array.dtype.itemsize == 2
    return array.astype(np.float32) if is_narrow else array


def _rounded(array: Array, element: Attribute) -> Array:
    return array.astype(numpy_dtype(element)) if is_narrow_float(element) else array


class GraphOp(
    IRDLOperation,
    HasFolderInterface,
    HasCanonicalizationPatternsInterface,
    ReferenceSemantics,
    HasCost,
    ABC,
):
    """
    A pure operation on tensors with one common element type.

    On f16 and bf16 it is what it is on f32, with each element of the results rounded at the end.

    Operands and results are declared of any type and checked to be tensors in `verify_`, whose message
    stands at the operation and says what to do; a constraint would fail in the parser, after it.

    A subclass says what its result types are (`inferred_types`) and what it computes (`numpy`); the
    verifier, constant folding and the cost model follow from that.
    """

    ELEMENTS: ClassVar[tuple[Attribute, ...]] = EVERY
    """The element types the operands may have."""

    COMPUTES: ClassVar[bool] = True
    """False where elements of the results are elements of operands, converted at most, or come from none."""

    traits = traits_def(Pure())

    @abstractmethod
    def inferred_types(self) -> Sequence[Tensor]:
        """The result types that follow from operands and properties. Raises VerifyException."""

    # `*args: Any, **kwargs: Any` is how Python's types say "any parameters": an operation names its own.
    @abstractmethod
    def numpy(self, *args: Any, **kwargs: Any) -> Any:
        """What the operation computes, in NumPy: one array from its operands', or a tuple of them."""

    def reference(self, *arrays: Array) -> Array | tuple[Array, ...]:
        with np.errstate(all="ignore"):
            found = self.numpy(*map(_widened, arrays))
            results = cast("tuple[Array, ...]", found if isinstance(found, tuple) else (found,))
            rounded = tuple(
                _rounded(np.asarray(array), tensor_type(result).get_element_type())
                for array, result in zip(results, self.results, strict=True)
            )
        return rounded if isinstance(found, tuple) else rounded[0]

    def simplified(self) -> SSAValue | None:
        """
        An existing value that always equals the only result, or None.

        A value of another type is not used: it would have to be broadcast first.
        """
        return None

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        return ()

    # Verification.

    def verify_(self) -> None:
        verify_elements(self)
        inferred = self.inferred_types()
        if len(inferred) != len(self.results):
            raise VerifyException(
                f"found {len(self.results)} results, expected {len(inferred)}; name that many"
            )
        for result, expected in zip(self.results, inferred, strict=True):
            found = tensor_type(result)
            if found.get_element_type() != expected.get_element_type() or not is_compatible(
                found.get_shape(), expected.get_shape()
            ):
                raise VerifyException(
                    f"found result type {found}, expected {expected}; write the expected type"
                )

    def checked_operands(self) -> Sequence[SSAValue]:
        """The operands whose element types must be equal and among `ELEMENTS`."""
        return self.operands

    # Folding.

    def fold(self) -> Sequence[SSAValue | Attribute] | None:
        value = self.simplified()
        if value is not None and value.type == self.results[0].type:
            return (value,)
        return self._folded_constants()

    def _folded_constants(self) -> Sequence[Attribute] | None:
        arrays: list[Array] = []
        for operand in self.operands:
            array = constant_array(operand)
            if array is None:
                return None
            arrays.append(array)
        counts = [element_count(shape_of(result)) for result in self.results]
        if not arrays or any(count is None or count > FOLD_LIMIT for count in counts):
            return None
        if (self.flops() or 0) > FOLD_LIMIT * 64:
            return None
        results = evaluated(self, *arrays)
        return [tensor_elements(array) for array in results]

    # Cost.

    def flops(self) -> int | None:
        return element_count(shape_of(self.results[0]))

    def multiply_adds(self) -> int | None:
        return 0

    def bytes_moved(self) -> int | None:
        total = 0
        for value in (*self.operands, *self.results):
            type_ = tensor_type(value)
            count = element_count(type_.get_shape())
            if count is None:
                return None
            total += count * ((bit_width(type_.get_element_type()) + 7) // 8)
        return total


def evaluated(op: GraphOp, *arrays: Array) -> tuple[Array, ...]:
    """The results of `op` by its reference semantics, always as a tuple."""
    results = op.reference(*arrays)
    return results if isinstance(results, tuple) else (results,)


def verify_elements(op: GraphOp) -> None:
    """The operands' element types are equal and the operation is defined for them."""
    checked = op.checked_operands()
    if not checked:
        return
    types = [tensor_type(value).get_element_type() for value in checked]
    if any(type_ != types[0] for type_ in types):
        raise VerifyException(
            f"found element types {' and '.join(map(str, types))}, expected equal ones; "
            "cast an operand with graph.cast"
        )
    if types[0] not in op.ELEMENTS:
        raise VerifyException(
            f"found element type {types[0]}, expected one of {', '.join(map(str, op.ELEMENTS))}; "
            + ("cast the operand" if is_element_type(types[0]) else "use one of these")
        )


def verify_same_element(found: Attribute, expected: Attribute, what: str) -> None:
    if found != expected:
        raise VerifyException(
            f"found {what} of type {found}, expected {expected}; write a number of that type"
        )


def number_attr(value: Any, type_: Attribute) -> FloatAttr | IntegerAttr:
    """
    A Python or NumPy number as an attribute of an element type.

    Raises VerifyException for a number the type cannot hold.
    """
    if is_float(type_):
        return FloatAttr(float(value), type_)  # pyright: ignore[reportArgumentType, reportCallIssue]
    if not isfinite(value) or int(value) != value or not _fits(int(value), type_):
        raise VerifyException(
            f"found number {value}, expected one that {type_} can hold; cast first"
        )
    return IntegerAttr(int(value), cast(IntegerType, type_))


def _fits(value: int, type_: Attribute) -> bool:
    if type_ == i1:
        return value in (0, 1)
    info = np.iinfo(numpy_dtype(type_))
    return int(info.min) <= value <= int(info.max)


def number_of(attr: FloatAttr | IntegerAttr) -> Any:
    """The attribute's number as a NumPy scalar of its type's dtype."""
    dtype = numpy_dtype(attr.type)
    value = attr.value.data
    return dtype.type(bool(value) if dtype == np.bool_ else value)
