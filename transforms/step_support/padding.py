"""Whether a loop may run over its end: the extra iterations touch only padding."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import islpy as isl
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType
from xdsl.ir.affine import AffineExpr

from ...analysis.affine_isl import in_same_iterations
from ...analysis.alias import is_allocation
from ...analysis.counters import Linear, counters, extent, linear, range_of
from ...analysis.domains import Around, LoopPart
from ...analysis.extremes import is_never_negative
from ...analysis.frames import Frame, RoundedFrames
from ...analysis.scop import Access
from ...analysis.subscript_tests import loops_of
from ...dialects import loop
from ...dialects.affine_bounds import Range, linear_form
from ...dialects.affine_substitution import difference, used_dims
from ...dialects.loop import LoopKind
from ...dialects.schedule import Step
from ...dialects.shaped import memref_type
from .nest import Nest
from .order import check_effects
from .refusal import refuse
from .trip_count import TripCount


def check_overrun(step: Step, nest: Nest, factors: Mapping[loop.ForOp, int]) -> None:
    """
    Raise the refusal of `step` unless rounding loops up to multiples of their factors is harmless.

    Every element the extra iterations touch must exist, and what they write must be read by nobody
    else, nor touched by two iterations of a loop that is said to run in any order. Only scratch buffers with padding have such
    elements.
    """
    _check(step, nest, RoundedFrames(nest.frames, factors), lambda access: False)


def overrun_guards(
    step: Step, nest: Nest, factors: Mapping[loop.ForOp, int]
) -> tuple[loop.IfOp, ...]:
    """
    The same where loads may be left out in the extra iterations: the conditions that must ask for it, of loads that
    have something else to give already.
    """
    found: dict[loop.IfOp, None] = {}

    def guards(access: Access) -> bool:
        around = access.op.parent_op()
        if access.is_write or not isinstance(around, loop.IfOp) or not around.outputs:
            return False
        found[around] = None
        return True

    _check(step, nest, RoundedFrames(nest.frames, factors), guards)
    return tuple(found)


def _check(
    step: Step,
    nest: Nest,
    rounded: RoundedFrames,
    guards: Callable[[Access], bool],
) -> None:
    """Raise the refusal, unless each access of what does not exist is guarded."""
    scop = nest.dependences.scop
    for for_op in rounded.factors:
        if not TripCount(nest, for_op).is_known:
            name = for_op.loop_name.data
            raise refuse(step, f"the bounds of '{name}' are not affine, so the overrun is unknown")
        check_effects(step, for_op)
    for access in scop.accesses:
        if not any(for_op in rounded.factors for for_op in access.loops):
            continue
        if not access.exact:
            raise refuse(step, "an access inside is not affine, so the overrun is unknown")
        if access.is_write:
            _check_order(step, nest, access, rounded)
        if _is_seen_harmless(nest, access, rounded):
            continue
        extra = _overrun(access, rounded)
        name = loop.buffer_name(access.buffer) or "a buffer"
        if not extra.is_subset(_existing(nest, access)) and not guards(access):
            raise refuse(
                step,
                f"the iterations beyond the end would {access.kind} '%{name}' outside of its shape",
                remedy="use tail='guard' or 'peel', or stage the buffer with padding first",
            )
        if access.is_write and _is_read(nest, access, extra):
            raise refuse(
                step,
                f"the iterations beyond the end would overwrite elements of '%{name}' that are used",
                remedy="use tail='guard' or 'peel'",
            )


def _check_order(step: Step, nest: Nest, write: Access, rounded: RoundedFrames) -> None:
    """
    Raise the refusal where two iterations of a loop that is said to run in any order, one of them an extra one, would touch one
    element that is written.
    """
    innermost = max(n for n, for_op in enumerate(write.loops) if for_op in rounded.factors)
    for depth, for_op in enumerate(write.loops[: innermost + 1]):
        if depth < write.private or for_op.kind.data is not LoopKind.PARALLEL:
            continue
        for other in nest.dependences.scop.accesses:
            if other.buffer is not write.buffer or for_op not in other.loops:
                continue
            if not other.exact or (
                not _are_seen_apart(write, other, depth, rounded)
                and _do_meet(write, other, depth, rounded)
            ):
                name = loop.buffer_name(write.buffer) or "a buffer"
                raise refuse(
                    step,
                    f"the iterations beyond the end would touch elements of '%{name}' that other iterations of the loop "
                    f"'{for_op.loop_name.data}' touch, which is said to run in any order",
                    remedy="use tail='guard' or 'peel'",
                )


def _are_seen_apart(one: Access, other: Access, depth: int, rounded: RoundedFrames) -> bool:
    """
    Whether, along one axis, the loops inside of the one at `depth` move two accesses by less than it does in an iteration: then
    two of its iterations touch different elements.
    """
    frames = [_frame(rounded, access).around for access in (one, other)]
    position = frames[0].parameters + depth
    for expressions in zip(one.place.subscripts, other.place.subscripts, strict=True):
        forms = [
            None if e is None else linear(e, around)
            for e, around in zip(expressions, frames, strict=True)
        ]
        first, second = forms
        if first is None or second is None or not first[0][position]:
            continue
        if first[0][: position + 1] != second[0][: position + 1]:
            continue
        inside = [
            _inside(form, around, position)
            for form, around in zip((first, second), frames, strict=True)
        ]
        (low, high), (other_low, other_high) = inside
        if low is None or high is None or other_low is None or other_high is None:
            continue
        if max(high - other_low, other_high - low) < abs(first[0][position]):
            return True
    return False


def _inside(form: Linear, around: Around, position: int) -> Range:
    """The range of what a subscript is in one iteration of the loop at a position, less what all loops inside have in common."""
    left = (0,) * (position + 1) + form[0][position + 1 :]
    return extent((left, form[1]), counters(around).ranges)


def _do_meet(one: Access, other: Access, depth: int, rounded: RoundedFrames) -> bool:
    """Whether two iterations of the loop at `depth`, in the same of those around it, touch one element."""
    first, second = (
        access.subscripts.intersect_domain(
            _frame(rounded, access).domain.set_tuple_name(access.name)
        )
        for access in (one, other)
    )
    pairs = in_same_iterations(first.apply_range(second.reverse()), depth)
    return not pairs.is_subset(in_same_iterations(pairs, depth + 1))


def _frame(rounded: RoundedFrames, access: Access) -> Frame:
    """What surrounds an access, with the loops rounded up."""
    assert access.op.parent is not None
    return rounded.of(access.op.parent)


def _is_seen_harmless(nest: Nest, access: Access, rounded: RoundedFrames) -> bool:
    """
    Whether the ranges of subscripts show that the extra iterations touch elements that exist, and write none that is read:
    with the loops rounded up no subscript leaves its axis, and what is written beyond the least end of each loop is, along some
    axis, where no load is. What they do not show is for exact sets to say.
    """
    frame = _frame(rounded, access)
    if not access.is_write and _is_fixed(
        access, [frame.loops.index(f) for f in rounded.factors if f in frame.loops]
    ):
        return True
    shape = memref_type(access.buffer).get_shape()
    if not all(
        expr is not None and _is_within(range_of(expr, frame.around), size)
        for expr, size in zip(access.place.subscripts, shape, strict=True)
    ):
        return False
    if not access.is_write:
        return True
    forms = [None if e is None else linear(e, frame.around) for e in access.place.subscripts]
    if None in forms or not is_allocation(access.buffer):
        return False
    reads = [
        a for a in nest.dependences.scop.accesses if a.buffer is access.buffer and not a.is_write
    ]
    ranges = counters(frame.around).ranges
    for number, for_op in enumerate(frame.loops):
        if for_op not in rounded.factors:
            continue
        left = [read for read in reads if not _ends_before(read, access, number)]
        if not left:
            continue
        position = frame.around.parameters + number
        beyond = list(ranges)
        beyond[position] = TripCount(nest, for_op).range()[0], ranges[position][1]
        written = [extent(form, beyond) for form in forms if form is not None]
        if not all(_is_elsewhere(read, written) for read in left):
            return False
    return True


def _is_fixed(read: Access, loops: Sequence[int]) -> bool:
    """Whether an element is the same in all iterations of some of the loops around, which nothing inside of them depends on."""
    around = read.around
    moving = {around.parameters + number for number in loops}
    exprs = [*read.place.subscripts]
    for part in around.parts:
        if isinstance(part, LoopPart):
            exprs += (*part.lower, *part.upper)
        elif part.constraints is None:
            return False
        else:
            exprs += [constraint.lhs for constraint in part.constraints]
    return all(expr is not None and not moving & used_dims(expr) for expr in exprs)


def _ends_before(read: Access, write: Access, number: int) -> bool:
    """
    Whether a load is of elements before the end of a loop around a store, and the store beyond it is of none of these: in each
    iteration of the loops that have a buffer of their own, `T[r]` for `r` in `0..min(6, n)` and `0..min(6, n, m)`.
    """
    private, parameters = write.private, write.around.parameters
    if read.private != private or number < private:
        return False
    outer = parameters + private
    for stored, loaded in zip(write.place.subscripts, read.place.subscripts, strict=True):
        own, other = _moving_alone(stored, outer), _moving_alone(loaded, outer)
        if own is None or other is None or own[0] != parameters + number or own[1:] != other[1:]:
            continue
        loop_, bounds = loops_of(write.around)[number], loops_of(read.around)[other[0] - parameters]
        ends, limits = loop_.upper, bounds.upper
        if bounds.multiple != 1 or any(
            max(used_dims(e), default=-1) >= outer for e in (*ends, *limits)
        ):
            continue
        where = write.around
        while where.depth > private:
            assert where.outer is not None
            where = where.outer
        if all(
            any(is_never_negative(where, difference(end, limit)) for limit in limits)
            for end in ends
        ):
            return True
    return False


def _moving_alone(expr: AffineExpr | None, outer: int) -> tuple[int, list[int], int] | None:
    """
    The only dimension behind the `outer` first ones that a subscript moves with, by one at a time, and the coefficients of those and
    the number beside it.
    """
    if expr is None:
        return None
    count = max(used_dims(expr), default=-1) + 1
    form = linear_form(expr, max(count, outer))
    if form is None:
        return None
    moving = [n for n, factor in enumerate(form[0]) if n >= outer and factor]
    if len(moving) != 1 or form[0][moving[0]] != 1:
        return None
    return moving[0], form[0][:outer], form[1]


def _is_within(range_: Range, size: int) -> bool:
    low, high = range_
    return low is not None and high is not None and low >= 0 and high < size


def _is_elsewhere(read: Access, written: Sequence[Range]) -> bool:
    """Whether a load is of other elements than those within ranges, as is seen along one axis."""
    for expr, (least, greatest) in zip(read.place.subscripts, written, strict=True):
        form = None if expr is None else linear(expr, read.around)
        if form is None:
            continue
        low, high = extent(form, counters(read.around).ranges)
        if high is not None and least is not None and high < least:
            return True
        if low is not None and greatest is not None and low > greatest:
            return True
    return False


def _overrun(access: Access, rounded: RoundedFrames) -> isl.Set:
    """The elements touched by the iterations that rounding up adds."""
    extended = _frame(rounded, access).domain.set_tuple_name(access.name)
    return extended.subtract(access.domain).apply(access.subscripts)


def _existing(nest: Nest, access: Access) -> isl.Set:
    """Elements of the access's buffer that are known to exist: inside its shape, or touched anyway."""
    type_ = access.buffer.type
    assert isinstance(type_, MemRefType)
    shape = type_.get_shape()
    space = access.subscripts.range().get_space()
    if DYNAMIC_INDEX in shape:
        result = isl.Set.empty(space)
        for other in nest.dependences.scop.accesses:
            if other.buffer is access.buffer and other.exact:
                result = result.union(other.element.range())
        return result
    result = isl.Set.universe(space)
    for n, size in enumerate(shape):
        axis = access.private + n
        result = result.lower_bound_val(isl.dim_type.set, axis, isl.Val(0))
        result = result.upper_bound_val(isl.dim_type.set, axis, isl.Val(size - 1))
    return result


def _is_read(nest: Nest, access: Access, elements: isl.Set) -> bool:
    """Whether an original iteration reads any of the elements, or the caller may see them."""
    if not is_allocation(access.buffer):
        return not elements.is_empty()
    return any(
        not other.is_write
        and other.buffer is access.buffer
        and not other.element.range().intersect(elements).is_empty()
        for other in nest.dependences.scop.accesses
    )
