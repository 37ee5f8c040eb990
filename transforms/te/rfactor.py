"""A reduction over several axes as one over some of them, and one over the others of what that gives."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IndexType, TensorType
from xdsl.ir import Block, Region
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.rewriter import InsertPoint, Rewriter

from ...dialects import te
from ...dialects.shaped import tensor_type
from ...frozen import frozen


@frozen
class Factored:
    """What a reduction was written as."""

    compute: te.ComputeOp
    """the reduction, which stands nowhere"""
    rows: te.ComputeOp
    total: te.ComputeOp

    def undo(self) -> None:
        """Put the reduction back as it was."""
        Rewriter.insert_op(self.compute, InsertPoint.before(self.rows))
        for old, made in zip(self.compute.outputs, self.total.outputs, strict=True):
            made.replace_all_uses_with(old)
        for op in (self.total, self.rows):
            op.detach()
            op.erase()

    def finish(self) -> None:
        """Leave it as it is now."""
        self.compute.erase()


def rfactor(compute: te.ComputeOp, first: Sequence[int]) -> Factored:
    """
    Reduce the axes `first` before the others, whose extents and those of the result are numbers:

        sum = add [i = 8, j = 3] a[i, j]
        →
        rows = [i = 8] add [j = 3] a[i, j]
        sum = add [i = 8] rows[i]
    """
    iterators, count = compute.iterators, len(compute.parallel)
    kept = [n for n in range(len(iterators)) if n not in first]
    parallel, reduced = [iterators[n] for n in kept], [iterators[n] for n in first]
    shape = [it.extent for it in parallel if isinstance(it.extent, int)]
    assert len(shape) == len(parallel), "a reduction over axes of known sizes"
    types = [TensorType(tensor_type(v).get_element_type(), shape) for v in compute.outputs]
    body, combiners = compute.body.clone(), compute.combiners
    places = [(*kept, *first).index(n) for n in range(len(iterators))]
    _reorder_iterators(body.block, places)
    rows = te.ComputeOp(
        parallel, _reordered(compute, places), types, body, reduction=reduced, combiner=combiners
    )
    whole = AffineMap.identity(len(parallel))
    reads = [te.Read(value, whole) for value in rows.outputs]
    block = te.compute_block(parallel, reads)
    block.add_op(te.YieldOp(*block.args[len(parallel) :]))
    types = [tensor_type(value) for value in compute.outputs]
    results, rest = parallel[:count], parallel[count:]
    total = te.ComputeOp(results, reads, types, Region(block), reduction=rest, combiner=combiners)
    for made in (rows, total):
        made.location = compute.location
        made.attributes |= compute.attributes
        for old, value in zip(compute.outputs, made.outputs, strict=True):
            value.name_hint = old.name_hint
    Rewriter.insert_op((rows, total), InsertPoint.before(compute))
    for old, made in zip(compute.outputs, total.outputs, strict=True):
        old.replace_all_uses_with(made)
    compute.detach()
    return Factored(compute, rows, total)


def _reordered(compute: te.ComputeOp, places: Sequence[int]) -> list[te.Read]:
    """A compute's reads where each of its iterators has a new place."""
    count, dims = len(places), [AffineExpr.dimension(place) for place in places]
    return [
        te.Read(
            read.source,
            read.map and read.map.replace_dims_and_symbols(dims, [], count, 0),
            read.pad,
        )
        for read in compute.reads
    ]


def _reorder_iterators(block: Block, places: Sequence[int]) -> None:
    """Let the first arguments of a body stand in their new places."""
    old = block.args[: len(places)]
    for number in range(len(places)):
        arg = block.insert_arg(IndexType(), number)
        arg.name_hint = old[places.index(number)].name_hint
    for arg, place in zip(old, places, strict=True):
        arg.replace_all_uses_with(block.args[place])
        block.erase_arg(arg)
