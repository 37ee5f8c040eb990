"""inline: a buffer's elements computed where they are read, and the buffer done away with."""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl
from xdsl.builder import Builder
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineExpr
from xdsl.rewriter import InsertPoint

from ...analysis.alias import is_allocation
from ...analysis.scop import Access
from ...analysis.values import as_expressions
from ...dialects import loop
from ...dialects.schedule.steps import Inline
from ...frozen import frozen
from ..step_support.dead import erase_dead
from ..step_support.made import Nothing
from ..step_support.nest import Nest, Nests
from ..step_support.planning import planner, step_pass
from ..step_support.refusal import refuse
from ..step_support.scratch import (
    check_unchanged,
    iteration_text,
    known_accesses,
    scratch_buffer,
    sources,
)
from ..step_support.slices import Slice, slice_of
from ..step_support.touches import Touch, make_serial, weaken


@frozen
class Replacement:
    """A load of the buffer, and the iteration of the producer that computes what it reads."""

    load: loop.LoadOp
    slice: Slice
    """what computes the value that the producer stores"""
    variables: tuple[SSAValue, ...]
    """of the loops around that store"""
    point: tuple[AffineExpr, ...]
    values: tuple[SSAValue, ...]
    """what the expressions of the point are over"""


@frozen
class InlinePlan:
    """The stores to the buffer and the loads, each of which takes the value of one store directly."""

    alloc: loop.AllocOp
    stores: tuple[Operation, ...]
    replacements: tuple[Replacement, ...]
    serial: tuple[loop.ForOp, ...]

    def apply(self) -> Nothing:
        """`for i: B[i] = f(A[i])` and `for j: C[j] = g(B[j])` → `for j: C[j] = g(f(A[j]))`."""
        for each in self.replacements:
            builder = Builder(InsertPoint.before(each.load))
            value = each.slice.copy(builder, each.variables, each.point, each.values)
            each.load.result.replace_all_uses_with(value)
        loads = [each.load for each in self.replacements]
        prefetches = [u.operation for u in self.alloc.buffer.uses if u.operation not in loads]
        for op in (*loads, *self.stores, *prefetches, self.alloc):
            if op.parent is not None:  # not gone already with a loop that was left empty
                erase_dead(op)
        make_serial(self.serial)
        return Nothing()


@planner(Inline)
def plan_inline(step: Inline, nests: Nests) -> InlinePlan:
    """
    Legal when all values that a load reads come from one store, in an iteration that is affine in the
    load's, and can be computed again there because nothing they are computed from has changed since.
    """
    nest, name = nests.resolve(step.buffer)
    alloc = scratch_buffer(step, nest, name)
    writes, reads = known_accesses(step, nest, alloc)
    slices = {write: _slice(step, nest, write, name) for write in writes}
    replacements: list[Replacement] = []
    touches: list[Touch] = []
    for read in reads:
        write, source = _source(step, writes, read, name)
        slice_ = slices[write]
        for operand in nest.dependences.scop.accesses:
            if not operand.is_write and slice_.contains(operand.op):
                touches.append(_touch(step, nest, read, source, operand))
        replacements.append(_replacement(step, nest, slice_, write, read, source))
    around = dict.fromkeys(for_op for read in reads for for_op in read.loops)
    serial = weaken(step, nest, list(around), touches, (*writes, *reads))
    return InlinePlan(alloc, tuple(w.op for w in writes), tuple(replacements), serial)


def _slice(step: Inline, nest: Nest, write: Access, name: str) -> Slice:
    """What computes the buffer's elements."""
    assert isinstance(write.op, loop.StoreOp)
    found = slice_of(write.op.value, nest.function)
    if not isinstance(found, Slice):
        raise refuse(
            step,
            f"the value stored to '%{name}' comes from '{found.name}', which cannot be repeated",
        )
    for access in nest.dependences.scop.accesses:
        if access.buffer is write.buffer and found.contains(access.op):
            raise refuse(
                step,
                f"'%{name}' is computed from elements of its own (a reduction or recurrence)",
                remedy="use compute_at",
            )
    return found


def _source(
    step: Inline, writes: Sequence[Access], read: Access, name: str
) -> tuple[Access, isl.Map]:
    """The store that a load gets its values from, and in which iteration for each of the load's."""
    found = sources(step, writes, read)
    if not found:  # it never runs
        nothing = read.element.apply_range(writes[0].element.reverse())
        return writes[0], nothing.subtract(nothing)
    if len(found) > 1:
        first, second = (
            iteration_text(read, source.domain()) for source in list(found.values())[:2]
        )
        raise refuse(
            step,
            f"a load of '%{name}' gets values from {len(found)} stores: in iteration {first} from one, "
            f"in {second} from another",
            remedy="split the reader's loops with index_set_split first, so that each load has one store",
        )
    return next(iter(found.items()))


def _replacement(
    step: Inline, nest: Nest, slice_: Slice, write: Access, read: Access, source: isl.Map
) -> Replacement:
    assert isinstance(read.op, loop.LoadOp)
    variables = tuple(op.induction_variable for op in write.loops)
    point = [AffineExpr.constant(0)] * len(variables)
    if not source.is_empty():
        found = as_expressions(source, read.subscripts.apply_range(write.element.reverse()))
        if found is None:
            raise refuse(
                step,
                f"the iteration that computes the element of '%{loop.buffer_name(read.buffer)}' that a load reads "
                "is no single affine function of the load's iteration",
                remedy="split the reader's loops with index_set_split first",
            )
        point = found
    values = (op.induction_variable for op in read.loops)
    return Replacement(
        read.op, slice_, variables, tuple(point), (*values, *nest.dependences.scop.parameters)
    )


def _touch(step: Inline, nest: Nest, read: Access, source: isl.Map, operand: Access) -> Touch:
    """
    The elements of an operand's buffer that a load of the inlined buffer will read instead.

    Raises the refusal when one is overwritten before the load would read it.
    """
    # The operand's load may stand outside of the innermost loops around the store.
    common = len(operand.loops)
    at_operand = source.reverse()
    inner = at_operand.dim(isl.dim_type.in_) - common
    at_operand = at_operand.project_out(isl.dim_type.in_, common, inner)
    at_operand = at_operand.set_tuple_name(isl.dim_type.in_, operand.name)
    _check_reachable(step, read, operand, at_operand)
    remedy = "inline before the operand is overwritten"
    check_unchanged(step, nest, operand, lambda: at_operand.apply_range(read.time), remedy)
    elements = at_operand.reverse().apply_range(operand.element)
    elements = elements.set_tuple_name(isl.dim_type.in_, "")
    return Touch.exactly(operand.buffer, False, read.loops, elements)


def _check_reachable(step: Inline, read: Access, operand: Access, at_operand: isl.Map) -> None:
    """Raise the refusal unless the operand's buffer is the same one where the load stands."""
    maker = operand.buffer.owner
    if not is_allocation(operand.buffer) or not isinstance(maker, Operation):
        return
    block = maker.parent
    assert block is not None
    same = at_operand
    for n in range(operand.private):
        same = same.equate(isl.dim_type.in_, n, isl.dim_type.out, n)
    if block.find_ancestor_op_in_block(read.op) is None or not at_operand.is_subset(same):
        raise refuse(
            step,
            f"it is computed from '%{loop.buffer_name(operand.buffer)}', which is made anew inside of a loop "
            "and gone where the value is read",
            remedy=f"inline '{loop.buffer_name(operand.buffer)}' first",
        )


LoopInlinePass = step_pass(Inline)
