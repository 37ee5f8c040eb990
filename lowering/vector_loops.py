"""What is known of a vector loop however often it is written: once for each iteration of an unrolled loop around."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import field

from xdsl.dialects import memref
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineExpr

from ..analysis.interleaved import LaneStores
from ..analysis.neighbours import ChosenLoad, chosen_loads
from ..analysis.operations import operands_before_and_after, operations_of_kinds
from ..analysis.recurrences import varying_values
from ..analysis.reductions import ReductionUpdate
from ..dialects import loop
from ..frozen import frozen


@frozen
class LaneAccess:
    """A load or store in a vector loop."""

    buffer: SSAValue
    subscripts: tuple[AffineExpr, ...]
    operands: tuple[SSAValue, ...]
    """of the subscripts"""
    varies: bool
    """whether the subscripts differ from lane to lane"""
    is_contiguous: bool
    """whether neighbouring lanes use neighbouring elements"""


@frozen
class VectorLoop:
    variable: SSAValue
    step: int
    low: AffineExpr
    low_operands: tuple[SSAValue, ...]
    reductions: Mapping[Operation, ReductionUpdate]
    """the updates of one element by all lanes, by the operation that combines"""
    running: Mapping[Operation, ReductionUpdate]
    """the running reductions, by the operation that combines and by the store"""
    stores: LaneStores
    """what is known of the stores of all vector loops of the function"""
    chosen: Mapping[memref.LoadOp, ChosenLoad]
    """the loads at computed indices that differ from lane to lane"""
    scalars: Collection[Operation]
    """what computes indices for these loads alone, which need them in few lanes"""
    accesses: dict[Operation, LaneAccess] = field(default_factory=dict[Operation, LaneAccess])
    """those that have been looked at"""

    @staticmethod
    def of(
        for_op: loop.ForOp,
        updates: Mapping[Operation, ReductionUpdate],
        running: Collection[ReductionUpdate],
        stores: LaneStores,
    ) -> VectorLoop:
        """
        `updates` are the reductions of the function, `running` the running ones of the loop, `stores` what is known
        of the function's stores.
        """
        chosen = chosen_loads(for_op) or {}
        low = for_op.lower_map.data
        low_operands, _ = operands_before_and_after(for_op, low.num_dims)
        return VectorLoop(
            for_op.induction_variable,
            for_op.step.value.data,
            low.results[0],
            low_operands,
            _reductions(for_op, updates),
            {op: update for update in running for op in (update.combine, update.store)},
            stores,
            chosen,
            _only_for(chosen),
        )


def _reductions(
    for_op: loop.ForOp, updates: Mapping[Operation, ReductionUpdate]
) -> dict[Operation, ReductionUpdate]:
    loads = operations_of_kinds(for_op, {loop.LoadOp}) if updates else ()
    found = [update for update in map(updates.get, loads) if update is not None]
    if not found:
        return {}
    varying = varying_values(for_op)
    return {
        update.combine: update
        for update in found
        if not any(v in varying for v in update.load.operands_)
    }


def _only_for(chosen: Mapping[memref.LoadOp, ChosenLoad]) -> set[Operation]:
    """What is used by indices of neighbours, and by nothing else."""
    chains = [op for each in chosen.values() if each.neighbours for op in each.neighbours.chain]
    found: set[Operation] = {load for load, each in chosen.items() if each.neighbours}
    grown = True
    while grown:
        more = {
            op
            for op in chains
            if op not in found and all(use.operation in found for use in op.results[0].uses)
        }
        found |= more
        grown = bool(more)
    return found - chosen.keys()
