"""stage_halo: a copy of what a loop iteration reads, padded with the value that reads have outside of the buffer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import islpy as isl
from xdsl.builder import Builder
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.rewriter import InsertPoint

from ...analysis.plans.cost import round_up
from ...analysis.regions import Box, BoxSpace, bounding_box
from ...analysis.scop import Access
from ...dialects import loop
from ...dialects.schedule.steps import StageHalo
from ...dialects.shaped import memref_type
from ...frozen import frozen
from ..step_support.copies import Copier
from ..step_support.handles import buffer_handle, loop_handle
from ..step_support.layouts import Layout, checked_order
from ..step_support.made import HaloBuffer
from ..step_support.modes import check_marks_around
from ..step_support.nest import Nest, Nests, loops_around
from ..step_support.order import check_structured
from ..step_support.planning import planner, step_pass
from ..step_support.refusal import refuse
from ..step_support.rewrite import added_up, as_bound, set_subscripts, shifted_to
from ..step_support.scopes import check_room, scope_of
from ..step_support.touches import make_serial, touch_region, weaken

At = loop.ForOp | func.FuncOp

Range = tuple[list[AffineExpr], list[AffineExpr]]
"""A part of one axis of the copy: from the largest of some expressions to the smallest of others."""


@frozen
class Read:
    """A load of the buffer, and the condition that it is made under where there is one."""

    load: loop.LoadOp
    guard: loop.IfOp | None


@frozen
class StageHaloPlan:
    """The buffer, the reads that will use the copy, the box that is copied and what stands around the buffer."""

    nest: Nest
    buffer: SSAValue
    at: At
    name: str
    scope: loop.Scope
    type: MemRefType
    box: Box
    layout: Layout
    outer: tuple[SSAValue, ...]
    """the values the box's expressions are over"""
    reads: tuple[Read, ...]
    outside: Attribute
    """the value of reads outside of the buffer"""
    inside: tuple[tuple[bool, bool], ...]
    """for each axis whether the box never begins before the buffer, and never ends after it"""
    serial: tuple[loop.ForOp, ...]

    def apply(self) -> HaloBuffer:
        make_serial(self.serial)
        first = self.at.body.block.first_op
        assert first is not None
        builder = Builder(InsertPoint.before(first))
        scratch = builder.insert(loop.AllocOp(self.scope, self.type)).buffer
        loop.set_buffer_name(scratch, self.name)
        names = Copier(self.nest)
        copied = self._nest(builder, scratch, self._interior(), names, "in")
        borders = [
            self._nest(builder, scratch, part, names, "border", self.outside)
            for part in self._borders()
        ]
        for read in self.reads:
            self._redirect(read, scratch)
        return HaloBuffer(
            buffer_handle(self.nest, scratch),
            tuple(loop_handle(self.nest, op) for op in copied),
            tuple(tuple(loop_handle(self.nest, op) for op in nest) for nest in borders),
        )

    def _redirect(self, read: Read, scratch: SSAValue) -> None:
        """`if inside: load A[i] else c` → `load A.halo[i - lower]`"""
        load, guard = read.load, read.guard
        if guard is not None:
            load.detach()
            guard.parent_block().insert_op_before(load, guard)  # pyright: ignore[reportOptionalMemberAccess]
            load.result.name_hint = guard.outputs[0].name_hint
            guard.outputs[0].replace_all_uses_with(load.result)
            guard.detach()
            guard.erase()
        old = list(load.operands_)
        lower = shifted_to(self.box.lower, len(old))
        offsets = [e - low for e, low in zip(load.map.data.results, lower, strict=True)]
        exprs, used = added_up(self.layout.subscripts(offsets), [*old, *self.outer])
        load.operands[0] = scratch
        set_subscripts(load, exprs, used)

    def _interior(self) -> list[Range]:
        """The part of the copy that is inside of the buffer."""
        parts: list[Range] = []
        sizes = memref_type(self.buffer).get_shape()
        for axis, size in enumerate(sizes):
            lower = [AffineExpr.constant(0)]
            upper = [AffineExpr.constant(self.box.extents[axis])]
            if not self.inside[axis][0]:
                lower.append(self.box.lower[axis] * -1)
            if not self.inside[axis][1]:
                upper.append(self.box.lower[axis] * -1 + size)
            parts.append((lower, upper))
        return parts

    def _borders(self) -> Iterator[list[Range]]:
        """
        The parts that are outside, each element in one of them: along each axis what is before the buffer and what is
        after it, of the inside along the axes before and of all along those behind.
        """
        interior = self._interior()
        whole: list[Range] = [
            ([AffineExpr.constant(0)], [AffineExpr.constant(extent)]) for extent in self.box.extents
        ]
        for axis, (before, after) in enumerate(self.inside):
            first, last = whole[axis][0], whole[axis][1]
            around = interior[:axis], whole[axis + 1 :]
            size = memref_type(self.buffer).get_shape()[axis]
            if not before:
                end = self.box.lower[axis] * -1
                yield [*around[0], (first, [*last, end]), *around[1]]
            if not after:
                begin = self.box.lower[axis] * -1 + size
                yield [*around[0], ([*first, begin], last), *around[1]]

    def _nest(
        self,
        builder: Builder,
        scratch: SSAValue,
        part: Sequence[Range],
        names: Copier,
        word: str,
        value: Attribute | None = None,
    ) -> list[loop.ForOp]:
        """The loops that store a part of the copy, in its order: the buffer's elements, or a value."""
        made: list[loop.ForOp] = []
        variables: dict[int, SSAValue] = {}
        for axis in self.layout.order:
            lower, upper = part[axis]
            if self.box.extents[axis] == 1 and all(self.inside[axis]):
                continue
            for_op = loop.ForOp(
                names.fresh(f"{self.name}.{word}{axis}"),
                as_bound((lower, self.outer)),
                as_bound((upper, self.outer)),
                kind=loop.LoopKind.PARALLEL,
            )
            for_op.induction_variable.name_hint = f"c{axis}"
            made.append(builder.insert(for_op))
            last = for_op.body.block.last_op
            assert last is not None
            builder = Builder(InsertPoint.before(last))
            variables[axis] = for_op.induction_variable
        self._store(builder, scratch, variables, value)
        return made

    def _store(
        self,
        builder: Builder,
        scratch: SSAValue,
        variables: dict[int, SSAValue],
        value: Attribute | None,
    ) -> None:
        values = list(variables.values())
        places = {axis: AffineExpr.dimension(n) for n, axis in enumerate(variables)}
        rank = len(self.box.extents)
        offsets = [places.get(axis, AffineExpr.constant(0)) for axis in range(rank)]
        if value is None:
            lower = shifted_to(self.box.lower, len(values))
            exprs = tuple(low + off for low, off in zip(lower, offsets, strict=True))
            subscripts, used = added_up(exprs, [*values, *self.outer])
            there = AffineMap(len(used), 0, tuple(subscripts))
            stored = builder.insert(loop.LoadOp(self.buffer, there, used)).result
        else:
            stored = builder.insert(arith.ConstantOp(value)).result  # pyright: ignore[reportArgumentType]
        here = AffineMap(len(values), 0, self.layout.subscripts(offsets))
        builder.insert(loop.StoreOp(stored, scratch, here, values))


@planner(StageHalo)
def plan_stage_halo(step: StageHalo, nests: Nests) -> StageHaloPlan:
    """
    Legal when every use of the buffer inside the loop (or the function, without one) is an affine load, nothing there
    may write the buffer, each condition around a load holds exactly where the element exists and all give the
    same number where it does not, and the region that is read has a size that is a number.
    """
    nest, name = nests.resolve(step.buffer)
    buffer, at = nest.buffer(name), nest.loop(step.at) if step.at else nest.function
    scop = nest.dependences.scop
    root = scop.aliases.root(buffer)
    type_ = memref_type(root)
    if not type_.has_static_shape():
        raise refuse(step, f"'%{name}' is {type_}, whose sizes are not all known numbers")
    _check_place(step, nest, at, root)
    accesses = [access for access in scop.inside(at) if access.buffer is root]
    reads = [_read(step, nest, access) for access in accesses]
    outside = _outside(step, name, reads)
    loops = (*loops_around(at), at) if isinstance(at, loop.ForOp) else ()
    depth, rank = len(loops), type_.get_num_dims()
    region = _reached(nest, list(zip(accesses, reads, strict=True)), depth)
    box = None if region.is_empty() else bounding_box(region, depth, rank)
    if box is None:
        raise refuse(
            step,
            f"the part of '%{name}' that one iteration reads has no constant size",
            remedy="split the loops inside it, or stage at an inner loop",
        )
    order = checked_order(step, step.order, rank)
    space = BoxSpace(scop, loops, type_)
    box = _aligned(step, _padded(step, box, order), order, space)
    layout, scope = Layout(box.extents, order, 0), scope_of(step, step.scope)
    made = MemRefType(type_.element_type, layout.shape())
    into = nest.fresh_buffer_name(step.into or f"{name}.halo")
    check_room(step, into, made, scope)
    private = accesses[0].private
    copied = touch_region(root, False, loops, lambda: space.elements(box), private)
    return StageHaloPlan(
        nest,
        root,
        at,
        into,
        scope,
        made,
        box,
        layout,
        (*(op.induction_variable for op in loops), *scop.parameters),
        tuple(reads),
        outside,
        space.inside(box),
        weaken(step, nest, loops, [copied], accesses),
    )


def _check_place(step: StageHalo, nest: Nest, at: At, root: SSAValue) -> None:
    """Raise the refusal where the copy cannot be made before everything in the loop."""
    scop, name = nest.dependences.scop, loop.buffer_name(root)
    if isinstance(at, loop.ForOp):
        check_structured(step, at)
        check_marks_around(step, at, (loop.RunMode.VECTOR,))
        if at.mode is not None and at.mode.data is loop.RunMode.VECTOR:
            raise refuse(step, f"loop '{at.loop_name.data}' runs in vector lanes")
    owner = root.owner
    if isinstance(owner, loop.AllocOp) and at.is_ancestor(owner):
        raise refuse(step, f"'%{name}' is made there", remedy="stage it at a loop further in")
    for access in scop.inside(at):
        if access.is_write and scop.aliases.may_alias(access.buffer, root):
            written = loop.buffer_name(access.buffer)
            raise refuse(
                step,
                f"'%{written}' is written there"
                + ("" if access.buffer is root else f" and may be the same memory as '%{name}'"),
                remedy="stage at a loop that only reads it",
            )


def _read(step: StageHalo, nest: Nest, access: Access) -> Read:
    """The load that an access is, with its condition. Raises the refusal where it is something else."""
    name, load = loop.buffer_name(access.buffer), access.op
    if not access.is_direct or not isinstance(load, loop.LoadOp):
        raise refuse(step, f"'{load.name}' uses '%{name}' in a way that is not an affine load")
    guard = load.parent_op()
    if not isinstance(guard, loop.IfOp) or len(guard.outputs) != 1:
        return Read(load, None)
    then, last = guard.then_region.block, guard.then_region.block.last_op
    if len(then.ops) != 2 or last is None or tuple(last.operands) != (load.result,):
        raise refuse(step, f"what a condition around '%{name}' guards is not a load alone")
    around = nest.frames.of(guard.parent)  # pyright: ignore[reportArgumentType]
    if not access.certain or not _exists(access, around.domain).is_equal(
        access.around.domain.set_tuple_name("")
    ):
        raise refuse(
            step,
            f"a condition around a load of '%{name}' asks for something else than whether the element exists",
            remedy="read it by 'index_set_split' where the condition changes",
        )
    return Read(load, guard)


def _exists(access: Access, domain: isl.Set) -> isl.Set:
    """The iterations of a domain for which the element of an access is one of the buffer's."""
    elements = access.subscripts.set_tuple_name(isl.dim_type.in_, "").intersect_domain(
        domain.set_tuple_name("")
    )
    for axis, size in enumerate(memref_type(access.buffer).get_shape()):
        place = access.private + axis
        elements = elements.lower_bound_val(isl.dim_type.out, place, isl.Val(0))
        elements = elements.upper_bound_val(isl.dim_type.out, place, isl.Val(size - 1))
    return elements.domain()


def _outside(step: StageHalo, name: str, reads: Sequence[Read]) -> Attribute:
    """The number that all reads have outside of the buffer."""
    values: set[Attribute] = set()
    for read in reads:
        if read.guard is None:
            continue
        last = read.guard.else_region.block.last_op
        owner = None if last is None else last.operands[0].owner
        if not isinstance(owner, arith.ConstantOp):
            raise refuse(step, f"what a read has outside of '%{name}' is not a number")
        values.add(owner.value)
    if not values:
        raise refuse(
            step, f"no read of '%{name}' has a condition", remedy="'stage' copies what is inside"
        )
    if len(values) > 1:
        raise refuse(step, f"reads have different numbers outside of '%{name}'")
    return values.pop()


def _aligned(step: StageHalo, box: Box, order: Sequence[int], space: BoxSpace) -> Box:
    """The box with what stands in front of and behind each row so that it begins and ends at a multiple."""
    if not step.align:
        return box
    if step.align < 0 or not order:
        raise refuse(step, f"align is {step.align}, expected a number of elements of an axis")
    last = order[-1]
    before = space.rest(box.lower[last], step.align)
    if before is None:
        raise refuse(
            step,
            f"what one iteration reads begins at another place of {step.align} elements than the next",
            remedy="split the loops around by a multiple of it, or stage further out",
        )
    lower, extents = list(box.lower), list(box.extents)
    lower[last] = lower[last] - before
    extents[last] = round_up(extents[last] + before, step.align)
    return Box(tuple(lower), tuple(extents))


def _padded(step: StageHalo, box: Box, order: Sequence[int]) -> Box:
    """The box with the padding that a step asks for behind it."""
    if not step.pads:
        return box
    if len(step.pads) != len(order) or min(step.pads) < 0:
        raise refuse(
            step, f"pads is {list(step.pads)}, expected a number for each of {len(order)} axes"
        )
    units = dict(zip(order, step.pads, strict=True))
    extents = tuple(round_up(extent, units[n] or 1) for n, extent in enumerate(box.extents))
    return Box(box.lower, extents)


def _reached(nest: Nest, reads: Sequence[tuple[Access, Read]], depth: int) -> isl.Set:
    """
    The indices that reads ask for, for given values of the `depth` outermost loops, inside of the buffer or not: a
    set as `regions.touched` gives.
    """
    result: isl.Set | None = None
    for access, read in reads:
        block = (read.load if read.guard is None else read.guard).parent
        assert block is not None
        domain = nest.frames.of(block).domain.set_tuple_name("")
        pairs = access.subscripts.set_tuple_name(isl.dim_type.in_, "").intersect_domain(domain)
        count = pairs.dim(isl.dim_type.in_)
        pairs = pairs.project_out(isl.dim_type.in_, depth, count - depth)
        pairs = pairs.project_out(isl.dim_type.out, 0, access.private)
        flat = pairs.wrap().flatten()
        result = flat if result is None else result.union(flat)
    assert result is not None
    return result


LoopStageHaloPass = step_pass(StageHalo)
