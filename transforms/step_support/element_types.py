"""
Copies of a buffer's part that hold its numbers in another element type, exactly.

Of what is only read, elements are extended while they are copied: `extf` and `extsi` of an element become loads of the
copy. Integers that are added up are added up as floats, from 0, and what comes out is added to the buffer: the sum of
integers is exact in a float, in every order, while all partial sums have as many bits as its significand.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias, cast

from xdsl.builder import Builder
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import AnyFloat, FloatAttr, IntegerAttr, IntegerType
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ...analysis.frames import constant_value
from ...analysis.reductions import ReductionUpdate, find_updates
from ...analysis.scop import Access
from ...dialects import loop
from ...dialects.affine_bounds import linear_form
from ...dialects.dtypes import ELEMENT_TYPES, bit_width, is_float, significand_bits
from ...dialects.schedule import Step
from ...dialects.shaped import memref_type
from ...frozen import frozen
from .accumulated import Accumulated
from .nest import Nest
from .refusal import refuse
from .trip_count import TripCount

EXTENSIONS = (arith.ExtFOp, arith.ExtSIOp, arith.ExtUIOp)
"""Operations that give a value of a wider type that is the same number."""

_FREE = arith.FastMathFlagsAttr([FastMathFlag.REASSOC, FastMathFlag.ALLOW_CONTRACT])
"""Flags of sums and products that are exact in any order."""


@frozen
class Extended:
    """The copy holds each element as what an operation makes of it: every load was extended by that one."""

    element: Attribute
    operation: type[Operation]

    def copied_in(self, builder: Builder, value: SSAValue) -> SSAValue:
        """What the copy holds of an element."""
        kind = self.operation
        if is_float(self.element) and not is_float(value.type):
            kind = arith.SIToFPOp if kind is arith.ExtSIOp else arith.UIToFPOp
        made = kind.create(operands=[value], result_types=[self.element])
        return builder.insert(made).results[0]

    def redirected(self, op: Operation) -> None:
        """A load that reads the copy now: what extended its result is done already."""
        assert isinstance(op, loop.LoadOp)
        result = Rewriter.replace_value_with_new_type(op.result, self.element)
        for use in list(result.uses):
            extension = use.operation
            wanted = extension.results[0].type
            if wanted == self.element:
                Rewriter.replace_op(extension, [], [result])
            elif is_float(self.element) and not is_float(wanted):
                Rewriter.replace_op(extension, arith.FPToSIOp(result, wanted))  # pyright: ignore[reportArgumentType]


@frozen
class Summed:
    """The copy is of sums of integers, which are made in floats."""

    element: Attribute
    updates: tuple[ReductionUpdate, ...]
    starts: tuple[loop.StoreOp, ...]
    """stores of numbers that sums begin with"""

    def redirected_all(self) -> None:
        for update in self.updates:
            self._in_floats(update)
        for store in self.starts:
            owner = store.value.owner
            assert isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr)
            number = self._number(Builder(InsertPoint.before(store)), owner.value.value.data)
            store.operands[0] = number
            if not owner.result.uses:
                Rewriter.erase_op(owner)

    def _in_floats(self, update: ReductionUpdate) -> None:
        """`T = T + a * b` of integers → of floats."""
        builder = Builder(InsertPoint.before(update.combine))
        old = Rewriter.replace_value_with_new_type(update.load.result, self.element)
        (value,) = (v for v in update.combine.operands if v is not old)
        new = _as_float(builder, value, self.element)
        total = builder.insert(arith.AddfOp(old, new, _FREE)).result
        update.store.operands[0] = total
        Rewriter.erase_op(update.combine)
        _erase_unused(value)

    def _number(self, builder: Builder, value: int) -> SSAValue:
        attr = FloatAttr(float(value), cast(AnyFloat, self.element))
        return builder.insert(arith.ConstantOp(attr)).result

    def zero(self, builder: Builder) -> SSAValue:
        return self._number(builder, 0)

    def copied_back(
        self, builder: Builder, value: SSAValue, before: SSAValue | None, to: Attribute
    ) -> SSAValue:
        """A sum as an integer again, added to what the buffer has had before, if that is to be kept."""
        total = builder.insert(arith.FPToSIOp(value, cast(IntegerType, to))).result
        return total if before is None else builder.insert(arith.AddiOp(before, total)).result


Conversion: TypeAlias = Extended | Summed | Accumulated


def plan_conversion(
    step: Step, nest: Nest, name: str, accesses: Sequence[Access], at: loop.ForOp | func.FuncOp
) -> Conversion | None:
    """
    How a copy holds its elements as the type that the step names; None where it names none.

    Raises the refusal when it cannot hold them exactly, or they are used for more.
    """
    if not name:
        return None
    element = next((type_ for type_ in ELEMENT_TYPES if str(type_) == name), None)
    if element is None:
        words = ", ".join(map(str, ELEMENT_TYPES))
        raise refuse(step, f"element is '{name}', expected one of {words}")
    if any(access.is_write for access in accesses):
        return _summed(step, nest, element, accesses, at)
    return _extended(step, element, [access.op for access in accesses])


def _extended(step: Step, element: Attribute, loads: Sequence[Operation]) -> Extended:
    users = [use.operation for load in loads for use in load.results[0].uses]
    kinds = {type(user) for user in users}
    source = loads[0].results[0].type
    if len(kinds) != 1 or not kinds <= set(EXTENSIONS):
        found = next((user.name for user in users if not isinstance(user, EXTENSIONS)), "several")
        raise refuse(
            step,
            f"an element is used by '{found}', not only extended to a wider type",
            remedy="leave out element",
        )
    if not _holds(element, source) or any(
        bit_width(user.results[0].type) < bit_width(element) for user in users
    ):
        raise refuse(step, f"{element} does not hold every {source} as what it is extended to")
    return Extended(element, kinds.pop())


def _holds(wide: Attribute, narrow: Attribute) -> bool:
    """Whether every number of a type is one of another, wider one."""
    if is_float(narrow):
        return is_float(wide) and bit_width(wide) > bit_width(narrow)
    return bit_width(narrow) < (significand_bits(wide) if is_float(wide) else bit_width(wide))


def _summed(
    step: Step,
    nest: Nest,
    element: Attribute,
    accesses: Sequence[Access],
    at: loop.ForOp | func.FuncOp,
) -> Summed:
    found = find_updates(nest.function)
    updates: list[ReductionUpdate] = []
    starts: list[loop.StoreOp] = []
    largest = first = 0
    for access in accesses:
        update = found.get(access.op)
        if update is not None and isinstance(update.combine, arith.AddiOp):
            if access.is_write:
                updates.append(update)
                largest += _greatest_sum(step, nest, update, at)
        elif access.is_write and (number := _constant(access.op)) is not None:
            assert isinstance(access.op, loop.StoreOp)
            starts.append(access.op)
            first = max(first, abs(number))
        else:
            raise refuse(step, f"'{access.op.name}' is no part of a sum of integers")
    if not is_float(element) or not updates:
        raise refuse(step, f"sums of integers are not made in {element}")
    most = 1 << significand_bits(element)
    if largest + first > most:
        raise refuse(
            step,
            f"a sum may be as large as {largest + first}, and {element} holds every integer up to {most}",
            remedy="split the loop over its terms and stage inside",
        )
    return Summed(element, tuple(updates), tuple(starts))


def _constant(op: Operation) -> int | None:
    """The number that an operation stores, when it is one."""
    return constant_value(op.value) if isinstance(op, loop.StoreOp) else None


def _greatest_sum(
    step: Step, nest: Nest, update: ReductionUpdate, at: loop.ForOp | func.FuncOp
) -> int:
    """The largest magnitude of what an update adds to one element in one iteration of `at`."""
    (value,) = (v for v in update.combine.operands if v is not update.load.result)
    bound = _bound(value, set())
    if bound is None or not _has_float(value):
        raise refuse(
            step,
            "what is added up is no product of integers that were extended from a narrower type",
            remedy="leave out element",
        )
    moving = _moving_alone(update.store)
    parent = update.store.parent_op()
    while parent is not None and parent is not at:
        if isinstance(parent, loop.ForOp) and parent.induction_variable not in moving:
            _, trips = TripCount(nest, parent).range()
            if trips is None:
                raise refuse(step, f"loop '{parent.loop_name.data}' has no known number of terms")
            bound *= trips
        parent = parent.parent_op()
    return bound


def _moving_alone(store: loop.StoreOp) -> set[SSAValue]:
    """The loop variables that are alone in a linear subscript: each of their iterations has an element of its own."""
    operands = list(store.operands_)
    alone: set[SSAValue] = set()
    for expr in store.map.data.results:
        linear = linear_form(expr, len(operands))
        moving = [n for n, by in enumerate(linear[0]) if by] if linear is not None else []
        if len(moving) == 1:
            alone.add(operands[moving[0]])
    return alone


# Values.


def _has_float(value: SSAValue) -> bool:
    """Whether `_as_float` can say the value in floats."""
    match value.owner:
        case arith.MuliOp() as product:
            return _has_float(product.lhs) and _has_float(product.rhs)
        case arith.ExtSIOp() | arith.ExtUIOp() | arith.FPToSIOp():
            return True
        case _:
            return False


def _as_float(builder: Builder, value: SSAValue, element: Attribute) -> SSAValue:
    match value.owner:
        case arith.MuliOp() as product:
            lhs = _as_float(builder, product.lhs, element)
            rhs = lhs if product.lhs is product.rhs else _as_float(builder, product.rhs, element)
            return builder.insert(arith.MulfOp(lhs, rhs, _FREE)).result
        case arith.FPToSIOp() as op if op.input.type == element:
            return op.input
        case arith.ExtUIOp() as op:
            return builder.insert(arith.UIToFPOp(op.input, cast(AnyFloat, element))).result
        case arith.ExtSIOp() as op:
            return builder.insert(arith.SIToFPOp(op.input, cast(AnyFloat, element))).result
        case _:
            return builder.insert(arith.SIToFPOp(value, cast(AnyFloat, element))).result


def _bound(value: SSAValue, seen: set[SSAValue]) -> int | None:
    """The largest magnitude that a value may have, when it is an integer, in whatever type; None where unknown."""
    match value.owner:
        case arith.MuliOp() as op:
            left, right = (_bound(v, seen) for v in op.operands)
            return None if left is None or right is None else left * right
        case arith.ExtSIOp() | arith.SIToFPOp() as op:
            return 1 << (bit_width(op.input.type) - 1)
        case arith.ExtUIOp() | arith.UIToFPOp() as op:
            return (1 << bit_width(op.input.type)) - 1
        case arith.FPToSIOp() as op:
            return _bound(op.input, seen)
        case arith.ConstantOp() as op if isinstance(op.value, IntegerAttr | FloatAttr):
            number = op.value.value.data
            return abs(int(number)) if number == number // 1 else None
        case loop.IfOp() as op:
            number = next(n for n, result in enumerate(op.results) if result is value)
            ends = (region.block.last_op for region in op.regions)
            return _largest((end.operands[number] for end in ends if end is not None), seen)
        case loop.LoadOp() as op:
            return _bound_of_buffer(op.buffer, seen)
        case _:
            return None


def _bound_of_buffer(buffer: SSAValue, seen: set[SSAValue]) -> int | None:
    """The same of all that is stored to a scratch buffer, which nothing else writes."""
    if buffer in seen or not isinstance(buffer.owner, loop.AllocOp):
        return None
    users = [use.operation for use in buffer.uses]
    if not all(isinstance(op, loop.LoadOp | loop.StoreOp | loop.PrefetchOp) for op in users):
        return None
    stores = (op.value for op in users if isinstance(op, loop.StoreOp))
    return _largest(stores, seen | {buffer})


def _largest(values: Iterable[SSAValue], seen: set[SSAValue]) -> int | None:
    bounds = [_bound(value, seen) for value in values]
    known = [bound for bound in bounds if bound is not None]
    return max(known) if known and len(known) == len(bounds) else None


def _erase_unused(value: SSAValue) -> None:
    """Erase what computed a value that nothing uses any more."""
    op = value.owner
    if not isinstance(op, Operation) or isinstance(op, loop.LoadOp | loop.IfOp):
        return
    if any(result.uses for result in op.results):
        return
    operands = list(op.operands)
    Rewriter.erase_op(op)
    for operand in operands:
        _erase_unused(operand)


def copy_type(conversion: Conversion | None, buffer: SSAValue) -> Attribute:
    """The element type of a buffer's copy."""
    return memref_type(buffer).get_element_type() if conversion is None else conversion.element
