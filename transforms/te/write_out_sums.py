"""Products whose few results are long sums, such as normal equations and covariances, as so many sums side by side."""

from __future__ import annotations

from collections.abc import Hashable
from itertools import product
from math import prod
from typing import ClassVar, TypeAlias

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, IntegerAttr, ModuleOp, TensorType
from xdsl.ir import Block, Region, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineMap
from xdsl.rewriter import InsertPoint, Rewriter

from ...analysis.cost import WRITTEN_OUT, is_contraction, is_data_movement
from ...analysis.interleaved import MOST_APART
from ...analysis.levels import Level
from ...analysis.operations import operations_of_kind
from ...dialects import te
from ...dialects.affine_bounds import linear_form
from ...dialects.dtypes import is_narrow_float
from ...dialects.shaped import tensor_type
from ...frozen import frozen
from ..numerics import DEFAULT_FP, NumericalEffect, fp_contract
from ..stepwell_pass import StepwellPass
from ..unused import erase_unused
from .elements import body_at

Factors: TypeAlias = tuple[te.Read, ...]
"""What a product at one place is made of."""


@frozen
class TeWriteOutSumsPass(StepwellPass):
    """
    Compute a product of few, long sums as these sums, side by side in one pass over their terms.

    Before: `g[i, j] = sum_k x[k, i] * x[k, j]`, with two i, two j and many k. After: three sums over k of `x[k, 0] *
    x[k, 0]`, `x[k, 0] * x[k, 1]` and `x[k, 1] * x[k, 1]`, of which g is made: that of two equal factors in another order
    is the same. A tile of so few columns fills no vector. The sums have many k in lanes, read each element once, and are
    one pass with other sums over k and with what makes x.
    """

    name = "te-write-out-sums"
    level_in = Level.TE
    level_out = Level.TE
    numerics: ClassVar[NumericalEffect] = "reassociates"

    fp: str = DEFAULT_FP

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if fp_contract(self.fp) == "strict":
            return
        for compute in operations_of_kind(op, te.ComputeOp):
            if has_few_long_sums(compute):
                _write_out(compute)


def has_few_long_sums(compute: te.ComputeOp) -> bool:
    """
    Whether a compute is a product of few results, so many that their sums are in registers together, each of many terms
    whose factors lie near one another.
    """
    extents, count = compute.static_extents, len(compute.parallel)
    if not is_contraction(compute) or len(compute.reads) != 2 or DYNAMIC_INDEX in extents:
        return False
    if is_narrow_float(compute.result.type.get_element_type()):
        return False
    # Of a matrix with itself nearly half the sums are equal to others.
    return (
        1 < prod(extents[:count]) < 2 * WRITTEN_OUT
        and prod(extents[count:]) >= WRITTEN_OUT**2
        and extents[-1] >= WRITTEN_OUT
        and all(_is_near(_behind(read), len(extents) - 1) for read in compute.reads)
        and len({*_factors(compute).values()}) <= WRITTEN_OUT
    )


def _behind(read: te.Read) -> te.Read:
    """A read of what computes that only move elements have theirs from."""
    while isinstance(owner := read.source.owner, te.ComputeOp) and is_data_movement(owner):
        (moved,) = owner.reads
        if read.map is None or read.pad is not None or moved.map is None or moved.pad is not None:
            break
        read = te.Read(moved.source, moved.map.compose(read.map))
    return read


def _is_near(read: te.Read, axis: int) -> bool:
    """Whether neighbours along an axis are not too far apart in memory to be loaded with what lies between."""
    shape = tensor_type(read.source).get_shape()
    if read.map is None or read.pad is not None or DYNAMIC_INDEX in shape:
        return False
    apart = 0
    for number, subscript in enumerate(read.map.results):
        linear = linear_form(subscript, read.map.num_dims)
        if linear is None:
            return False
        apart += linear[0][axis] * prod(shape[number + 1 :])
    return 0 < apart <= MOST_APART


def _factors(compute: te.ComputeOp) -> dict[tuple[int, ...], Factors]:
    """The reads of each result, over what is summed along alone; the same where the products are."""
    count, summed = len(compute.parallel), len(compute.reduction)
    known: dict[Hashable, Factors] = {}
    found: dict[tuple[int, ...], Factors] = {}
    reads = [_behind(read) for read in compute.reads]
    for place in product(*(range(n) for n in compute.static_extents[:count])):
        at = [*map(AffineConstantExpr, place), *map(AffineDimExpr, range(summed))]
        own = tuple(
            te.Read(read.source, read.map.replace_dims_and_symbols(at, [], summed, 0))
            for read in reads
            if read.map is not None
        )
        # Of equal factors in another order the product is the same; what else a body does may not be.
        found[place] = known.setdefault(frozenset(own) if _only_multiplies(compute) else own, own)
    return found


def _only_multiplies(compute: te.ComputeOp) -> bool:
    """Whether the body has a multiplication of its operands and nothing else."""
    return len(compute.body.block.ops) == 2


def _write_out(compute: te.ComputeOp) -> None:
    factors = _factors(compute)
    owners: dict[Factors, tuple[int, ...]] = {}
    for place, reads in factors.items():
        owners.setdefault(reads, place)
    sums = _sums(compute, owners)
    result_of = dict(zip(owners, range(len(owners)), strict=True))
    joined = _joined(compute, sums, [result_of[reads] for reads in factors.values()])
    sources = [read.source for read in compute.reads]
    Rewriter.replace_op(compute, [sums, joined], [joined.result])
    erase_unused(sources)


def _sums(compute: te.ComputeOp, places: dict[Factors, tuple[int, ...]]) -> te.ComputeOp:
    """One compute that has each sum as a result, of factors at the place of a result of the product."""
    reads = [*dict.fromkeys(read for factors in places for read in factors)]
    summed = compute.reduction
    elements = [tensor_type(read.source).get_element_type() for read in reads]
    block = Block(arg_types=[*([IndexType()] * len(summed)), *elements])
    count = len(compute.parallel)
    for new, old in zip(block.args, compute.iterator_args[count:], strict=False):
        new.name_hint = old.name_hint
    own = dict(zip(reads, block.args[len(summed) :], strict=True))
    builder = Builder(InsertPoint.at_end(block))
    along = block.args[: len(summed)]
    terms = [
        body_at(compute, builder, (*place, *along), [own[read] for read in factors])
        for factors, place in places.items()
    ]
    builder.insert(te.YieldOp(*terms))
    type_ = TensorType(compute.result.type.get_element_type(), [])
    sums = te.ComputeOp(
        (),
        reads,
        [type_] * len(terms),
        Region(block),
        reduction=summed,
        combiner=compute.combiners * len(terms),
    )
    sums.location = compute.location
    for result in sums.outputs:
        result.name_hint = compute.result.name_hint
    return sums


def _joined(compute: te.ComputeOp, sums: te.ComputeOp, numbers: list[int]) -> te.ComputeOp:
    """The product, of its sums."""
    axes = compute.parallel
    count = len(axes)
    element = compute.result.type.get_element_type()
    scalar = AffineMap(count, 0, ())
    block = Block(arg_types=[*([IndexType()] * count), *([element] * len(sums.outputs))])
    for new, old in zip(block.args, compute.iterator_args[:count], strict=False):
        new.name_hint = old.name_hint
    builder = Builder(InsertPoint.at_end(block))
    place: SSAValue | None = None
    for axis, extent in zip(block.args[:count], compute.static_extents[:count], strict=True):
        if place is None:
            place = axis
            continue
        length = builder.insert(arith.ConstantOp(IntegerAttr(extent, IndexType()))).result
        before = builder.insert(arith.MuliOp(place, length)).result
        place = builder.insert(arith.AddiOp(before, axis)).result
    assert place is not None
    chosen: SSAValue = block.args[count + numbers[0]]
    for number, owner in list(enumerate(numbers))[1:]:
        own = builder.insert(arith.ConstantOp(IntegerAttr(number, IndexType()))).result
        is_own = builder.insert(arith.CmpiOp(place, own, "eq")).result
        chosen = builder.insert(arith.SelectOp(is_own, block.args[count + owner], chosen)).result
    builder.insert(te.YieldOp(chosen))
    reads = [te.Read(result, scalar) for result in sums.outputs]
    joined = te.ComputeOp(axes, reads, compute.result.type, Region(block))
    joined.location = compute.location
    joined.result.name_hint = compute.result.name_hint
    return joined
