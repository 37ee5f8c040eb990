"""Quotients and remainders as NumPy and Python round them, where they are written by those that round towards zero."""

from __future__ import annotations

from typing import NamedTuple

from xdsl.dialects import arith
from xdsl.dialects.arith import CMPI_COMPARISON_OPERATIONS
from xdsl.ir import SSAValue

from ..dialects.upstream.arith import VectorCmpiOp, VectorSelectOp
from .splats import number_in_all_lanes

Selection = arith.SelectOp | VectorSelectOp
Comparison = arith.CmpiOp | VectorCmpiOp


class FlooredDivision(NamedTuple):
    dividend: SSAValue
    divisor: SSAValue
    is_remainder: bool


def floored_division(op: Selection) -> FlooredDivision | None:
    """
    What `op` is the floored quotient or remainder of, as `dialects/scalar.py` writes them; None for other selections.

    With `r = a rem b`, that is `select(r != 0 and r xor b < 0, r + b, r)` and `select(…, a div b - 1, a div b)`.
    """
    condition, corrected, truncated = op.cond.owner, op.lhs.owner, op.rhs.owner
    if not isinstance(condition, arith.AndIOp):
        return None
    remainder = _crossing(condition)
    if remainder is None:
        return None
    a, b = remainder.operands
    if truncated is remainder:
        is_raised = isinstance(corrected, arith.AddiOp) and set(corrected.operands) == {op.rhs, b}
        return FlooredDivision(a, b, True) if is_raised else None
    if not isinstance(truncated, arith.DivSIOp) or tuple(truncated.operands) != (a, b):
        return None
    if not isinstance(corrected, arith.SubiOp) or corrected.lhs is not op.rhs:
        return None
    return FlooredDivision(a, b, False) if number_in_all_lanes(corrected.rhs) == 1 else None


def _crossing(condition: arith.AndIOp) -> arith.RemSIOp | None:
    """The remainder that a condition says is not zero, and of another sign than its divisor; None for other conditions."""
    has_rest, crosses = (value.owner for value in condition.operands)
    if not isinstance(has_rest, Comparison) or not isinstance(crosses, Comparison):
        return None
    remainder, signs = has_rest.lhs.owner, crosses.lhs.owner
    if not isinstance(remainder, arith.RemSIOp) or not isinstance(signs, arith.XOrIOp):
        return None
    is_so = (
        set(signs.operands) == {remainder.result, remainder.rhs}
        and _predicate(has_rest) == "ne"
        and _predicate(crosses) == "slt"
        and number_in_all_lanes(has_rest.rhs) == 0
        and number_in_all_lanes(crosses.rhs) == 0
    )
    return remainder if is_so else None


def _predicate(op: Comparison) -> str:
    return CMPI_COMPARISON_OPERATIONS[op.predicate.value.data]
