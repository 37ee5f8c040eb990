"""What lanes of a vector loop compute differently, and what they would have to compute one after the other."""

from __future__ import annotations

from collections.abc import Container, Iterator

from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.traits import is_side_effect_free

from ..dialects import loop
from .dependence import Dependences
from .effects import has_no_effect
from .operations import operands_of, operations_in, operations_within

_Element = tuple[Block | None, SSAValue, AffineMap, tuple[SSAValue, ...]]
"""The block of a load or store, its buffer and its subscripts."""


def varying_values(for_op: loop.ForOp) -> set[SSAValue]:
    """The values that may differ between iterations: all but those computed from nothing of the body."""
    found: set[SSAValue] = {for_op.induction_variable}
    for op in operations_in(for_op):
        kind = type(op)
        is_access = kind is loop.LoadOp or kind is loop.StoreOp
        is_pure = not (is_access or op.regions) and (has_no_effect(kind) or is_side_effect_free(op))
        if not is_pure or not found.isdisjoint(operands_of(op)):
            found.update(op.results)
    return found


def recurrences(
    for_op: loop.ForOp, reductions: Container[Operation]
) -> Iterator[tuple[loop.LoadOp, loop.StoreOp]]:
    """
    Loads and stores of one element, which are none of the loads and stores of `reductions`: what one iteration loads is
    what the one before it has stored, so that they have to run one after the other, where two of them reach the pair.

    Only what certainly is such a pair is found: both in one block, with the same subscripts, which do not vary, of a
    buffer that all iterations share.
    """
    variable = for_op.induction_variable
    fixed = [
        op
        for op in operations_within(for_op.body)
        if (type(op) is loop.LoadOp or type(op) is loop.StoreOp)
        and not any(value is variable for value in operands_of(op))
        and op not in reductions
    ]
    if len(set(map(type, fixed))) < 2:
        return  # nearly always: before it is found out what else varies
    varying = varying_values(for_op)
    loads: dict[_Element, loop.LoadOp] = {}
    stores: dict[_Element, loop.StoreOp] = {}
    for op in fixed:
        if op.buffer in varying or any(value in varying for value in op.operands_):
            continue
        element = op.parent, op.buffer, op.map.data, tuple(op.operands_)
        is_known = element in loads and element in stores
        if isinstance(op, loop.LoadOp):
            loads.setdefault(element, op)
        else:
            stores.setdefault(element, op)
        if not is_known and element in loads and element in stores:
            yield loads[element], stores[element]


def is_recurrence(
    pair: tuple[loop.LoadOp, loop.StoreOp], for_op: loop.ForOp, dependences: Dependences
) -> bool:
    """
    Whether two iterations of the loop reach a pair that `recurrences` found, with the same iterations of the loops around.

    In a loop of at most one iteration, or under a condition that one of them fulfils, nothing is handed on.
    """
    load, store = (dependences.scop.of(op) for op in pair)
    return any(found.is_carried_by(for_op) for found in dependences.possible(load, store))
