"""Whether a loop may run over its end: the extra iterations touch only padding."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import islpy as isl
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType

from ...analysis.alias import is_allocation
from ...analysis.scop import Access
from ...dialects import loop
from ...dialects.schedule import Step
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
