"""
The facts of a kernel. They are frozen and hold no names and no operations: two kernels that differ in names,
locations or the order of unrelated operations have equal facts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from enum import Enum
from functools import cache
from math import isnan, prod
from typing import Any

from xdsl.dialects import arith, memref, tensor
from xdsl.dialects.builtin import FloatAttr, IndexType, IntegerAttr
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects.dtypes import bit_width
from ...dialects.shaped import Buffer, Tensor, memref_type, tensor_type
from ...frozen import frozen, frozen_in_types
from ...lazy import cached_property
from ..constants import constant_bytes
from ..neighbours import may_be_held


@frozen
class Symbol:
    """An extent that is known at run time: the number of the index argument that holds it, and its bounds."""

    argument: int
    least: int = 0
    greatest: int | None = None


Extent = int | Symbol | None
"""A number, a symbol, or None where nothing is known. An unknown extent is never written as 0."""


class Role(Enum):
    """How the iterations of an axis relate to each other."""

    PARALLEL = "parallel"
    REDUCTION = "reduction"
    SERIAL = "serial"


class Home(Enum):
    """Where a buffer's elements come from or go to."""

    ARGUMENT = "argument"
    RESULT = "result"
    CONSTANT = "constant"
    SCRATCH = "scratch"


@frozen
class Axis:
    """One axis of an iteration space: how many iterations, and how they relate."""

    extent: Extent
    role: Role


@frozen_in_types
class Subscript:
    """`constant + sum(coefficients[a] * iteration[a])` over the axes of the statement, outermost first."""

    coefficients: tuple[int, ...]
    constant: int = 0


@frozen
class BufferFacts:
    """
    A buffer: its shape and strides in elements, its element type, where it lives.

    An argument `is_callers` when arrays of who calls the program are given for it, which may begin anywhere; other buffers
    begin with a cache line. A result `is_passed_on` when the program keeps it for its other kernels only, and `is_needed_in_part` when what is
    needed of it differs between the steps of a loop. A scratch buffer at a `depth` is allocated inside of so many loops:
    each of their iterations has its own. An operand `is_finite` when all of its elements are known to be, in a kernel that
    reads something through a guard. One that the program's threads share between its kernels is `shared` along a dimension.
    """

    shape: tuple[Extent, ...]
    strides: tuple[int | None, ...]
    element: Attribute
    home: Home
    is_passed_on: bool = False
    depth: int = 0
    is_needed_in_part: bool = False
    is_callers: bool = False
    is_finite: bool = False
    shared: int | None = None

    @cached_property
    def element_bytes(self) -> int:
        return max(bit_width(self.element), 8) // 8

    @cached_property
    def bytes(self) -> int | None:
        """The bytes of all elements, None where an extent is not a number."""
        sizes = [size for size in self.shape if isinstance(size, int)]
        return prod(sizes) * self.element_bytes if len(sizes) == len(self.shape) else None


_EXTENSIONS = frozenset((arith.ExtFOp, arith.ExtSIOp, arith.ExtUIOp))


@frozen
class Extension:
    """What is done to an element before it is used: `operation` makes it the same number of a wider type."""

    operation: str
    element: Attribute

    @staticmethod
    def of(value: SSAValue) -> Extension | None:
        """How every use of a value extends it; None where one does not, or another way."""
        users = [use.operation for use in value.uses]
        if not users or not all(type(user) in _EXTENSIONS for user in users):
            return None
        found = {Extension(user.name, user.results[0].type) for user in users}
        return found.pop() if len(found) == 1 else None


def number_of(value: FloatAttr | IntegerAttr) -> float | None:
    """What an attribute says, None where that is no number: facts are compared, and NaN is not equal to itself."""
    number = value.value.data
    return None if isnan(number) else number


@frozen_in_types
class Access:
    """
    One read or write. A subscript is None where it is not affine in the axes. A guarded access happens only in
    part of the iterations: its statement, or a padded read, tests a condition.
    """

    buffer: int
    subscripts: tuple[Subscript | None, ...]
    is_guarded: bool = False
    extension: Extension | None = None
    """how the elements that are read are extended to a wider type, if they are"""
    outside: float | None = None
    """the number that a guarded read gives where its condition does not hold, if it is one"""

    @cached_property
    def _hash(self) -> int:
        own = self.buffer, self.subscripts, self.is_guarded, self.extension, self.outside
        return hash(own)

    def __hash__(self) -> int:
        return self._hash

    def __getstate__(self) -> dict[str, Any]:
        return without_known(self)

    def moves_along(self, axis: int) -> bool:
        """Whether the element may differ from one iteration of the axis to the next."""
        for subscript in self.subscripts:  # asked much more often than others are
            if subscript is None or subscript.coefficients[axis]:
                return True
        return False

    @property
    def is_affine(self) -> bool:
        return all(subscript is not None for subscript in self.subscripts)

    @property
    def is_permutation(self) -> bool:
        """Whether each subscript is one axis, each axis at most once, or a number."""
        used: list[int] = []
        for subscript in self.subscripts:
            if subscript is None:
                return False
            moved = [axis for axis, by in enumerate(subscript.coefficients) if by]
            if moved and (len(moved) > 1 or subscript.coefficients[moved[0]] != 1):
                return False
            used += moved
        return len(used) == len(set(used))

    def dimension_of(self, axis: int) -> int | None:
        """The buffer's dimension whose subscript an axis moves; None when it moves none or several."""
        known = self._dimensions
        if axis not in known:
            moved = (s is not None and s.coefficients[axis] for s in self.subscripts)
            found = [n for n, moves in enumerate(moved) if moves]
            known[axis] = found[0] if len(found) == 1 else None
        return known[axis]

    @cached_property
    def _dimensions(self) -> dict[int, int | None]:
        """What `dimension_of` has answered."""
        return {}


def widest_number(operations: Iterable[Operation]) -> int:
    """The bytes of the widest number that operations of `arith` and `math` make; 0 where there are none."""
    types: set[Attribute] = {
        result.type for op in operations if _is_arithmetic(type(op)) for result in op.results
    }
    return max((bit_width(t) // 8 for t in types if type(t) is not IndexType), default=0)


@cache
def _is_arithmetic(kind: type[Operation]) -> bool:
    return kind.dialect_name() in ("arith", "math") and kind is not arith.ConstantOp


def entries_held(operations: Iterable[Operation]) -> int:
    """
    The entries of tables from which operations take elements at computed indices, as far as an axis of these is so short
    that registers may hold what is along it.
    """
    tables = [_table_of(op) for op in operations if type(op) in _LOOKING_UP]
    return sum(
        max((n for n in each.get_shape() if may_be_held(n, each.get_element_type())), default=0)
        for each in tables
    )


_LOOKING_UP = frozenset((tensor.ExtractOp, memref.LoadOp))


def _table_of(op: Operation) -> Buffer | Tensor:
    """The type of what an operation looks up in."""
    return memref_type(op.memref) if isinstance(op, memref.LoadOp) else tensor_type(op.operands[0])


def sort_key(access: Access) -> tuple[object, ...]:
    """By which reads of a statement are in order: buffers, then subscripts."""
    return (
        access.buffer,
        [
            (s is not None, s.coefficients if s else (), s.constant if s else 0)
            for s in access.subscripts
        ],
        access.is_guarded,
    )


@frozen
class Statement:
    """
    One store with the reads it is computed from, in the loops around it.

    `combiner` is the operator that joins the value with the element stored before (`add`, `max` …): the
    statement then updates, and that read is not among `reads`. `reassociates` says whether the order of these
    updates is free. `shared` is how many of the outermost axes are loops that the statement before is in as well.
    `operations` counts the scalar operations of one element by name.
    """

    axes: tuple[Axis, ...]
    shared: int
    reads: tuple[Access, ...]
    write: Access
    combiner: str | None
    reassociates: bool
    operations: tuple[tuple[str, int], ...]
    widest: int = 0
    """the bytes of the widest number that is computed on the way, which says how many lanes are in a register"""
    entries: int = 0
    """of tables that registers may hold, from which elements are chosen"""

    @cached_property
    def extents(self) -> tuple[int, ...] | None:
        """The extents when all are numbers, else None."""
        sizes = tuple(axis.extent for axis in self.axes if isinstance(axis.extent, int))
        return sizes if len(sizes) == len(self.axes) else None

    @cached_property
    def points(self) -> int | None:
        """How often it runs, guards apart; None when an extent is not a number."""
        return None if self.extents is None else prod(self.extents)

    @cached_property
    def accesses(self) -> tuple[Access, ...]:
        return (*self.reads, self.write)


@frozen
class KernelFacts:
    """A kernel: its buffers (arguments first) and its statements in order of execution."""

    buffers: tuple[BufferFacts, ...]
    statements: tuple[Statement, ...]
    is_complete: bool = True
    """False where something of the kernel is not described: a call, a copy, control flow that is not affine"""
    constants: int = 0
    """the bytes of all constants of the program, about, where the kernel reads some of them and they are many"""
    is_part: bool = False
    """whether the kernel has other statements as well, which may use the same buffers"""

    @cached_property
    def _hash(self) -> int:
        known = self.is_complete, self.constants, self.is_part
        return hash((self.buffers, self.statements, *known))

    def __hash__(self) -> int:
        return self._hash

    def __getstate__(self) -> dict[str, Any]:
        return without_known(self)

    def stride(self, access: Access, axis: int) -> int | None:
        """
        How many elements further in memory the access is in the next iteration of the axis.

        None when that varies, or when the buffer's layout is not known.
        """
        strides = self.buffers[access.buffer].strides
        total = 0
        for subscript, stride in zip(access.subscripts, strides, strict=True):
            if subscript is None:
                return None
            if subscript.coefficients[axis]:
                if stride is None:
                    return None
                total += subscript.coefficients[axis] * stride
        return total

    def element_bytes(self, access: Access) -> int:
        return self.buffers[access.buffer].element_bytes

    def is_perfect(self, number: int) -> bool:
        """Whether the statement is alone in its loops: a perfect nest of its own."""
        after = self.statements[number + 1 : number + 2]
        return not self.statements[number].shared and all(not other.shared for other in after)

    def nest(self, number: int) -> tuple[int, ...]:
        """The statement and those around it that are in all of its loops and in no other, in order."""
        first, last = number, number
        while first and self._is_beside(first):
            first -= 1
        while last + 1 < len(self.statements) and self._is_beside(last + 1):
            last += 1
        return tuple(range(first, last + 1))

    def _is_beside(self, number: int) -> bool:
        """Whether a statement is in the same loops as the one before."""
        depths = {len(statement.axes) for statement in self.statements[number - 1 : number + 1]}
        return depths == {self.statements[number].shared} != {0}

    @property
    def is_distributed(self) -> bool:
        """Whether statements share either all of their loops or none."""
        return all(not s.shared or self._is_beside(n) for n, s in enumerate(self.statements))

    def writers(self, buffer: int) -> list[int]:
        """The statements that write a buffer."""
        return [n for n, s in enumerate(self.statements) if s.write.buffer == buffer]

    def readers(self, buffer: int) -> list[int]:
        """The statements that read a buffer, apart from updating it."""
        return [
            n for n, s in enumerate(self.statements) if any(r.buffer == buffer for r in s.reads)
        ]


def without_known(facts: Access | KernelFacts) -> dict[str, Any]:
    """What is pickled of facts that remember their hash, among other things: strings, and None, have another one in another process."""
    return {name: value for name, value in facts.__dict__.items() if not name.startswith("_")}


def distributed(facts: KernelFacts) -> KernelFacts:
    """
    The facts after loop distribution (fission) where each statement has loops of its own; the facts as they are where
    statements share all loops or none, and where a buffer is made in the loops that they share.
    """
    if facts.is_distributed or any(buffer.depth for buffer in facts.buffers):
        return facts
    statements = tuple(replace(statement, shared=0) for statement in facts.statements)
    return replace(facts, statements=statements)


def program_constants(kernel: Operation, buffers: Iterable[BufferFacts]) -> int:
    """`KernelFacts.constants` of a kernel with these buffers."""
    reads_some = any(buffer.home is Home.CONSTANT for buffer in buffers)
    return constant_bytes(kernel) if reads_some else 0


def canonical(facts: KernelFacts) -> KernelFacts:
    """
    The facts with the axes of each statement in one order, whatever that of its loops is, and no loops shared.

    Axes of the stored element come first, as its dimensions are; then the others, by how they move the reads. Axes of
    one iteration are left out.
    Kernels that compute the same in another order of loops have equal canonical facts.
    """
    return KernelFacts(
        facts.buffers,
        tuple(map(_canonical_statement, facts.statements)),
        facts.is_complete,
        facts.constants,
    )


def _canonical_statement(statement: Statement) -> Statement:
    def key(axis: int) -> tuple[object, ...]:
        dimension = statement.write.dimension_of(axis)
        moved = [
            (read.buffer, [s.coefficients[axis] if s else 0 for s in read.subscripts])
            for read in statement.reads
        ]
        return (dimension is None, dimension or 0, moved, str(statement.axes[axis].extent))

    several = [n for n, axis in enumerate(statement.axes) if axis.extent != 1]
    order = sorted(several, key=key)
    reads = (_with_axes(read, order) for read in statement.reads)
    return replace(
        statement,
        axes=tuple(statement.axes[axis] for axis in order),
        shared=0,
        reads=tuple(sorted(reads, key=sort_key)),
        write=_with_axes(statement.write, order),
    )


def _with_axes(access: Access, order: Sequence[int]) -> Access:
    subscripts = (
        s and Subscript(tuple(s.coefficients[axis] for axis in order), s.constant)
        for s in access.subscripts
    )
    return replace(access, subscripts=tuple(subscripts))
