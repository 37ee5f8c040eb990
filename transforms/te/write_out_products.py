"""Products with a few rows and columns, such as colour matrices and rotations, as element-wise work."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import ClassVar

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import DYNAMIC_INDEX, AnyFloat, IndexType, ModuleOp
from xdsl.ir import Block, Region, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr, AffineMap
from xdsl.rewriter import InsertPoint, Rewriter

from ...analysis.cost import WRITTEN_OUT, is_contraction
from ...analysis.interleaved import MOST_APART
from ...analysis.levels import Level
from ...analysis.operations import operations_of_kind
from ...dialects import te
from ...dialects.dtypes import is_narrow_float
from ...dialects.shaped import tensor_type
from ...frozen import frozen
from ..numerics import DEFAULT_FP, NumericalEffect, fp_contract
from ..stepwell_pass import StepwellPass
from .elements import body_at


@frozen
class TeWriteOutProductsPass(StepwellPass):
    """
    Write out the sums of products of many short rows with a matrix of a few numbers.

    Before: `y[i, j] = sum_k x[i, k] * m[j, k]`, with three k and three j. After: `y[i, j] = x[i, 0] * m[j, 0] + x[i, 1]
    * m[j, 1] + x[i, 2] * m[j, 2]`. Register tiles of a product have nothing to use again here but the few numbers,
    which are in registers anyway; an element-wise nest has many rows in lanes, loads them interleaved, and is one with
    what makes x and with what is made of y. Likewise products of many pairs of small matrices. Sums are in the order of
    k, but begin with the first term and not with 0.
    """

    name = "te-write-out-products"
    level_in = Level.TE
    level_out = Level.TE
    numerics: ClassVar[NumericalEffect] = "reassociates"

    fp: str = DEFAULT_FP

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if fp_contract(self.fp) == "strict":
            return
        for compute in operations_of_kind(op, te.ComputeOp):
            if is_written_out(compute):
                _write_out(compute)


def is_written_out(compute: te.ComputeOp) -> bool:
    """
    Whether a compute is a product of many rows with a matrix of a few numbers, or with one row of them, or the products of
    many pairs of matrices that are all so small.
    """
    extents, count = compute.static_extents, len(compute.parallel)
    terms = prod(extents[count:])
    if not 0 < terms <= MOST_APART or DYNAMIC_INDEX in extents:
        return False
    if not is_contraction(compute) or len(compute.reads) != 2:
        return False
    if any(read.map is None or read.pad is not None for read in compute.reads):
        return False
    if is_narrow_float(compute.result.type.get_element_type()):
        return False
    moved = (read.map.used_dims() for read in compute.reads if read.map is not None)
    sides = [{n for n in dims if n < count} for dims in moved]
    if batch := sides[0] & sides[1]:
        sizes = (terms, *(prod(extents[n] for n in side - batch) for side in sides))
        return prod(extents[n] for n in batch) >= WRITTEN_OUT**2 and all(
            0 < n <= MOST_APART for n in sizes
        )
    # The numbers move with the last axis alone, or with none; the rows with all others.
    numbers, rows = sorted(sides, key=lambda side: min(side, default=count), reverse=True)
    if numbers - {count - 1} or len(numbers | rows) < count:
        return False
    columns = prod(extents[n] for n in numbers)
    most = WRITTEN_OUT if _is_reduced(compute) else MOST_APART
    return prod(extents[n] for n in rows) >= WRITTEN_OUT**2 and 0 < columns <= most


def _is_reduced(compute: te.ComputeOp) -> bool:
    """Whether only reductions along the last axis need the result, or what is made of it element by element."""
    pending, whole = [compute], AffineMap.identity(len(compute.parallel))
    for each in pending:
        users = [use.operation for result in each.outputs for use in result.uses]
        for user in dict.fromkeys(users):
            if not isinstance(user, te.ComputeOp):
                return False
            maps = [read.map for read in user.reads if read.source in each.outputs]
            count = len(user.parallel)
            if user.combiners:
                if not all(map_ and _is_along(map_.results[-1:], count) for map_ in maps):
                    return False
            elif any(map_ != whole for map_ in maps):
                return False
            elif user not in pending:
                pending.append(user)
    return all(result.uses for each in pending for result in each.outputs)


def _is_along(subscripts: Sequence[AffineExpr], count: int) -> bool:
    """Whether the last subscript is an axis that is reduced, behind so many others."""
    return all(isinstance(e, AffineDimExpr) and e.position >= count for e in subscripts)


def _write_out(compute: te.ComputeOp) -> None:
    count = len(compute.parallel)
    places = [*product(*(range(n) for n in compute.static_extents[count:]))]
    axes = [AffineDimExpr(n) for n in range(count)]
    reads: list[te.Read] = []
    for place in places:
        at = [*axes, *map(AffineConstantExpr, place)]
        for read in compute.reads:
            assert read.map is not None
            map_ = read.map.replace_dims_and_symbols(at, [], count, 0)
            reads.append(te.Read(read.source, map_))
    elements = [tensor_type(read.source).get_element_type() for read in reads]
    block = Block(arg_types=[*([IndexType()] * count), *elements])
    known = [*compute.iterator_args[:count], *(compute.read_args * len(places))]
    for new, old in zip(block.args, known, strict=True):
        new.name_hint = old.name_hint
    builder = Builder(InsertPoint.at_end(block))
    terms: list[SSAValue] = []
    for number, place in enumerate(places):
        first = count + number * len(compute.reads)
        own = block.args[first : first + len(compute.reads)]
        terms.append(body_at(compute, builder, (*block.args[:count], *place), own))
    total = terms[0]
    for term in terms[1:]:
        is_float = isinstance(total.type, AnyFloat)
        add = arith.AddfOp if is_float else arith.AddiOp
        # LLVM fuses the first operand with the addition: the sums of a chain of fused multiply-adds, in order.
        total = builder.insert(add(term, total)).result
    builder.insert(te.YieldOp(total))
    new = te.ComputeOp(compute.parallel, reads, compute.result.type, Region(block))
    new.location = compute.location
    new.result.name_hint = compute.result.name_hint
    Rewriter.replace_op(compute, new)
