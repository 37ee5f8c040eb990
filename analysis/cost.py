"""How expensive the body of a compute is, per element: what fusion weighs."""

from __future__ import annotations

from xdsl.dialects import affine, arith, math, tensor
from xdsl.ir import Operation

from ..dialects import te

CHEAP = 4.0
"""A body up to this cost is recomputed by several readers rather than stored and loaded again."""

_DIVISIONS = (
    arith.DivfOp,
    arith.DivSIOp,
    arith.DivUIOp,
    arith.RemSIOp,
    arith.RemUIOp,
    arith.FloorDivSIOp,
    arith.CeilDivSIOp,
    math.SqrtOp,
    math.RsqrtOp,
)
_INEXPENSIVE_MATH = (
    math.AbsFOp,
    math.AbsIOp,
    math.CopySignOp,
    math.FmaOp,
    math.FloorOp,
    math.CeilOp,
)
_FREE = (arith.ConstantOp, te.YieldOp)


def op_cost(op: Operation) -> float:
    """
    The cost of one scalar operation, in additions.

    The weights follow reciprocal throughputs of vector instructions on recent x86 cores (Agner Fog,
    Instruction tables): a division costs about five additions, a transcendental function twenty.
    """
    if isinstance(op, _FREE):
        return 0.0
    if isinstance(op, _DIVISIONS):
        return 5.0
    if isinstance(op, (*_INEXPENSIVE_MATH, affine.ApplyOp)):
        return 1.0
    if op.dialect_name() == "math":
        return 20.0
    if isinstance(op, tensor.ExtractOp):
        return 4.0
    return 1.0


def body_cost(compute: te.ComputeOp) -> float:
    """The cost of one element of a compute; 0 for one that only moves data."""
    return sum(op_cost(op) for op in compute.body.walk())


def is_data_movement(compute: te.ComputeOp) -> bool:
    """Whether each element is one element of the only operand, unchanged (transpose, slice, broadcast …)."""
    return compute.combining is None and compute.yielded == compute.read_args
