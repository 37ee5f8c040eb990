"""Whether a loop may run over its end: the extra iterations touch only padding."""

from __future__ import annotations

import islpy as isl
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType

from ...analysis.scop import Access
from ...dialects import loop
from ...dialects.schedule import Step
from .nest import Nest
from .order import TimeSpace
from .refusal import refuse


def check_overrun(step: Step, nest: Nest, for_op: loop.ForOp, factor: int) -> None:
    """
    Raise the refusal of `step` unless rounding the loop up to a multiple of `factor` is harmless.

    Every element the extra iterations touch must exist, and what they write must be read by nobody
    else. Only scratch buffers with padding have such elements.
    """
    inside = nest.dependences.scop.inside(for_op)
    for access in inside:
        extra = _overrun(nest, access, for_op, factor)
        if extra is None:
            raise refuse(step, "an access or bound inside is not affine, so the overrun is unknown")
        name = access.buffer.name_hint or "a buffer"
        outside = extra.subtract(_shape(access, extra))
        if not outside.is_empty():
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


def _overrun(nest: Nest, access: Access, for_op: loop.ForOp, factor: int) -> isl.Set | None:
    """The elements touched by the iterations that rounding up adds."""
    if not access.exact or TimeSpace(nest).lower_bound(for_op) is None:
        return None
    position = access.loops.index(for_op)
    if len(access.loops) != position + 1 and not _is_rectangular(access, position):
        return None
    step = for_op.step.value.data
    added = isl.Set.empty(access.domain.get_space())
    for k in range(1, factor):
        added = added.union(_shifted(access.domain, position, k * step))
    added = added.subtract(access.domain)
    return added.apply(access.subscripts)


def _is_rectangular(access: Access, position: int) -> bool:
    """Whether the loops inside do not depend on the loop at `position`."""
    name = access.domain.get_dim_name(isl.dim_type.set, position)
    inner = access.loops[position + 1 :]
    variable = access.loops[position].induction_variable
    return name is not None and all(
        variable not in (*op.lower_operands, *op.upper_operands) for op in inner
    )


def _shifted(domain: isl.Set, position: int, amount: int) -> isl.Set:
    """The set moved by `amount` along one dimension."""
    space = domain.get_space()
    local = isl.LocalSpace.from_space(space)
    moved = isl.MultiAff.identity(space.map_from_set())
    aff = isl.Aff.var_on_domain(local, isl.dim_type.set, position).add_constant_val(isl.Val(amount))
    return domain.apply(isl.Map.from_multi_aff(moved.set_aff(position, aff)))


def _shape(access: Access, like: isl.Set) -> isl.Set:
    """All elements of the access's buffer."""
    type_ = access.buffer.type
    assert isinstance(type_, MemRefType)
    result = isl.Set.universe(like.get_space())
    for n, size in enumerate(type_.get_shape()):
        axis = access.private + n
        result = result.lower_bound_val(isl.dim_type.set, axis, isl.Val(0))
        if size != DYNAMIC_INDEX:
            result = result.upper_bound_val(isl.dim_type.set, axis, isl.Val(size - 1))
    return result


def _is_read(nest: Nest, access: Access, elements: isl.Set) -> bool:
    """Whether an original iteration reads any of the elements, or the caller may see them."""
    if not isinstance(access.buffer.owner, loop.AllocOp):
        return not elements.is_empty()
    return any(
        not other.is_write
        and other.buffer is access.buffer
        and not other.domain.apply(other.element).intersect(elements).is_empty()
        for other in nest.dependences.scop.accesses
    )
