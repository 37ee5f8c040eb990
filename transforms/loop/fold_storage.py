"""fold_storage: an axis of a scratch buffer as a circular buffer, which keeps the last few elements only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import islpy as isl
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, NoneAttr
from xdsl.rewriter import Rewriter

from ...analysis.affine_isl import in_same_iterations
from ...analysis.dependence import Witness
from ...analysis.scop import Access
from ...analysis.values import last_writes
from ...dialects import loop
from ...dialects.affine_bounds import without_divisions
from ...dialects.loop import LoopKind, RunMode
from ...dialects.schedule.steps import FoldStorage
from ...dialects.shaped import memref_type
from ...frozen import frozen
from ..step_support.handles import buffer_handle
from ..step_support.made import OneBuffer
from ..step_support.nest import Nest, Nests
from ..step_support.planning import planner, step_pass
from ..step_support.refusal import access_text, refuse
from ..step_support.rewrite import set_subscripts
from ..step_support.scratch import known_accesses, scratch_buffer
from ..step_support.touches import make_serial

LARGER_FACTORS = 4
"""How many factors above one that is refused are tried, to name the least that is legal."""


@frozen
class FoldStoragePlan:
    """The buffer's operation, the type it gets, and the loops that cannot run in any order then."""

    nest: Nest
    alloc: loop.AllocOp
    type: MemRefType
    axis: int
    serial: tuple[loop.ForOp, ...]

    def apply(self) -> OneBuffer:
        """`T[i]` → `T[i mod factor]`."""
        old = self.alloc.buffer
        new = Rewriter.replace_value_with_new_type(old, self.type)
        factor = self.type.get_shape()[self.axis]
        for use in list(new.uses):
            op = use.operation
            assert isinstance(op, loop.LoadOp | loop.StoreOp | loop.PrefetchOp)
            exprs, values = list(op.map.data.results), list(op.operands_)
            exprs[self.axis] = without_divisions(
                exprs[self.axis] % factor, [(None, None)] * len(values), [1] * len(values)
            )
            set_subscripts(op, exprs, values)
        make_serial(self.serial)
        self.nest.identities.moved(old, new)
        return OneBuffer(buffer_handle(self.nest, new))


@planner(FoldStorage)
def plan_fold_storage(step: FoldStorage, nests: Nests) -> FoldStoragePlan:
    """
    Legal when every load still sees the value that it saw: the last store before it to the place of its element
    is one to the element itself. The function, and no view, makes all accesses, and they are affine.

    What stores to which place is found by Feautrier's dataflow analysis, as for whole buffers (`last_writes`).
    The circular buffers are those of Halide's `fold_storage`.
    """
    nest, name = nests.resolve(step.buffer)
    alloc = scratch_buffer(step, nest, name)
    type_ = _folded_type(step, name, memref_type(alloc.buffer))
    for use in alloc.buffer.uses:
        if not isinstance(use.operation, loop.LoadOp | loop.StoreOp | loop.PrefetchOp):
            raise refuse(
                step,
                f"'{use.operation.name}' uses '%{name}' as a whole, so all of its elements must be there",
                remedy="fold it before making views of it",
            )
    writes, reads = known_accesses(step, nest, alloc)
    folding = _Folding(step, nest, writes, reads)
    folding.check_values(memref_type(alloc.buffer).get_shape()[step.axis])
    return FoldStoragePlan(nest, alloc, type_, step.axis, folding.serial())


def _folded_type(step: FoldStorage, name: str, type_: MemRefType) -> MemRefType:
    """The type of what is kept. Raises the refusal when the step's numbers do not fit the buffer."""
    sizes = list(type_.get_shape())
    if not 0 <= step.axis < len(sizes):
        raise refuse(
            step,
            f"axis is {step.axis}, and '%{name}' has {len(sizes)} axes",
            remedy="count them from 0",
        )
    extent = sizes[step.axis]
    if extent == DYNAMIC_INDEX:
        raise refuse(
            step,
            f"the size of '%{name}' along axis {step.axis} is not constant",
            remedy="give it a static shape",
        )
    if not 1 <= step.factor < extent:
        raise refuse(
            step,
            f"factor is {step.factor}, expected at least 1 and less than the {extent} elements that '%{name}' has "
            f"along axis {step.axis}",
        )
    if not isinstance(type_.layout, NoneAttr):
        raise refuse(step, f"'%{name}' has the layout {type_.layout} already")
    sizes[step.axis] = step.factor
    return MemRefType(type_.element_type, sizes, type_.layout, type_.memory_space)


@frozen
class _Folding:
    """What becomes of a buffer's accesses when elements that are a multiple of the factor apart share a place."""

    step: FoldStorage
    nest: Nest
    writes: Sequence[Access]
    reads: Sequence[Access]

    def check_values(self, extent: int) -> None:
        """Raise the refusal when a load would see another element than its own."""
        found = self._overwritten(self.step.factor)
        if found is None:
            return
        write, read, witness = found
        larger = range(self.step.factor + 1, min(self.step.factor + 1 + LARGER_FACTORS, extent))
        legal = next((factor for factor in larger if self._overwritten(factor) is None), None)
        raise refuse(
            self.step,
            f"{access_text(write)} would overwrite what {access_text(read)} reads: iterations {witness} have two "
            "elements in one place",
            remedy=f"factor={legal} keeps both"
            if legal
            else "fuse_loops what fills the buffer with what reads it first, or take a larger factor",
        )

    def _overwritten(self, factor: int) -> tuple[Access, Access, Witness] | None:
        """A store, and a load that would see its value instead of that of another element."""
        places = [self._place(write, factor) for write in self.writes]
        for read in self.reads:
            seen = last_writes(places, self._place(read, factor))
            for write, place in zip(self.writes, places, strict=True):
                others = seen[place].reverse().subtract(_same_element(write, read))
                if not others.is_empty():
                    return write, read, self.nest.dependences.witness(others, write, read)
        return None

    def _place(self, access: Access, factor: int) -> Access:
        """The access as one of places in what is kept."""
        subscripts = list(access.place.subscripts)
        index = subscripts[self.step.axis]
        assert index is not None  # all accesses are affine
        subscripts[self.step.axis] = index % factor
        return access.at(replace(access.place, subscripts=tuple(subscripts)))

    def serial(self) -> tuple[loop.ForOp, ...]:
        """
        The loops said to run in any order of which two iterations have different elements in one place.

        Raises the refusal when such a loop is marked to run in threads or vector lanes.
        """
        found: list[loop.ForOp] = []
        for for_op in self.nest.loops():
            marked = for_op.mode is not None and for_op.mode.data is not RunMode.UNROLL
            if for_op.kind.data is LoopKind.SERIAL and not marked:
                continue
            clash = self._clash(for_op)
            if clash is None:
                continue
            if for_op.mode is not None and marked:
                one, other, witness = clash
                raise refuse(
                    self.step,
                    f"loop '{for_op.loop_name.data}' is marked '{for_op.mode.data.value}', and {access_text(one)} and "
                    f"{access_text(other)} in iterations {witness} have two elements in one place",
                    remedy="mark loops after all other steps",
                )
            found.append(for_op)
        return tuple(found)

    def _clash(self, for_op: loop.ForOp) -> tuple[Access, Access, Witness] | None:
        """Two accesses, one of them a store, that share a place but no element in two iterations of a loop."""
        inside = [a for a in (*self.writes, *self.reads) if for_op in a.loops]
        for one in inside:
            depth = one.loops.index(for_op)
            place = self._place(one, self.step.factor).element
            for other in inside:
                if not (one.is_write or other.is_write):
                    continue
                pairs = place.apply_range(self._place(other, self.step.factor).element.reverse())
                pairs = in_same_iterations(pairs.subtract(_same_element(one, other)), depth)
                pairs = pairs.order_lt(isl.dim_type.in_, depth, isl.dim_type.out, depth)
                if not pairs.is_empty():
                    return one, other, self.nest.dependences.witness(pairs, one, other)
        return None


def _same_element(one: Access, other: Access) -> isl.Map:
    """The iterations of two accesses that are of the same element."""
    return one.element.apply_range(other.element.reverse())


LoopFoldStoragePass = step_pass(FoldStorage)
