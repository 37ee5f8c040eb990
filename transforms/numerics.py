"""What may happen to floating-point results: what a pass says that it does to them, and what a caller allows."""

from __future__ import annotations

from typing import Literal, get_args

from ..errors import StepwellError

NumericalEffect = Literal["exact", "reassociates", "approximates"]
"""What a pass does to floating-point results at most."""

FpContract = Literal["strict", "contract", "fast"]
"""
What a caller allows, from nothing to the most. `strict` keeps the order of sums and rounds every operation, with
functions from the C library; `contract` fuses products with sums, reassociates sums, divides rows by their sums through
reciprocals (those of a softmax after the product that it goes into), divides many elements by one number through both parts
of its reciprocal, may take the other one of two zeros for an extreme,
computes functions by polynomials, and rewrites graphs by equations that hold for real numbers (docs/rewrites.md); `fast`
also gives up sines and cosines of huge arguments, and computes convolutions by Winograd's algorithm (docs/winograd.md).
"""

FP_CONTRACTS: tuple[FpContract, ...] = get_args(FpContract)

DEFAULT_FP: FpContract = "contract"


def fp_contract(text: str) -> FpContract:
    """The contract of that name. Raises StepwellError when there is none."""
    for contract in FP_CONTRACTS:
        if text == contract:
            return contract
    raise StepwellError(
        f"found fp='{text}', expected one of {', '.join(FP_CONTRACTS)}; choose one of them"
    )
