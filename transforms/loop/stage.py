"""stage: the region of a buffer that a loop iteration uses, copied to a scratch buffer (cache read/write)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import islpy as isl
from xdsl.builder import Builder
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, MemRefType
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.rewriter import InsertPoint

from ...analysis.alias import is_allocation
from ...analysis.extremes import never_runs
from ...analysis.operations import body_of
from ...analysis.regions import Box, BoxSpace, region_of, touched
from ...analysis.scop import Access
from ...dialects import loop
from ...dialects.affine_atoms import constant_expr, dim_expr
from ...dialects.affine_substitution import difference, plus, product
from ...dialects.dtypes import is_float
from ...dialects.leaf_operations import inserted, map_of
from ...dialects.schedule.steps import Stage
from ...dialects.shaped import memref_type, row_major
from ...frozen import frozen
from ..step_support.accumulated import Accumulated, plan_accumulated
from ..step_support.element_types import Conversion, Extended, Summed, copy_type, plan_conversion
from ..step_support.handles import buffer_handle, loop_handle
from ..step_support.layouts import Layout, layout_of
from ..step_support.made import StagedBuffer
from ..step_support.modes import check_marks_around
from ..step_support.nest import Nest, Nests, loops_around
from ..step_support.order import check_structured
from ..step_support.planning import planner, step_pass
from ..step_support.refusal import refuse, refuse_dependence
from ..step_support.rewrite import added_up, as_bound, set_subscripts, shifted_to
from ..step_support.scopes import check_room, scope_of
from ..step_support.touches import make_serial, touch_region, weaken

At = loop.ForOp | func.FuncOp
"""The loop whose iterations get a copy each, or the function when each call gets one."""


@frozen
class StagePlan:
    """The buffer, what gets a copy of its own, and what is copied in and out."""

    nest: Nest
    buffer: SSAValue
    at: At
    is_part: bool
    """whether accesses of the buffer are left out"""
    name: str
    scope: loop.Scope
    type: MemRefType
    box: Box
    layout: Layout
    outer: tuple[SSAValue, ...]
    """the values the box's expressions are over"""
    accesses: tuple[Access, ...]
    inside: tuple[tuple[bool, bool], ...]
    """for each axis whether the box never begins before the buffer, and never ends after it"""
    conversion: Conversion | None
    """how the copy holds elements in another type, or what is added to them"""
    copies_in: bool
    copies_out: bool
    fills_padding: bool
    serial: tuple[loop.ForOp, ...]
    """loops around, one iteration of which copies elements that another one writes or copies back"""

    def apply(self) -> StagedBuffer:
        make_serial(self.serial)
        front, back = (Builder(point) for point in self._ends())
        scratch = inserted(front, loop.AllocOp(self.scope, self.type)).buffer
        loop.set_buffer_name(scratch, self.name)
        for access in self.accesses:
            self._redirect(access, scratch)
        if isinstance(self.conversion, Summed):
            self.conversion.redirected_all()
        copy_in = self._copy(front, scratch, into_scratch=True) if self.copies_in else []
        copy_out = self._copy(back, scratch, into_scratch=False) if self.copies_out else []
        if isinstance(self.buffer.owner, loop.AllocOp) and not self.buffer.uses:
            self.buffer.owner.detach()
            self.buffer.owner.erase()
        return StagedBuffer(
            buffer_handle(self.nest, scratch),
            tuple(loop_handle(self.nest, op) for _, op in copy_in),
            tuple(loop_handle(self.nest, op) for _, op in copy_out),
            tuple(axis for axis, _ in copy_in),
            tuple(axis for axis, _ in copy_out),
        )

    def _ends(self) -> tuple[InsertPoint, InsertPoint]:
        """The places of the copies: the ends of the loop's body, or around what uses the copy."""
        body = body_of(self.at)
        if isinstance(self.at, loop.ForOp) and not self.is_part:
            first, last = body.first_op, body.last_op
            assert first is not None and last is not None
            return InsertPoint.before(first), InsertPoint.before(last)
        users = _users(self.at, self.accesses)
        return InsertPoint.before(users[0]), InsertPoint.after(users[-1])

    def _redirect(self, access: Access, scratch: SSAValue) -> None:
        """Let a load or store use the scratch buffer."""
        op = access.op
        assert isinstance(op, loop.LoadOp | loop.StoreOp)
        old = list(op.operands_)
        lower = shifted_to(self.box.lower, len(old))
        offsets = [
            difference(e, low) for e, low in zip(map_of(op, "map").results, lower, strict=True)
        ]
        values = [*old, *self.outer]
        exprs, used = added_up(offsets, values)
        position = 0 if isinstance(op, loop.LoadOp) else 1
        op.operands[position] = scratch
        set_subscripts(op, self.layout.subscripts(exprs), used)
        if isinstance(self.conversion, Extended):
            self.conversion.redirected(op)

    def _copy(
        self, builder: Builder, scratch: SSAValue, *, into_scratch: bool
    ) -> list[tuple[int, loop.ForOp]]:
        """
        Loops over the box that copy its elements, those outside of the buffer left out; each with the dimension
        it is over.
        """
        made: list[tuple[int, loop.ForOp]] = []
        fill = into_scratch and self.fills_padding
        variables: list[SSAValue] = []
        offsets: list[AffineExpr] = []
        taken = {op.loop_name.data for op in self.nest.loops()}
        part = "in" if into_scratch else "out"
        for axis, extent in enumerate(self.layout.extents):
            if extent == 1 and all(self.inside[axis]):
                offsets.append(constant_expr(0))
                continue
            for_op = self._copy_loop(axis, fill, _fresh(f"{self.name}.{part}{axis}", taken))
            made.append((axis, inserted(builder, for_op)))
            last = body_of(for_op).last_op
            assert last is not None
            builder = Builder(InsertPoint.before(last))
            offsets.append(dim_expr(len(variables)))
            variables.append(for_op.induction_variable)
        here = AffineMap(len(variables), 0, self.layout.subscripts(offsets))
        moved = shifted_to(self.box.lower, len(variables))
        values = [*variables, *self.outer]
        there = AffineMap(
            len(values), 0, tuple(low + off for low, off in zip(moved, offsets, strict=True))
        )
        if not into_scratch:
            value = inserted(builder, loop.LoadOp(scratch, here, variables)).result
            value = self._converted_back(builder, value, there, values)
            inserted(builder, loop.StoreOp(value, self.buffer, there, values))
            return made
        if isinstance(self.conversion, Summed | Accumulated):
            value = self.conversion.zero(builder)
        else:
            value = self._loaded(builder, offsets if fill else None, there, values)
        inserted(builder, loop.StoreOp(value, scratch, here, variables))
        return made

    def _converted_back(
        self, builder: Builder, value: SSAValue, there: AffineMap, values: Sequence[SSAValue]
    ) -> SSAValue:
        """What is copied back of an element of the copy."""
        if not isinstance(self.conversion, Summed | Accumulated):
            return value
        before = None
        if self.copies_in:
            before = inserted(builder, loop.LoadOp(self.buffer, there, values)).result
        element = memref_type(self.buffer).get_element_type()
        return self.conversion.copied_back(builder, value, before, element)

    def _copy_loop(self, axis: int, fill: bool, name: str) -> loop.ForOp:
        """The loop over one axis of the box, or of the padded scratch buffer."""
        size = memref_type(self.buffer).get_shape()[axis]
        lower = [constant_expr(0)]
        if fill:
            upper = [constant_expr(self.layout.extents[axis])]
        else:
            upper = self._span(axis, size)
            if not self.inside[axis][0]:
                lower.append(self.box.lower[axis] * -1)
        for_op = loop.ForOp(
            name,
            as_bound((lower, self.outer)),
            as_bound((upper, self.outer)),
            kind=loop.LoopKind.PARALLEL,
        )
        for_op.induction_variable.name_hint = f"c{axis}"
        return for_op

    def _span(self, axis: int, size: int) -> list[AffineExpr]:
        """How many elements of the box along the axis are inside of the buffer: the least of these."""
        exprs = [constant_expr(self.box.extents[axis])]
        if not self.inside[axis][1]:
            exprs.append(plus(product(self.box.lower[axis], -1), size))
        return exprs

    def _loaded(
        self,
        builder: Builder,
        offsets: Sequence[AffineExpr] | None,
        there: AffineMap,
        values: Sequence[SSAValue],
    ) -> SSAValue:
        """The element where it is inside both box and buffer, zero in the padding, which has `offsets`."""
        type_ = memref_type(self.buffer)
        element = copy_type(self.conversion, self.buffer)
        constraints: list[AffineExpr] = []
        for axis, size in enumerate(type_.get_shape() if offsets is not None else ()):
            assert offsets is not None
            offset = offsets[axis]
            index = there.results[axis]
            if self.layout.extents[axis] != self.box.extents[axis]:
                constraints.append(offset * -1 + (self.box.extents[axis] - 1))
            if not self.inside[axis][0]:
                constraints.append(index)
            if not self.inside[axis][1]:
                constraints.append(index * -1 + (size - 1))
        if not constraints:
            return self._load(builder, there, values)
        inside = Block()
        value = self._load(Builder(InsertPoint.at_end(inside)), there, values)
        inside.add_op(loop.YieldOp(value))
        zero = arith.ConstantOp(
            FloatAttr(0.0, element) if is_float(element) else IntegerAttr(0, element)  # pyright: ignore[reportArgumentType, reportCallIssue]
        )
        guarded = loop.IfOp(
            [loop.at_least_zero(e) for e in constraints],
            values,
            Region(inside),
            Region(Block([zero, loop.YieldOp(zero.result)])),
            [element],
        )
        return inserted(builder, guarded).outputs[0]

    def _load(self, builder: Builder, there: AffineMap, values: Sequence[SSAValue]) -> SSAValue:
        """An element of the buffer, as the copy holds it."""
        value = inserted(builder, loop.LoadOp(self.buffer, there, values)).result
        if isinstance(self.conversion, Extended):
            return self.conversion.copied_in(builder, value)
        return value


@planner(Stage)
def plan_stage(step: Stage, nests: Nests) -> StagePlan:
    """
    Legal when every use of the buffer inside the loop (or the function, without one) is an affine load
    or store, nothing there may alias it, and the region used has a size that is a number. Of accesses
    that are left out (`along`) none may read what the others write between the copies, nor the reverse.
    """
    nest, name = nests.resolve(step.buffer)
    buffer, at = nest.buffer(name), nest.loop(step.at) if step.at else nest.function
    scop = nest.dependences.scop
    root = scop.aliases.root(buffer)
    every = [access for access in scop.inside(at) if access.buffer is root]
    inside = _along(step, nest, at, every)
    _check_uses(step, nest, at, root, inside)
    loops = (*loops_around(at), at) if isinstance(at, loop.ForOp) else ()
    depth = len(loops)
    region = region_of(inside, depth)
    assert region is not None
    if region.is_empty():
        raise refuse(step, f"no iteration of {_words(at)} uses '%{name}'")
    type_ = memref_type(root)
    if not type_.has_static_shape():
        # The box may reach beyond what is used, and nothing tells where such a buffer ends.
        raise refuse(step, f"'%{name}' is {type_}, whose sizes are not all known numbers")
    box = region.bounding_box()
    if box is None:
        raise refuse(
            step,
            f"the part of '%{name}' that one iteration of {_words(at)} uses has no constant size",
            remedy="split the loops inside it, or stage at an inner loop",
        )
    layout, scope = layout_of(step, box), scope_of(step, step.scope)
    if step.accumulate and step.element:
        raise refuse(step, "element is given with accumulate", remedy="leave out one of them")
    conversion = plan_conversion(step, nest, step.element, inside, at)
    made = row_major(copy_type(conversion, root), layout.shape())
    accumulated = plan_accumulated(step, nest, inside) if step.accumulate else None
    into = nest.fresh_buffer_name(step.into or f"{name}.staged")
    check_room(step, into, made, scope)
    space = BoxSpace(scop, loops, type_)
    writes = [access for access in inside if access.is_write]
    written, whole = region_of(writes, depth), cache(lambda: space.elements(box))
    is_sure = all(access.certain for access in writes)
    writes_all = is_sure and written is not None and written.fills(region, whole)
    copies_in = not writes_all or _reads_older_values(nest, inside, depth)
    if copies_in and isinstance(conversion, Summed) and conversion.starts:
        raise refuse(step, f"only a part of the sums of '%{name}' begins with a number there")
    private = inside[0].private
    bounds = space.within(box, private)
    copies = [touch_region(root, False, loops, whole, private, bounds)] if copies_in else []
    copies_out = bool(writes) and _is_read_later(nest, root, inside, depth)
    if len(inside) < len(every):
        _check_left_out(step, nest, at, (inside, every), whole() if copies_out else None, depth)
    if copies_out:
        copies.append(touch_region(root, True, loops, whole, private, bounds))
    return StagePlan(
        nest,
        root,
        at,
        len(inside) < len(every),
        into,
        scope,
        made,
        box,
        layout,
        (*(op.induction_variable for op in loops), *scop.parameters),
        tuple(inside),
        space.inside(box),
        accumulated or conversion,
        copies_in=copies_in,
        copies_out=copies_out,
        fills_padding=step.pad > 0 or bool(step.pads) or layout.extents != box.extents,
        serial=weaken(step, nest, loops, copies, inside),
    )


def _check_uses(step: Stage, nest: Nest, at: At, root: SSAValue, inside: Sequence[Access]) -> None:
    scop = nest.dependences.scop
    name = loop.buffer_name(root) or "a buffer"
    if isinstance(at, loop.ForOp):
        check_structured(step, at)
        check_marks_around(step, at, (loop.RunMode.VECTOR,))
        if at.mode is not None and at.mode.data is loop.RunMode.VECTOR:
            raise refuse(
                step, f"{_words(at)} runs in vector lanes", remedy="stage at a loop around it"
            )
    if not inside:
        raise refuse(step, f"{_words(at)} does not use '%{name}'")
    owner = root.owner
    if (
        isinstance(owner, Operation)
        and at.is_ancestor(owner)
        and owner.parent_op() is not nest.function
    ):
        raise refuse(
            step, f"'%{name}' is made inside of {_words(at)}", remedy="stage it further in"
        )
    for access in inside:
        if not access.is_direct:
            raise refuse(
                step, f"'{access.op.name}' uses '%{name}' in a way that is not an affine access"
            )
    for access in scop.inside(at):
        if access.buffer is not root and scop.aliases.may_alias(access.buffer, root):
            raise refuse(
                step,
                f"'%{loop.buffer_name(access.buffer)}' may be the same memory as '%{name}'",
                remedy="mark the arguments stepwell.noalias if they never overlap",
            )


def _along(step: Stage, nest: Nest, at: At, every: Sequence[Access]) -> list[Access]:
    """The accesses that will use the copy: all of them, or those that move with the loop `along`."""
    if not step.along:
        return list(every)
    variable = nest.loop(step.along).induction_variable
    found = [access for access in every if _is_over(access.op, variable)]
    if every and not found:
        name = loop.buffer_name(every[0].buffer) or "a buffer"
        raise refuse(
            step,
            f"no access of '%{name}' in {_words(at)} has the variable of loop '{step.along}' in a subscript",
        )
    return found


def _is_over(op: Operation, variable: SSAValue) -> bool:
    if not isinstance(op, loop.LoadOp | loop.StoreOp):
        return False
    operands = list(op.operands_)
    return any(operands[n] is variable for expr in op.map.data.results for n in expr.used_dims())


def _users(at: At, accesses: Sequence[Access]) -> list[Operation]:
    """The operations of the body of `at` that hold the accesses, in order."""
    body = body_of(at)
    holders = {body.find_ancestor_op_in_block(access.op) for access in accesses}
    return [op for op in body.ops if op in holders]


def _check_left_out(
    step: Stage,
    nest: Nest,
    at: At,
    accesses: tuple[Sequence[Access], Sequence[Access]],
    copied_out: isl.Set | None,
    depth: int,
) -> None:
    """
    Raise the refusal where the copy and the buffer would differ in what one of them is read for.

    `accesses` are those that use the copy, and all. What is left out and stands before the first of those,
    or after the last one, sees the buffer as it was: the copies are made around them.
    """
    inside, every = accesses
    users = _users(at, inside)
    first, last = (body_of(at).get_operation_index(op) for op in (users[0], users[-1]))
    between = [
        access
        for access in every
        if access not in inside
        and first <= body_of(at).get_operation_index(_users(at, [access])[0]) <= last
    ]
    for sources, sinks in ((inside, between), (between, inside)):
        writes = [access for access in sources if access.is_write]
        reads = [access for access in sinks if not access.is_write]
        for dependence in nest.dependences.possible(writes, reads):
            pairs = dependence.inside(depth)
            if pairs is not None:
                what = "kept apart by the copy"
                raise refuse_dependence(step, nest.dependences, dependence, pairs, what=what)
    writes = [access for access in between if access.is_write]
    if copied_out is None or not writes:
        return
    region = touched(writes, depth)
    if region is None or not region.is_disjoint(copied_out):
        raise refuse(
            step,
            f"a store to '%{loop.buffer_name(writes[0].buffer)}' that is left out is of elements that are copied back",
            remedy="leave no store out",
        )


def _words(at: At) -> str:
    if isinstance(at, loop.ForOp):
        return f"loop '{at.loop_name.data}'"
    return f"function '{at.sym_name.data}'"


def _reads_older_values(nest: Nest, inside: Sequence[Access], depth: int) -> bool:
    """Whether some read in an iteration of the loop is of a value not written in that iteration."""
    for access in inside:
        if access.is_write or _is_made_before(access, inside, depth):
            continue
        older: isl.Set | None = None
        for dependence in nest.dependences.possible(inside, [access]):
            if not dependence.source.certain:
                continue
            pairs = dependence.inside(depth)
            if pairs is not None:
                older = (access.domain if older is None else older).subtract(pairs.range())
                if older.is_empty():
                    break  # mostly what the first one writes is all that there is
        else:
            if not (never_runs(access.around) if older is None else older.is_empty()):
                return True
    return False


def _is_made_before(read: Access, inside: Sequence[Access], depth: int) -> bool:
    """
    Whether one store writes all that is read, in each iteration of the loop and of others around both, by a nest that stands before
    the read's.

    Most copies begin so; it takes less time to see than the dependences.
    """
    for write in inside:
        if write is read:
            break  # what comes after does not write what it reads
        if not write.is_write or not write.certain:
            continue
        common = sum(a is b for a, b in zip(write.loops, read.loops, strict=False))
        written, elements = (region_of([each], max(common, depth)) for each in (write, read))
        if elements is not None and written is not None and written.is_all_of(elements):
            return True
    return False


def _is_read_later(nest: Nest, root: SSAValue, inside: Sequence[Access], depth: int) -> bool:
    """Whether what is written in an iteration of the loop may be read after it, or without the copy."""
    if not is_allocation(root):
        return True
    writes = [access for access in inside if access.is_write]
    reads = [access for access in nest.dependences.scop.accesses if not access.is_write]
    return any(
        dependence.leaves(depth) if dependence.sink in inside else dependence.exists
        for dependence in nest.dependences.possible(writes, reads)
    )


def _fresh(name: str, taken: set[str]) -> str:
    candidate, number = name, 0
    while candidate in taken:
        number += 1
        candidate = f"{name}_{number}"
    taken.add(candidate)
    return candidate


LoopStagePass = step_pass(Stage)
