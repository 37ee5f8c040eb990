"""Lanes in which a mask may hold, as far as its constants say."""

from __future__ import annotations

from typing import cast

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, VectorType
from xdsl.ir import Attribute, SSAValue

from ..dialects.upstream.arith import VectorSelectOp
from .splats import number_in_all_lanes

Lanes = tuple[bool, ...]
"""One for each lane, whether a mask holds or may hold there."""


def known_lanes(mask: SSAValue) -> Lanes | None:
    """Of a mask that is a constant, or of a constant number of lanes, in which it holds; None of others."""
    match mask.owner:
        case arith.ConstantOp(value=DenseIntOrFPElementsAttr() as value):
            return tuple(map(bool, value.get_values()))
        case vector.CreateMaskOp(mask_dim_sizes=(count,)):
            number = number_in_all_lanes(count)
            (lanes,) = cast(VectorType[Attribute], mask.type).get_shape()
            return None if number is None else tuple(lane < number for lane in range(lanes))
        case _:
            return None


def lanes_that_may_hold(mask: SSAValue, lanes: int) -> Lanes:
    """
    For each lane of a 1-D vector of i1, False if it holds under no condition.

    True says nothing: conditions are not compared with each other.
    """
    number = number_in_all_lanes(mask)
    if number is not None:
        return (bool(number),) * lanes
    known = known_lanes(mask)
    if known is not None:
        return known
    match mask.owner:
        case arith.AndIOp(lhs=lhs, rhs=rhs):
            return _both(lanes_that_may_hold(lhs, lanes), lanes_that_may_hold(rhs, lanes))
        case arith.OrIOp(lhs=a, rhs=b) | arith.SelectOp(lhs=a, rhs=b):
            return _either(lanes_that_may_hold(a, lanes), lanes_that_may_hold(b, lanes))
        case VectorSelectOp(cond=cond, lhs=lhs, rhs=rhs):
            chosen = _both(lanes_that_may_hold(cond, lanes), lanes_that_may_hold(lhs, lanes))
            return _either(chosen, lanes_that_may_hold(rhs, lanes))
        case vector.ShuffleOp() as op:
            return _shuffled(op)
        case _:
            return (True,) * lanes


def _both(a: Lanes, b: Lanes) -> Lanes:
    return tuple(x and y for x, y in zip(a, b, strict=True))


def _either(a: Lanes, b: Lanes) -> Lanes:
    return tuple(x or y for x, y in zip(a, b, strict=True))


def _shuffled(op: vector.ShuffleOp) -> Lanes:
    """A lane that is chosen from neither vector, -1, is undefined."""
    sources = [(value, _lane_count(value)) for value in (op.v1, op.v2)]
    offered = [lane for value, lanes in sources for lane in lanes_that_may_hold(value, lanes)]
    return tuple(lane < 0 or offered[lane] for lane in op.mask.get_values())


def _lane_count(value: SSAValue) -> int:
    return cast(VectorType[Attribute], value.type).get_shape()[0]
