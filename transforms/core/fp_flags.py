"""The numerical contract on operations that do not say theirs: those of programs written below the te level."""

from __future__ import annotations

from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.utils import FastMathFlag

from ...analysis.levels import Level
from ...analysis.operations import operations_of_kinds
from ...dialects.scalar import EXACT
from ...frozen import frozen
from ..numerics import DEFAULT_FP, FpContract, NumericalEffect, fp_contract
from ..stepwell_pass import StepwellPass

SCALAR_FLAGS: dict[FpContract, arith.FastMathFlagsAttr | None] = {
    "strict": None,
    "contract": arith.FastMathFlagsAttr([FastMathFlag.ALLOW_CONTRACT]),
    "fast": arith.FastMathFlagsAttr("fast"),
}
"""Of sums, differences and products: `contract` lets a product and the sum that it goes into be rounded once."""

_EITHER_ZERO = arith.FastMathFlagsAttr([FastMathFlag.NO_SIGNED_ZEROS])
"""Of maxima and minima, which are NaN where an operand is in any case: which of two zeros they are is left open."""


@frozen
class CoreFpFlagsPass(StepwellPass):
    """
    Give sums, differences, products, maxima and minima of floats without fast-math flags those of the numerical contract.

    `contract` (default) lets a product and the sum it goes into be one rounding, and the maximum or minimum of zeros of
    both signs be either, as NumPy and PyTorch do; `fast` allows all that LLVM's flags do, but not of maxima and minima to
    be anything where an operand is NaN; `strict` changes nothing. Flags that are written stay, and so does an operation
    marked `stepwell.exact`. What te → loop makes of sums, differences and products has its flags already.

    Before: `arith.mulf %a, %b`. After: `arith.mulf %a, %b fastmath<contract>`.
    """

    name = "core-fp-flags"
    level_in: ClassVar[Level] = Level.CORE
    level_out: ClassVar[Level] = Level.CORE
    numerics: ClassVar[NumericalEffect] = "reassociates"

    fp: str = DEFAULT_FP

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        flags = SCALAR_FLAGS[fp_contract(self.fp)]
        if flags is None:
            return
        for inner in operations_of_kinds(op, _MARKED):
            assert isinstance(inner, _Marked)
            if not inner.fastmath.data and EXACT not in inner.attributes:
                inner.fastmath = _EITHER_ZERO if isinstance(inner, _Extreme) else flags


_Extreme = arith.MaximumfOp | arith.MinimumfOp | arith.MaxnumfOp
_Marked = arith.AddfOp | arith.SubfOp | arith.MulfOp | _Extreme
_MARKED = frozenset(_Marked.__args__)
