"""storage_align: an axis of a scratch buffer padded, so that rows begin where they should."""

from __future__ import annotations

from math import prod

from xdsl.dialects import memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, NoneAttr
from xdsl.rewriter import Rewriter

from ...dialects import loop
from ...dialects.schedule.steps import StorageAlign
from ...frozen import frozen
from ..step_support.handles import buffer_handle
from ..step_support.made import OneBuffer
from ..step_support.nest import Nest, Nests
from ..step_support.planning import planner, step_pass
from ..step_support.refusal import refuse
from ..step_support.scopes import check_room


@frozen
class StorageAlignPlan:
    """The buffer's operation and the type it gets."""

    nest: Nest
    alloc: loop.AllocOp
    type: MemRefType

    def apply(self) -> OneBuffer:
        old = self.alloc.buffer
        new = Rewriter.replace_value_with_new_type(old, self.type)
        self.nest.identities.moved(old, new)
        return OneBuffer(buffer_handle(self.nest, new))


@planner(StorageAlign)
def plan_storage_align(step: StorageAlign, nests: Nests) -> StorageAlignPlan:
    """
    Legal for scratch buffers that only loads and stores use: nobody else sees their layout.

    The axis grows to the first size for which the stride of the axis before it, in elements, is `offset`
    modulo `factor`.
    """
    nest, name = nests.resolve(step.buffer)
    buffer = nest.buffer(name)
    alloc = buffer.owner
    if not isinstance(alloc, loop.AllocOp):
        raise refuse(
            step,
            f"'%{name}' is not a scratch buffer of this function, so its layout is not ours to choose",
            remedy="stage it first",
        )
    type_ = alloc.buffer.type
    assert isinstance(type_, MemRefType)
    sizes = list(type_.get_shape())
    if not 1 <= step.axis < len(sizes):
        raise refuse(
            step,
            f"axis is {step.axis}, expected 1 to {len(sizes) - 1}: padding it must move the next axis "
            f"before it, and '%{name}' has {len(sizes)}",
        )
    if step.factor < 1 or not 0 <= step.offset < step.factor:
        raise refuse(
            step,
            f"factor is {step.factor} and offset {step.offset}, expected 0 <= offset < factor",
        )
    if not isinstance(type_.layout, NoneAttr):
        raise refuse(step, f"'%{name}' has the layout {type_.layout} already")
    if DYNAMIC_INDEX in sizes[step.axis :]:
        raise refuse(
            step, f"the sizes of '%{name}' are not constant", remedy="give it a static shape"
        )
    for use in buffer.uses:
        if not isinstance(
            use.operation, loop.LoadOp | loop.StoreOp | memref.LoadOp | memref.StoreOp
        ):
            raise refuse(
                step,
                f"'{use.operation.name}' uses '%{name}' as a whole, so its layout must stay",
                remedy="pad before making views of it",
            )
    inner = prod(sizes[step.axis + 1 :])
    aligned = _aligned_size(sizes[step.axis], inner, step.factor, step.offset)
    if aligned is None:
        raise refuse(
            step,
            f"the stride is a multiple of {inner} elements, which is never {step.offset} modulo "
            f"{step.factor}",
            remedy="choose another offset, or pad an axis further inside first",
        )
    sizes[step.axis] = aligned
    padded = MemRefType(type_.element_type, sizes, type_.layout, type_.memory_space)
    check_room(step, name, padded, alloc.scope.data)
    return StorageAlignPlan(nest, alloc, padded)


def _aligned_size(size: int, inner: int, factor: int, offset: int) -> int | None:
    """The first size from `size` on for which `size * inner` is `offset` modulo `factor`."""
    candidates = range(size, size + factor)
    return next((c for c in candidates if c * inner % factor == offset), None)


LoopStorageAlignPass = step_pass(StorageAlign)
