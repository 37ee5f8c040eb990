"""double_buffer: two copies of a staged buffer in turn, one filled while the other is used."""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl
from xdsl.builder import Builder
from xdsl.dialects.builtin import MemRefType, StringAttr
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineConstraintExpr, AffineExpr
from xdsl.rewriter import InsertPoint

from ...analysis.affine_isl import constant
from ...analysis.scop import Access
from ...dialects import loop
from ...dialects.affine_bounds import simplified
from ...dialects.affine_text import compact
from ...dialects.loop import LoopKind, LoopKindAttr, RunMode
from ...dialects.schedule.steps import DoubleBuffer
from ...dialects.shaped import memref_type
from ...frozen import frozen
from ..step_support.copies import Copier
from ..step_support.handles import buffer_handle
from ..step_support.identities import subjects_in
from ..step_support.made import OneBuffer
from ..step_support.nest import Nest, Nests
from ..step_support.new_times import NewTimes
from ..step_support.order import TimeSpace, check_effects, check_structured
from ..step_support.planning import planner, step_pass
from ..step_support.refusal import refuse
from ..step_support.rewrite import (
    BoundExprs,
    added_up,
    insert_before,
    lower_bound,
    set_subscripts,
    shifted_to,
    upper_bound,
)
from ..step_support.scopes import check_room
from ..step_support.scratch import check_affine
from ..step_support.slices import copy_at, may_repeat, used_from_outside
from ..step_support.trip_count import TripCount


@frozen
class DoubleBufferPlan:
    """The loop, the buffer, and the operations that fill it, with what computes their operands."""

    nest: Nest
    at: loop.ForOp
    alloc: loop.AllocOp
    type: MemRefType
    """of both copies"""
    fill: tuple[Operation, ...]
    first: BoundExprs
    """the first value of the loop's variable"""
    is_run: bool
    """whether the loop surely has an iteration"""

    def apply(self) -> OneBuffer:
        """
        `for i: fill T(i); use T` → `fill T[0](first); for i: if i + 1 < end: fill T[(i + 1) mod 2](i + 1);
        use T[i mod 2]`.
        """
        old = self.alloc.buffer
        new = Builder(InsertPoint.before(self.at)).insert(
            loop.AllocOp(self.alloc.scope.data, self.type)
        )
        new.attributes |= self.alloc.attributes
        loop.set_buffer_name(new.buffer, loop.buffer_name(old))
        self._fill_first(new.buffer)
        self._fill_next(new.buffer)
        for use in list(old.uses):
            if isinstance(use.operation, loop.LoadOp):
                _redirect(use.operation, new.buffer, *self._turn(0))
            else:  # a prefetch
                use.operation.detach()
                use.operation.erase()
        self.alloc.detach()
        self.alloc.erase()
        self.at.kind = LoopKindAttr(LoopKind.SERIAL)
        self.nest.identities.moved(old, new.buffer)
        return OneBuffer(buffer_handle(self.nest, new.buffer))

    def _turn(self, ahead: int) -> tuple[AffineExpr, list[SSAValue]]:
        """Which copy is used so many iterations later: 0 or 1."""
        (first,), values = self.first
        (first,) = shifted_to([first], 1)
        number = AffineExpr.dimension(0) - first
        step = self.at.step.value.data
        if step != 1:
            number = number // step
        values = [self.at.induction_variable, *values]
        return simplified(number + ahead, len(values)) % 2, values

    def _fill_first(self, buffer: SSAValue) -> None:
        """Fill the first copy in front of the loop, if that runs at all."""
        (first,), values = self.first
        block = Block()
        builder = Builder(InsertPoint.at_end(block))
        self._copy(builder, [first], values)
        _redirect_stores(block, self.alloc.buffer, buffer, AffineExpr.constant(0), [])
        copier = Copier(self.nest)
        for old, op in zip(self.fill, block.ops, strict=True):
            copier.note(old, op)
            if isinstance(op, loop.ForOp):
                op.loop_name = StringAttr(copier.fresh(f"{op.loop_name.data}.first"))
            copier.rename_inside(op, ".first")
        if self.is_run:
            ops = list(block.ops)
            for op in ops:
                op.detach()
            insert_before(self.at, ops)
            return
        block.add_op(loop.YieldOp())
        # `first` is where the loop starts when it runs; whether it does all lower bounds say.
        highs, high_values = upper_bound(self.at)
        lows, low_values = lower_bound(self.at)
        lows = shifted_to(lows, len(high_values))
        all_values = [*high_values, *low_values]
        runs = [loop.at_least_zero(high - low - 1) for high in highs for low in lows]
        insert_before(self.at, [_guarded(runs, all_values, block)])

    def _fill_next(self, buffer: SSAValue) -> None:
        """Fill the other copy for the next iteration, if there is one."""
        step = self.at.step.value.data
        variable = self.at.induction_variable
        block = Block()
        following = AffineExpr.dimension(0) + step
        self._copy(Builder(InsertPoint.at_end(block)), [following], [variable])
        for old, op in zip(self.fill, block.ops, strict=True):
            for was, now in zip(subjects_in(old), subjects_in(op), strict=True):
                self.nest.identities.moved(was, now)
        _redirect_stores(block, self.alloc.buffer, buffer, *self._turn(1))
        block.add_op(loop.YieldOp())
        highs, high_values = upper_bound(self.at)
        highs = shifted_to(highs, 1)
        goes_on = [loop.at_least_zero(high - following - 1) for high in highs]
        insert_before(self.fill[0], [_guarded(goes_on, [variable, *high_values], block)])
        for op in reversed(self.fill):
            if not any(result.uses for result in op.results):
                op.detach()
                op.erase()

    def _copy(
        self, builder: Builder, point: Sequence[AffineExpr], values: Sequence[SSAValue]
    ) -> None:
        copy_at(self.fill, builder, [self.at.induction_variable], point, values)


def _guarded(
    conditions: Sequence[AffineConstraintExpr], values: Sequence[SSAValue], block: Block
) -> loop.IfOp:
    exprs, merged = added_up([c.lhs for c in conditions], values)
    return loop.IfOp([loop.at_least_zero(e) for e in exprs], merged, Region(block))


def _redirect_stores(
    block: Block, old: SSAValue, new: SSAValue, turn: AffineExpr, values: Sequence[SSAValue]
) -> None:
    for op in block.walk():
        if isinstance(op, loop.StoreOp) and op.buffer is old:
            _redirect(op, new, turn, values)


def _redirect(
    op: loop.LoadOp | loop.StoreOp,
    buffer: SSAValue,
    turn: AffineExpr,
    values: Sequence[SSAValue],
) -> None:
    """Let a load or store use one of the two copies."""
    own = list(op.operands_)
    (leading,) = shifted_to([turn], len(own))
    op.operands[0 if isinstance(op, loop.LoadOp) else 1] = buffer
    set_subscripts(op, *compact([leading, *op.map.data.results], [*own, *values]))


@planner(DoubleBuffer)
def plan_double_buffer(step: DoubleBuffer, nests: Nests) -> DoubleBufferPlan:
    """
    Legal when what fills the buffer may run one iteration earlier: nothing it reads is written between.

    The buffer is made in the body of the loop, first filled and then only read.
    """
    nest, name = nests.resolve(step.buffer)
    buffer, at = nest.buffer(name), nest.loop(step.at)
    alloc = buffer.owner
    if not isinstance(alloc, loop.AllocOp) or alloc.parent is not at.body.block:
        raise refuse(
            step,
            f"'%{name}' is not made in the body of loop '{step.at}'",
            remedy=f"stage a buffer at '{step.at}' first",
        )
    if alloc.dynamic_sizes:
        raise refuse(step, f"the size of '%{name}' is not constant")
    single = memref_type(buffer)
    double = MemRefType(single.get_element_type(), (2, *single.get_shape()))
    check_room(step, name, double, alloc.scope.data)
    for use in buffer.uses:
        if not isinstance(use.operation, loop.LoadOp | loop.StoreOp | loop.PrefetchOp):
            raise refuse(step, f"'{use.operation.name}' uses the whole of '%{name}'")
    if at.mode is not None and at.mode.data is not RunMode.UNROLL:
        raise refuse(
            step,
            f"loop '{step.at}' is marked '{at.mode.data.value}', and each of its iterations would need "
            "what the one before has filled",
            remedy="double-buffer at a serial loop inside",
        )
    check_structured(step, at)
    fill = _with_operands(step, at, alloc, _fill(step, nest, at, alloc, name))
    check_effects(step, fill)
    _check_earlier(step, nest, at, alloc, fill)
    trip_count = TripCount(nest, at)
    first = trip_count.first()
    if first is None or not trip_count.is_known:
        raise refuse(
            step,
            f"where loop '{step.at}' starts is no single affine expression",
            remedy="simplify or index_set_split it first",
        )
    return DoubleBufferPlan(nest, at, alloc, double, fill, first, trip_count.range()[0] > 0)


def _fill(
    step: DoubleBuffer, nest: Nest, at: loop.ForOp, alloc: loop.AllocOp, name: str
) -> tuple[Operation, ...]:
    """The operations of the loop's body that write the buffer; all others that use it come after them."""
    block = at.body.block
    accesses = [a for a in nest.dependences.scop.inside(at) if a.buffer is alloc.buffer]
    for access in accesses:
        check_affine(step, access)
    writing = {block.find_ancestor_op_in_block(a.op) for a in accesses if a.is_write}
    reading = {block.find_ancestor_op_in_block(a.op) for a in accesses if not a.is_write}
    fill = tuple(op for op in block.ops if op in writing)
    if not fill or not reading:
        raise refuse(step, f"'%{name}' is not both filled and used in loop '{step.at}'")
    if writing & reading or any(
        op is not None and op.is_before_in_block(fill[-1]) for op in reading
    ):
        raise refuse(
            step,
            f"'%{name}' is read before it is filled completely",
            remedy="fission what fills it from what uses it",
        )
    for op in fill:
        for access in nest.dependences.scop.inside(op):
            maker = access.buffer.owner
            is_own = isinstance(maker, Operation) and op.is_ancestor(maker)
            if access.is_write and access.buffer is not alloc.buffer and not is_own:
                raise refuse(
                    step,
                    f"what fills '%{name}' also writes '%{loop.buffer_name(access.buffer)}'",
                    remedy="fission it first",
                )
        if any(result.uses for result in op.results):
            raise refuse(step, f"'{op.name}', which fills '%{name}', has results")
    return fill


def _with_operands(
    step: DoubleBuffer, at: loop.ForOp, alloc: loop.AllocOp, fill: Sequence[Operation]
) -> tuple[Operation, ...]:
    """The filling operations and what computes their operands in the loop's body, in order."""
    block = at.body.block
    found: set[Operation] = set()
    pending: list[Operation] = list(fill)
    while pending:
        op = pending.pop()
        if op in found:
            continue
        found.add(op)
        for value in used_from_outside(op):
            owner = value.owner
            if not isinstance(owner, Operation) or owner.parent is not block or owner is alloc:
                continue
            if owner not in fill and not may_repeat(owner):
                raise refuse(
                    step,
                    f"what fills the buffer uses '{owner.name}' in the body of '{step.at}', which cannot "
                    "be repeated for another iteration",
                    remedy="compute it inside of the loops that fill it",
                )
            pending.append(owner)
    return tuple(op for op in block.ops if op in found)


def _check_earlier(
    step: DoubleBuffer,
    nest: Nest,
    at: loop.ForOp,
    alloc: loop.AllocOp,
    fill: Sequence[Operation],
) -> None:
    """
    Raise the refusal when something that the filling reads is written before it and would be after.

    All of it moves to where its first operation stands in the iteration before.
    """
    space = TimeSpace(nest)
    position = nest.time_position(at)
    stride = constant(space.space, at.step.value.data)
    place = constant(space.space, at.body.block.get_operation_index(fill[0]))

    def earlier(entries: list[isl.PwAff]) -> list[isl.PwAff]:
        moved = list(entries)
        moved[position] = entries[position].sub(stride)
        moved[position + 1] = place
        return moved

    order = space.map(earlier)
    scop = nest.dependences.scop
    moved: list[Access] = [a for op in fill for a in scop.inside(op)]
    times = NewTimes(
        nest,
        {a: a.time.apply_range(order) for a in moved if a.buffer is not alloc.buffer},
        [a for a in scop.inside(at) if a.buffer is alloc.buffer],
    )
    times.check(step, "leave this buffer single")


LoopDoubleBufferPass = step_pass(DoubleBuffer)
