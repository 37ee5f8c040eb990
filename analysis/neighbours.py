"""
Loads at computed indices in vector loops: of neighbours in most vectors, as at `max(i - shift, 0)` or `(i + shift) mod n`,
or of a table so short that registers hold it.

The shift is a value that all lanes have in common. Whether the lanes of a vector do read neighbours is then seen from the
first and the last of them: an index that nowhere grows by more than one, and has grown by one less than there are lanes, has
grown by one at each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from xdsl.dialects import affine, arith, memref
from xdsl.dialects.arith import CMPI_COMPARISON_OPERATIONS
from xdsl.dialects.builtin import IndexType, IntegerType, NoneAttr
from xdsl.ir import Attribute, Operation, SSAValue

from ..dialects import loop
from ..dialects.affine_bounds import linear_form
from ..dialects.dtypes import bit_width
from ..dialects.shaped import memref_type
from ..frozen import frozen
from .floored_division import FlooredDivision, floored_division
from .operations import has_any_of, operands_of, operations_within

LINE = 64
"""
The bytes of a table that is held in registers: what a line of a cache holds, which is a register or two. To choose one of
its elements takes one operation less than it has elements, for a vector; loads take one for each lane.
"""

MOST_CHOSEN = 16
"""As many elements has such a table at most, however narrow."""


@frozen
class Neighbours:
    """
    An index of lanes, which in a vector is in no lane less than in the one before, and at most one more, if for its first
    and its last lane all of this holds.
    """

    chain: tuple[Operation, ...]
    """what computes it from the loop's variable and what is the same in all lanes, in order"""
    rising: tuple[SSAValue, ...]
    """in the last lane each is no less than in the first: what was added to it has not wrapped"""
    equal: tuple[SSAValue, ...]
    """each is the same in both: nor do lanes between them choose otherwise"""
    alike: tuple[tuple[SSAValue, SSAValue], ...]
    """from the first to the last both have grown by as much: a remainder has not begun again"""

    @property
    def is_certain(self) -> bool:
        """Whether it is one more in each lane, in all vectors."""
        return not self.chain or (
            len(self.chain) == 1 and isinstance(self.chain[0], affine.ApplyOp)
        )


@frozen
class ChosenLoad:
    """A load of an element that differs from lane to lane, along one axis."""

    axis: int
    neighbours: Neighbours | None
    """None for a table that registers hold"""


def chosen_loads(for_op: loop.ForOp) -> dict[memref.LoadOp, ChosenLoad] | None:
    """
    The loads at computed indices that differ from lane to lane of a vector loop, and how lanes do them together; None
    where they do them, or iterations of a loop inside, one after the other.
    """
    varying: set[SSAValue] = {for_op.induction_variable}
    found: dict[memref.LoadOp, ChosenLoad] = {}
    operations = operations_within(for_op.body)
    if not has_any_of(operations, (memref.LoadOp, loop.ForOp)):
        return found  # as most
    for op in operations:
        if varying.isdisjoint(operands_of(op)):
            continue
        if type(op) is loop.ForOp:
            return None
        if type(op) is loop.YieldOp and isinstance(around := op.parent_op(), loop.IfOp):
            varying.update(around.outputs)
        if type(op) is memref.LoadOp:
            chosen = _chosen(op, for_op, varying.__contains__)
            if chosen is None:
                return None
            found[op] = chosen
        varying.update(op.results)
    return found


def _chosen(
    load: memref.LoadOp, for_op: loop.ForOp, varies: Callable[[SSAValue], bool]
) -> ChosenLoad | None:
    type_ = memref_type(load.memref)
    axes = [axis for axis, index in enumerate(load.indices) if varies(index)]
    if varies(load.memref) or len(axes) != 1:
        return None
    (axis,) = axes
    is_last = axis == len(type_.get_shape()) - 1
    if is_last and isinstance(type_.layout, NoneAttr) and for_op.step.value.data == 1:
        search = _Search(for_op.induction_variable, varies)
        if search.is_rising(load.indices[axis]):
            return ChosenLoad(axis, search.found())
    is_short = may_be_held(type_.get_shape()[axis], type_.get_element_type())
    return ChosenLoad(axis, None) if is_short else None


def may_be_held(size: int, element: Attribute) -> bool:
    """Whether registers may hold a table of so many elements of a type, of which each lane takes one."""
    return 0 < size <= MOST_CHOSEN and size * max(bit_width(element), 8) <= LINE * 8


_ORDERED = ("slt", "sle", "sgt", "sge")
_CASTS = (arith.ExtSIOp, arith.IndexCastOp, arith.TruncIOp)
_NARROWEST = 8
"""The bits of the narrowest integers, whose values in the lanes of one vector wrap once at most."""


@dataclass
class _Search:
    """What an index is computed from, and on what it depends that it rises from lane to lane by at most one."""

    variable: SSAValue
    varies: Callable[[SSAValue], bool]
    chain: dict[Operation, None] = field(default_factory=dict[Operation, None])
    known: set[SSAValue] = field(default_factory=set[SSAValue])
    """what is known to rise so"""
    rising: dict[SSAValue, None] = field(default_factory=dict[SSAValue, None])
    equal: dict[SSAValue, None] = field(default_factory=dict[SSAValue, None])
    alike: dict[tuple[SSAValue, SSAValue], None] = field(
        default_factory=dict[tuple[SSAValue, SSAValue], None]
    )

    def found(self) -> Neighbours:
        return Neighbours(
            tuple(self.chain), tuple(self.rising), tuple(self.equal), tuple(self.alike)
        )

    def is_rising(self, value: SSAValue) -> bool:
        """Whether an integer rises in each lane by zero or one, as far as what is noted beside it holds."""
        if value is self.variable or not self.varies(value):
            return True
        op = value.owner
        if value in self.known:
            return True
        if not isinstance(op, Operation) or _bits(value) < _NARROWEST or not self._rises(op):
            return False
        self.chain[op] = None
        self.known.add(value)
        return True

    def _rises(self, op: Operation) -> bool:
        match op:
            case affine.ApplyOp():
                return self._is_variable_and_more(op)
            case arith.AddiOp() | arith.SubiOp():
                self.rising[op.result] = None
                one, other = op.operands
                if isinstance(op, arith.AddiOp) and not self.varies(one):
                    one, other = other, one
                return not self.varies(other) and self.is_rising(one)
            case arith.MaxSIOp() | arith.MinSIOp():
                return self.is_rising(op.lhs) and self.is_rising(op.rhs)
            case arith.SelectOp() if (floored := self._floored(op)) is not None:
                self.alike[op.result, floored.dividend] = None
                return self.is_rising(floored.dividend) and self._note(op)
            case arith.SelectOp():
                same = self._is_same(op.cond)
                return same and self.is_rising(op.lhs) and self.is_rising(op.rhs)
            case arith.RemSIOp() if not self.varies(op.rhs):
                self.alike[op.result, op.lhs] = None
                return self.is_rising(op.lhs)
            case _ if isinstance(op, _CASTS):
                if _bits(op.results[0]) < _bits(op.operands[0]):
                    self.rising[op.results[0]] = None
                return self.is_rising(op.operands[0])
            case _:
                return False

    def _floored(self, op: arith.SelectOp) -> FlooredDivision | None:
        """The division that `op` is the floored remainder of, by what does not vary."""
        found = floored_division(op)
        return found if found and found.is_remainder and not self.varies(found.divisor) else None

    def _note(self, floored: arith.SelectOp) -> bool:
        """Add what makes a floored remainder of its dividend to the chain."""
        raised, remainder = floored.lhs.owner, floored.rhs.owner
        condition = floored.cond.owner
        assert isinstance(condition, arith.AndIOp)
        compared = [value.owner for value in condition.operands]
        signs = [c.lhs.owner for c in compared if isinstance(c, arith.CmpiOp)]
        for op in (remainder, raised, *signs, *compared, condition):
            assert isinstance(op, Operation)
            self.chain[op] = None
        return True

    def _is_variable_and_more(self, op: affine.ApplyOp) -> bool:
        """Whether a subscript is the loop's variable and what does not vary."""
        operands = list(op.mapOperands)
        linear = linear_form(op.map.data.results[0], len(operands))
        if linear is None:
            return False
        uses = [(by, value) for by, value in zip(linear[0], operands, strict=True) if by]
        own = sum(by for by, value in uses if value is self.variable)
        others = [value for _, value in uses if value is not self.variable]
        return own == 1 and not any(self.varies(value) for value in others)

    def _is_same(self, condition: SSAValue) -> bool:
        """Whether a condition that is the same in the first and the last lane is so in all; it is noted."""
        if not self.varies(condition):
            return True
        op = condition.owner
        match op:
            case arith.AndIOp() | arith.OrIOp() | arith.XOrIOp():
                is_same = self._is_same(op.lhs) and self._is_same(op.rhs)
            case arith.CmpiOp():
                is_same = self._turns_once(op)
            case _:
                return False
        if is_same:
            assert isinstance(op, Operation)
            self.chain[op] = None
        return is_same

    def _turns_once(self, op: arith.CmpiOp) -> bool:
        """Whether a comparison turns at most once while what it compares rises."""
        names = [name for name in _ORDERED if _predicate(name) == op.predicate.value.data]
        if not names or (self.varies(op.lhs) and self.varies(op.rhs)):
            return False
        self.equal[op.result] = None
        return self.is_rising(op.lhs) and self.is_rising(op.rhs)


def _predicate(name: str) -> int:
    return CMPI_COMPARISON_OPERATIONS.index(name)


def _bits(value: SSAValue) -> int:
    """The bits of an integer; 0 for anything else."""
    type_: Attribute = value.type
    is_integer = isinstance(type_, IndexType | IntegerType)
    return bit_width(value.type) if is_integer else 0
