"""Which computes of a kernel share their loops."""

from __future__ import annotations

from xdsl.ir.affine import AffineMap

from ...dialects import te
from .nests import Space


def is_epilogue_of(consumer: te.ComputeOp, anchor: te.ComputeOp) -> bool:
    """
    Whether `consumer` can run where the anchor's elements are finished.

    It is element-wise over the same extents, is the only user, and reads the anchor nowhere but at its
    own point.
    """
    if consumer.combiners or not anchor.combiners:
        return False
    if Space.of(consumer).parallel != Space.of(anchor).parallel:
        return False
    if any(use.operation is not consumer for result in anchor.outputs for use in result.uses):
        return False
    identity = AffineMap.identity(len(consumer.extents))
    return all(
        read.map == identity and read.pad is None
        for read in consumer.reads
        if read.source in anchor.outputs
    )
