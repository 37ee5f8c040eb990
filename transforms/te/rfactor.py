"""A reduction over all axes as one of each row, and one of what these give."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Region
from xdsl.ir.affine import AffineMap
from xdsl.rewriter import InsertPoint, Rewriter

from ...dialects import te
from ...dialects.shaped import tensor_type


@dataclass(frozen=True)
class Factored:
    """What a reduction over all axes was written as."""

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


def rfactor(compute: te.ComputeOp) -> Factored:
    """
    Reduce all axes but the last, whose extents are numbers, behind the last:

        sum = add [i = 8, j = 3] a[i, j]
        →
        rows = [i = 8] add [j = 3] a[i, j]
        sum = add [i = 8] rows[i]
    """
    *outer, last = compute.reduction
    shape = [it.extent for it in outer if isinstance(it.extent, int)]
    assert not compute.parallel and len(shape) == len(outer), "a reduction over axes of known sizes"
    types = [TensorType(tensor_type(v).get_element_type(), shape) for v in compute.outputs]
    body, combiners = compute.body.clone(), compute.combiners
    rows = te.ComputeOp(outer, compute.reads, types, body, reduction=[last], combiner=combiners)
    whole = AffineMap.identity(len(outer))
    reads = [te.Read(value, whole) for value in rows.outputs]
    block = te.compute_block(outer, reads)
    block.add_op(te.YieldOp(*block.args[len(outer) :]))
    types = [tensor_type(value) for value in compute.outputs]
    total = te.ComputeOp((), reads, types, Region(block), reduction=outer, combiner=combiners)
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
