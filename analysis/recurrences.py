"""What lanes of a vector loop compute differently, and what they would have to compute one after the other."""

from __future__ import annotations

from collections.abc import Container

from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.traits import is_side_effect_free

from ..dialects import loop

_Element = tuple[Block | None, SSAValue, AffineMap, tuple[SSAValue, ...]]
"""The block of a load or store, its buffer and its subscripts."""


def varying_values(for_op: loop.ForOp) -> set[SSAValue]:
    """The values that may differ between iterations: all but those computed from nothing of the body."""
    found: set[SSAValue] = {for_op.induction_variable}
    for op in for_op.body.walk():
        is_pure = not op.regions and is_side_effect_free(op)
        if not is_pure or any(v in found for v in op.operands):
            found.update(op.results)
    return found


def find_recurrence(
    for_op: loop.ForOp, reductions: Container[Operation]
) -> tuple[loop.LoadOp, loop.StoreOp] | None:
    """
    A load and a store of one element in each iteration, which are none of the loads and stores of `reductions`: what one
    iteration loads is what the one before it has stored, so that they have to run one after the other.

    Only what certainly is such a pair is found: both in one block, with the same subscripts, which do not vary.
    """
    varying = varying_values(for_op)
    loads: dict[_Element, loop.LoadOp] = {}
    stores: dict[_Element, loop.StoreOp] = {}
    for op in for_op.body.walk():
        if not isinstance(op, loop.LoadOp | loop.StoreOp) or op in reductions:
            continue
        if any(value in varying for value in op.operands_):
            continue
        element = op.parent, op.buffer, op.map.data, tuple(op.operands_)
        if isinstance(op, loop.LoadOp):
            loads.setdefault(element, op)
        else:
            stores.setdefault(element, op)
        if element in loads and element in stores:
            return loads[element], stores[element]
    return None
