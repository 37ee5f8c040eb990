"""Whether a loop may run over its end: the extra iterations touch only padding."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import islpy as isl
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType

from ...analysis.alias import is_allocation
from ...analysis.counters import counters, extent, linear
from ...analysis.scop import Access
from ...dialects import loop
from ...dialects.affine_bounds import Range
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
    else. Only scratch buffers with padding have such elements.
    """
    _check(step, nest, factors, lambda access: False)


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

    _check(step, nest, factors, guards)
    return tuple(found)


def _check(
    step: Step,
    nest: Nest,
    factors: Mapping[loop.ForOp, int],
    guards: Callable[[Access], bool],
) -> None:
    """Raise the refusal, unless each access of what does not exist is guarded."""
    scop = nest.dependences.scop
    for for_op in factors:
        if not TripCount(nest, for_op).is_known:
            name = for_op.loop_name.data
            raise refuse(step, f"the bounds of '{name}' are not affine, so the overrun is unknown")
        check_effects(step, for_op)
    for access in scop.accesses:
        if not any(for_op in factors for for_op in access.loops):
            continue
        if not access.exact:
            raise refuse(step, "an access inside is not affine, so the overrun is unknown")
        if _is_seen_harmless(nest, access, factors):
            continue
        extra = _overrun(nest, access, factors)
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


def _is_seen_harmless(nest: Nest, access: Access, factors: Mapping[loop.ForOp, int]) -> bool:
    """
    Whether the ranges of subscripts show that the extra iterations touch elements that exist, and write none that is read:
    with the loops rounded up no subscript leaves its axis, and what is written beyond the least end of each loop is, along some
    axis, where no load is. What they do not show is for exact sets to say.
    """
    assert access.op.parent is not None
    rounded = nest.frames.of(access.op.parent, factors)
    forms = [None if e is None else linear(e, rounded.around) for e in access.place.subscripts]
    ranges = counters(rounded.around).ranges
    shape = memref_type(access.buffer).get_shape()
    if None in forms or not all(
        _is_within(extent(form, ranges), size)
        for form, size in zip(forms, shape, strict=True)
        if form is not None
    ):
        return False
    if not access.is_write:
        return True
    if not is_allocation(access.buffer):
        return False
    reads = [
        a for a in nest.dependences.scop.accesses if a.buffer is access.buffer and not a.is_write
    ]
    for number, for_op in enumerate(rounded.loops):
        if for_op not in factors:
            continue
        position = rounded.around.parameters + number
        beyond = list(ranges)
        beyond[position] = TripCount(nest, for_op).range()[0], ranges[position][1]
        written = [extent(form, beyond) for form in forms if form is not None]
        if not all(_is_elsewhere(read, written) for read in reads):
            return False
    return True


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


def _overrun(nest: Nest, access: Access, factors: Mapping[loop.ForOp, int]) -> isl.Set:
    """The elements touched by the iterations that rounding up adds."""
    block = access.op.parent
    assert block is not None
    rounded = nest.frames.of(block, factors).domain
    rounded = rounded.set_tuple_name(access.name)
    return rounded.subtract(access.domain).apply(access.subscripts)


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
