"""Loops of LLVM's operations that are as good on scalars as on vectors."""

from __future__ import annotations

from collections.abc import Collection

from xdsl.dialects import llvm
from xdsl.ir import Block, Operation

from ..dialects.upstream.llvm import AtomicRMWOp
from .operations import operations_of

_COUNTING = (llvm.AddOp, llvm.MulOp, llvm.ICmpOp, llvm.ConstantOp, llvm.GEPOp)

_BOUNDING = frozenset({"llvm.smin.i64", "llvm.smax.i64"})
"""What bounds are the smaller or the larger of."""


def has_no_vectors(blocks: Collection[Block], starts_threads: str) -> bool:
    """Whether there is nothing in the blocks of a loop to make vectors of; the function called so starts threads."""
    return only_scatters(blocks) or any(
        _keeps_scalars(op, starts_threads) for block in blocks for op in operations_of(block)
    )


def _keeps_scalars(op: Operation, starts_threads: str) -> bool:
    """Whether an operation happens once for each iteration, one after the other: it starts threads, or is atomic."""
    if isinstance(op, llvm.CallOp):
        return op.callee is not None and op.callee.string_value() == starts_threads
    return isinstance(op, AtomicRMWOp)


def only_scatters(blocks: Collection[Block]) -> bool:
    """
    Whether the blocks of a loop compute nothing but addresses, read no memory, and store next to nothing that they store.

    Such a loop writes a column of a border, say: `for i: image[i, 0] = 0`.
    """
    return all(_is_allowed(op, blocks) for block in blocks for op in operations_of(block))


def _is_allowed(op: Operation, blocks: Collection[Block]) -> bool:
    if isinstance(op, llvm.StoreOp):
        return _is_apart(op, blocks)
    if isinstance(op, llvm.CallIntrinsicOp):
        return op.intrin.data in _BOUNDING
    return isinstance(op, _COUNTING) or bool(op.successors)


def _is_apart(store: llvm.StoreOp, blocks: Collection[Block]) -> bool:
    """Whether the place of a store is within arrays, and the same in the innermost of them in every iteration."""
    address = store.ptr.owner
    if not isinstance(address, llvm.GEPOp):
        return False
    *outer, innermost = address.rawConstantIndices.iter_values()
    if not outer:
        return False
    if innermost != llvm.GEP_USE_SSA_VAL:
        return True
    place = address.ssa_indices[-1].owner
    return (place if isinstance(place, Block) else place.parent) not in blocks
