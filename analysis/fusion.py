"""Which computes can share their loops."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineMap

from ..dialects import te


def _extents(iterators: Sequence[te.Iterator]) -> list[int | SSAValue]:
    return [iterator.extent for iterator in iterators]


def is_epilogue_of(consumer: te.ComputeOp, anchor: te.ComputeOp) -> bool:
    """
    Whether `consumer` can run where the anchor's element is finished.

    It is element-wise over the same extents, is the only user, and reads the anchor nowhere but at its
    own point.
    """
    if consumer.combining is not None or anchor.combining is None:
        return False
    if _extents(consumer.iterators) != _extents(anchor.parallel):
        return False
    if any(use.operation is not consumer for use in anchor.result.uses):
        return False
    identity = AffineMap.identity(len(consumer.extents))
    return all(
        read.map == identity and read.pad is None
        for read in consumer.reads
        if read.source is anchor.result
    )
