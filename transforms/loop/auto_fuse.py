"""loop-auto-fuse: loops that follow each other and share data, as one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, SSAValue

from ...analysis.levels import Level
from ...dialects import loop
from ...dialects.schedule.steps import FuseLoops
from ...frozen import frozen
from ..remarks import remark
from ..step_support.auto import call_of, functions_with_loops, nest_of, target, try_step
from ..step_support.nest import Nest, Nests
from ..step_support.planning import apply
from ..step_support.refusal import Refusal
from ..step_support.trip_count import TripCount
from ..stepwell_pass import StepwellPass


@frozen
class LoopAutoFusePass(StepwellPass):
    """
    Merge loops that follow each other, have as many iterations and use a buffer in common.

    Before: `for i: B[i] = f(A[i])` then `for j: C[j] = g(B[j])`. After: `for i: B[i] = f(A[i]);
    C[i] = g(B[i])`. With `keep-parallel` (the default) two parallel loops are merged only when the result
    is parallel too. Merged loops are searched inside for more.
    """

    name = "loop-auto-fuse"
    level_in = Level.LOOP
    level_out = Level.LOOP
    numerics = "reassociates"

    keep_parallel: bool = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        nests = Nests(op)
        for function in functions_with_loops(op):
            while _fuse_one(function, nests, self.keep_parallel):
                pass


def _fuse_one(function: func.FuncOp, nests: Nests, keep_parallel: bool) -> bool:
    """Merge the first pair that can be; whether there was one."""
    nest = nest_of(function, nests)
    for first, second in _neighbours(function.body.block):
        shared = _buffers(first) & _buffers(second)
        if not shared or first.mode is not None or second.mode is not None:
            continue
        step = FuseLoops(target(function, first.loop_name.data), second.loop_name.data)
        own, other = (TripCount(nest, for_op) for for_op in (first, second))
        if own.range() != other.range():
            counts = f"{own.text(first.loop_name.data)}, {other.text(second.loop_name.data)}"
            remark(second, f"not {call_of(step)}: {counts}", missed=True)
            continue
        if keep_parallel and _loses_parallelism(step, first, second, nest):
            remark(
                second, f"not {call_of(step)}: both are parallel, and one loop is not", missed=True
            )
            continue
        names = ", ".join(sorted(f"%{loop.buffer_name(buffer) or '?'}" for buffer in shared))
        if try_step(step, nests, function, second, f"both use {names}"):
            return True
    return False


def _neighbours(block: Block) -> Iterator[tuple[loop.ForOp, loop.ForOp]]:
    """Pairs of loops with no loop between them, in the block and inside of its operations."""
    loops = [op for op in block.ops if isinstance(op, loop.ForOp)]
    yield from pairwise(loops)
    for op in block.ops:
        for region in op.regions:
            for inner in region.blocks:
                yield from _neighbours(inner)


def _buffers(for_op: loop.ForOp) -> set[SSAValue]:
    return {op.buffer for op in for_op.walk() if isinstance(op, loop.LoadOp | loop.StoreOp)}


def _loses_parallelism(step: FuseLoops, first: loop.ForOp, second: loop.ForOp, nest: Nest) -> bool:
    """Whether two parallel loops would make one that is not: tried on a copy. No when it is refused."""
    known = nest.dependences
    if not (known.is_parallel(first) and known.is_parallel(second)):
        return False
    module = nest.function.parent_op()
    assert isinstance(module, ModuleOp)
    copies = Nests(module.clone())
    try:
        apply(step, copies)
    except Refusal:
        return False
    copy, name = copies.resolve(step.loop)
    return not copy.dependences.is_parallel(copy.loop(name))
