"""
Which operation becomes which polynomial, and how exact it is.

Two need nothing of the kind: `math.sqrt` is an instruction, and `math.rsqrt` becomes a square root and a
division (at most 1 unit). What is not here, cbrt, is called in the C library, lane by lane.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import math
from xdsl.ir import Operation, SSAValue

from ....dialects.scalar import NONPOSITIVE
from ....frozen import frozen
from .error_function import erf, gelu
from .exponential import exp, exp2, exp_of_nonpositive, expm1, sigmoid, tanh
from .hyperbolic import acosh, asinh, atanh, cosh, sinh
from .inverse_trigonometric import acos, asin, atan, atan2
from .lanes import Lanes, is_supported
from .logarithm import log, log1p, log2, log10
from .power import powf
from .trigonometric import KEEP_LIBRARY, cos, reach, sin, tan, with_library_beyond


@frozen
class Function:
    """
    How a function is computed, with bounds of its error in units in the last place of the correctly
    rounded result, for f32 and f64: over every input, subnormal numbers and results included.
    """

    name: str
    build: Callable[..., SSAValue]
    single: float
    double: float
    scheme: str


FUNCTIONS: dict[type[Operation], Function] = {
    math.ExpOp: Function("exp", exp, 1.0, 1.0, "Cody-Waite; polynomial of degree 6, 11"),
    math.Exp2Op: Function("exp2", exp2, 1.0, 1.0, "polynomial of degree 6, 11"),
    math.ExpM1Op: Function("expm1", expm1, 1.6, 2.2, "as exp, 1 taken off before scaling"),
    math.LogOp: Function("log", log, 1.0, 1.0, "polynomial of degree 10; atanh series"),
    math.Log2Op: Function("log2", log2, 1.0, 1.8, "as log, 1/ln 2 in two parts"),
    math.Log10Op: Function("log10", log10, 1.0, 1.9, "as log, 1/ln 10 in two parts"),
    math.Log1pOp: Function("log1p", log1p, 1.7, 1.7, "as log, with what 1 + x lost"),
    math.TanhOp: Function("tanh", tanh, 1.9, 2.0, "c·(1 - c / (h + 1)), h = expm1(2x) / 2"),
    math.ErfOp: Function("erf", erf, 1.3, 1.4, "two polynomials; for f64 scaled erfc"),
    math.SinOp: Function("sin", sin, 1.7, 1.7, "π/2 in three parts; C library beyond 2**18, 2**40"),
    math.CosOp: Function("cos", cos, 1.7, 1.7, "as sin"),
    math.TanOp: Function(
        "tan", tan, 1.5, 3.2, "sin / cos or its inverse, f32 in f64; C library beyond 2**40"
    ),
    math.AtanOp: Function(
        "atan", atan, 1.4, 1.6, "polynomial of degree 19, 43 of the smaller of x, 1/x"
    ),
    math.Atan2Op: Function("atan2", atan2, 1.8, 1.8, "as atan, of the smaller by the larger one"),
    math.AsinOp: Function(
        "asin", asin, 1.6, 1.6, "polynomial of degree 13, 27; beyond ½ of √((1 - x) / 2)"
    ),
    math.AcosOp: Function("acos", acos, 1.5, 1.5, "as asin"),
    math.SinhOp: Function("sinh", sinh, 0.6, 2.2, "expm1, f32 in f64"),
    math.CoshOp: Function("cosh", cosh, 0.6, 1.8, "expm1, f32 in f64"),
    math.AsinhOp: Function("asinh", asinh, 0.6, 1.8, "log1p, f32 in f64"),
    math.AcoshOp: Function("acosh", acosh, 0.6, 2.2, "log1p, f32 in f64"),
    math.AtanhOp: Function("atanh", atanh, 0.6, 2.0, "log1p, f32 in f64"),
    math.PowFOp: Function(
        "pow", powf, 0.6, 1.2, "exp2(y·log2 x), f32 in f64, f64 in double-double"
    ),
}
"""The operations that are expanded."""

SIGMOID = Function("sigmoid", sigmoid, 1.8, 1.7, "c·(1 - e / (1 + e)), e = exp of -abs(x)")
GELU = Function("gelu", gelu, 1.9, 3.3, "exp of a polynomial less x²/2; f64: scaled erfc")
"""Two that are recognised; see idioms.py."""


def table() -> str:
    """The errors, in Markdown."""
    rows = [*FUNCTIONS.values(), SIGMOID, GELU]
    lines = ["| function | f32 | f64 | scheme |", "|---|---|---|---|"]
    lines += [f"| {row.name} | {row.single} | {row.double} | {row.scheme} |" for row in rows]
    return "\n".join(lines)


def can_expand(op: Operation) -> bool:
    """Whether the operation has a polynomial for its type, and is not marked to stay as it is."""
    if type(op) not in FUNCTIONS or KEEP_LIBRARY in op.attributes:
        return False
    return is_supported(op.results[0].type)


def expansion(b: Lanes, op: Operation, *, everywhere: bool = True) -> SSAValue:
    """The operation's value by its polynomial; sin, cos and tan `everywhere` or only within their reach."""
    if isinstance(op, math.ExpOp) and NONPOSITIVE in op.attributes:
        return exp_of_nonpositive(b, op.operands[0])
    value = FUNCTIONS[type(op)].build(b, *op.operands)
    if everywhere and isinstance(op, math.SinOp | math.CosOp | math.TanOp):
        computed = b.widened() if isinstance(op, math.TanOp) else b
        return with_library_beyond(b, op, value, reach(computed))
    return value
