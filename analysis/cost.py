"""How expensive the body of a compute is, per element: what fusion weighs; and the work of a program."""

from __future__ import annotations

from math import prod

from xdsl.dialects import affine, arith, llvm, math, scf, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, AnyFloat, IndexType, ModuleOp
from xdsl.ir import Operation, SSAValue

from ..dialects import loop, te
from ..dialects.combiner import Combiner
from ..dialects.interfaces import HasCost
from ..dialects.shaped import tensor_type
from ..dialects.upstream.arith import RemFOp
from .interleaved import MOST_APART
from .operations import operations_in

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
_COSTS = (
    {cls.name: 0.0 for cls in _FREE}
    | {cls.name: 5.0 for cls in _DIVISIONS}
    | {cls.name: 1.0 for cls in (*_INEXPENSIVE_MATH, affine.ApplyOp)}
    | {RemFOp.name: 20.0, tensor.ExtractOp.name: 4.0}
)


def op_cost(op: Operation) -> float:
    """
    The cost of one scalar operation, in additions.

    The weights follow reciprocal throughputs of vector instructions on recent x86 cores (Agner Fog,
    Instruction tables): a division costs about five additions, a transcendental function twenty.
    """
    return name_cost(op.name)


def name_cost(name: str) -> float:
    """The cost of a scalar operation of that name, as `op_cost`."""
    return _COSTS.get(name, 20.0 if name.startswith("math.") else 1.0)


def body_cost(compute: te.ComputeOp) -> float:
    """The cost of one element of a compute; 0 for one that only moves data."""
    return sum([op_cost(op) for op in operations_in(compute)])


def is_extension(compute: te.ComputeOp) -> bool:
    """Whether each element is one element of the only operand in a wider type, which holds it exactly."""
    if compute.combining is not None or len(compute.yielded) != 1 or len(compute.reads) != 1:
        return False
    op = compute.yielded[0].owner
    is_wider = isinstance(op, arith.ExtFOp | arith.ExtSIOp | arith.ExtUIOp)
    return is_wider and op.operands[0] in compute.read_args


def is_data_movement(compute: te.ComputeOp) -> bool:
    """Whether each element is one element of the only operand, unchanged (transpose, slice, broadcast …)."""
    return compute.combining is None and compute.yielded == compute.read_args


def only_selects(compute: te.ComputeOp) -> bool:
    """Whether each element is one of an operand, chosen by the indices alone."""
    operations = compute.body.block.ops
    return compute.combining is None and all(
        isinstance(op, arith.ConstantOp | arith.SelectOp | affine.ApplyOp | te.YieldOp)
        or (isinstance(op, arith.CmpiOp) and isinstance(op.lhs.type, IndexType))
        for op in operations
    )


SCHEDULED_MULTIPLY_ADDS = 2**10
"""
A contraction from this size on gets loop nests that a schedule can tile.

As it is written a core does 2^10 multiply-adds in about half a microsecond, which is what a call costs: below it,
the tenth of a second it takes to schedule a nest buys nothing.
"""


def multiply_adds(compute: te.ComputeOp) -> int:
    """The points of the iteration space; 0 when an extent is a value."""
    extents = compute.static_extents
    return 0 if DYNAMIC_INDEX in extents else prod(extents)


def is_contraction(compute: te.ComputeOp) -> bool:
    """
    Whether the compute sums products of elements of different operands.

    So do a matrix product, a convolution and a dot product, but not a sum of squares, whose factors are
    made from the same operands, nor a sum of scaled elements.
    """
    if compute.combining is not Combiner.ADD:
        return False
    product = compute.yielded[0].owner
    if not isinstance(product, arith.MulfOp | arith.MuliOp):
        return False
    left, right = (reads_behind(factor, compute) for factor in (product.lhs, product.rhs))
    return bool(left) and bool(right) and not left & right


def is_outer_reduction(compute: te.ComputeOp) -> bool:
    """
    Whether it reduces what is made of two operands, each of which has parallel iterators that the other has not.

    So do products of matrices, and the distances of all points to all: an element of the one operand is used with
    many of the other, which tiles in registers make the most of.
    """
    if len(compute.reads) != 2 or len(compute.combiners) != 1 or compute.combiners[0].is_arg:
        return False
    left, right = (
        set[int]() if read.map is None or read.pad is not None else read.map.used_dims()
        for read in compute.reads
    )
    count = len(compute.parallel)
    summed = set(range(count, len(compute.extents)))
    parallel = set(range(count))
    return (
        summed <= left & right
        and bool((left - right) & parallel)
        and bool((right - left) & parallel)
    )


WRITTEN_OUT = 16
"""Copies of a statement at most where short loops are written out: their vectors are to be in registers together."""


def reduces_windows(compute: te.ComputeOp) -> bool:
    """
    Whether all that it reduces are windows around each element, as in pooling: of one operand, whose every subscript that
    a reduction iterator moves is moved by a parallel one too.
    """
    count = len(compute.parallel)
    summed = {n for n in range(count, len(compute.extents)) if compute.extents.get_values()[n] != 1}
    if not summed or len(compute.combiners) != 1 or compute.combiners[0].is_arg:
        return False
    moved = [expr.used_dims() for read in compute.reads if read.map for expr in read.map.results]
    shared = [dims for dims in moved if any(n < count for n in dims) and dims & summed]
    return summed <= set[int]().union(*shared)


def sums_few_terms(compute: te.ComputeOp) -> bool:
    """
    Whether each of several results is a reduction of so few terms that these may be written out, with the results in
    lanes: the terms of neighbouring results are not too far apart in memory for that.
    """
    count, extents = len(compute.parallel), compute.extents.get_values()
    terms, results = extents[count:], extents[:count]
    if not terms or any(combiner.is_arg for combiner in compute.combiners):
        return False
    return (
        all(extent > 0 for extent in extents)
        and prod(terms) <= WRITTEN_OUT
        and max(results, default=0) >= WRITTEN_OUT
        and all(_apart(compute, read) <= MOST_APART for read in compute.reads)
    )


def _apart(compute: te.ComputeOp, read: te.Read) -> int:
    """
    The elements of an operand from one parallel iteration to the next, at least: what its dimensions after the last one that a
    parallel iterator moves hold together. 1 where none is moved so, or is not known to be.
    """
    shape, count = tensor_type(read.source).get_shape(), len(compute.parallel)
    if read.map is None or DYNAMIC_INDEX in shape:
        return 1
    moved = [
        n for n, expr in enumerate(read.map.results) if any(d < count for d in expr.used_dims())
    ]
    return prod(shape[moved[-1] + 1 :]) if moved else 1


def reads_behind(value: SSAValue, compute: te.ComputeOp) -> set[SSAValue]:
    """The elements that a value of the body is made from."""
    found: set[SSAValue] = set()
    seen: set[SSAValue] = set()
    pending = [value]
    elements = set(compute.read_args)
    while pending:
        current = pending.pop()
        if current in seen:
            continue
        seen.add(current)
        if current in elements:
            found.add(current)
        elif isinstance(current.owner, Operation):
            pending += current.owner.operands
    return found


def flops(module: ModuleOp) -> int | None:
    """
    The operations on numbers of a program at level graph, te or loop, each function called once.

    They are counted as `HasCost.flops` says; below the graph only those that give a float, a fused
    multiply-add as two. None where an extent or the bounds of a loop are not constant, and for core and llvm.
    """
    total = 0
    for op in module.walk():
        if isinstance(op, scf.ForOp | scf.WhileOp | scf.ParallelOp | llvm.FuncOp):
            return None
        count = op.flops() if isinstance(op, HasCost) else _flops_of(op)
        times = _times_run(op) if count else 1
        if count is None or times is None:
            return None
        total += count * times
    return total


_NOT_ARITHMETIC = (
    arith.ConstantOp,
    arith.SelectOp,
    arith.ExtFOp,
    arith.TruncFOp,
    arith.SIToFPOp,
    arith.UIToFPOp,
    arith.BitcastOp,
    arith.NegfOp,
    math.AbsFOp,
    math.CopySignOp,
)


def _flops_of(op: Operation) -> int:
    """Of one scalar operation, run once, or of what combines an element of a reduction."""
    if isinstance(op, te.YieldOp):
        compute = op.parent_op()
        return int(
            isinstance(compute, te.ComputeOp)
            and compute.combining is not None
            and isinstance(op.operands[0].type, AnyFloat)
        )
    if op.dialect_name() not in ("arith", "math") or isinstance(op, _NOT_ARITHMETIC):
        return 0
    if not op.results or not isinstance(op.results[0].type, AnyFloat):
        return 0
    return 2 if isinstance(op, math.FmaOp) else 1


def _times_run(op: Operation) -> int | None:
    """How often the computes and loops around an operation run it. None where that is not constant."""
    times = 1
    parent = op.parent_op()
    while parent is not None:
        if isinstance(parent, te.ComputeOp):
            if DYNAMIC_INDEX in parent.static_extents:
                return None
            times *= prod(parent.static_extents)
        elif isinstance(parent, loop.ForOp):
            bounds = (*parent.lower_operands, *parent.upper_operands)
            trips = None if bounds else parent.constant_trip_count()
            if trips is None:
                return None
            times *= trips
        elif isinstance(parent, loop.IfOp):
            return None
        parent = parent.parent_op()
    return times
