"""Operands that are read as if some of their axes were one become views in which these are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, AffineMapAttr, ArrayAttr, ModuleOp, TensorType
from xdsl.ir import BlockArgument
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineExpr,
    AffineMap,
)
from xdsl.rewriter import InsertPoint, Rewriter

from ...analysis.levels import Level
from ...analysis.operations import operations_of_kind
from ...analysis.recastable import is_recastable
from ...dialects import te
from ...dialects.shaped import memref_type, tensor_type
from ...frozen import frozen
from ..stepwell_pass import StepwellPass
from .recast import recast


class TeFlattenOperandsPass(StepwellPass):
    """
    View operands with one dimension for two that only stand for the quotient and the remainder of one subscript.

    Before: `y[i] = x[i floordiv 8, i mod 8, 0] + x[i floordiv 8, i mod 8, 1]`, the pixels of a picture that was reshaped to a
    list of them. After: `y[i] = x[i, 0] + x[i, 1]`, whose accesses are affine, so that pixels may be in lanes. Nothing is
    copied: the two dimensions lie in memory as one.
    """

    name = "te-flatten-operands"
    level_in = Level.TE
    level_out = Level.TE

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in operations_of_kind(op, te.KernelOp):
            if kernel.destinations:
                while (found := find_flattening(kernel)) is not None:
                    _flatten(kernel, found)


@frozen
class Flattening:
    """A dimension of what a kernel reads becomes one with the next."""

    operand: BlockArgument
    dimension: int
    maps: dict[tuple[te.ComputeOp, int], AffineMap]
    """of each read of the operand, by its compute and its number there: which element it is after that"""


def find_flattening(kernel: te.KernelOp) -> Flattening | None:
    """The first two dimensions of an operand that may be one, and that some read has a quotient and a remainder for."""
    for arg, passed in zip(kernel.body.block.args, kernel.inputs, strict=True):
        if passed in kernel.destinations or not is_recastable(passed):
            continue
        reads = [*_reads(arg)]
        if not any(_has_quotient(compute.reads[number].map) for compute, number in reads):
            continue
        type_ = memref_type(passed)
        shape, strides = type_.get_shape(), type_.get_strides()
        for dimension in range(len(shape) - 1):
            outer, inner = shape[dimension : dimension + 2]
            is_dense = strides is not None and strides[dimension] == _product(
                strides[dimension + 1], inner
            )
            if is_dense and DYNAMIC_INDEX not in (outer, inner):
                found = _flattening(arg, dimension, inner, outer, reads)
                if found is not None:
                    return found
    return None


def _product(stride: int | None, extent: int) -> int | None:
    return None if stride is None else stride * extent


def _reads(operand: BlockArgument) -> Iterator[tuple[te.ComputeOp, int]]:
    """The computes that read an operand, each with the number of the read; nothing where something else uses it."""
    users = dict.fromkeys(use.operation for use in operand.uses)
    computes = [user for user in users if isinstance(user, te.ComputeOp)]
    if len(computes) < len(users):
        return
    for compute in computes:
        reads = enumerate(compute.reads)
        yield from ((compute, number) for number, read in reads if read.source is operand)


def _has_quotient(map_: AffineMap | None) -> bool:
    return map_ is not None and any(
        isinstance(part, AffineBinaryOpExpr) and part.kind is AffineBinaryOpKind.FloorDiv
        for expr in map_.results
        for part in expr.dfs()
    )


def _flattening(
    operand: BlockArgument,
    dimension: int,
    inner: int,
    outer: int,
    reads: list[tuple[te.ComputeOp, int]],
) -> Flattening | None:
    maps: dict[tuple[te.ComputeOp, int], AffineMap] = {}
    is_joined = False
    for compute, number in reads:
        read = compute.reads[number]
        if read.map is None or read.pad is not None:
            return None
        high, low = read.map.results[dimension : dimension + 2]
        one = _joined(high, low, inner, outer)
        is_joined |= one is not None
        results = (
            *read.map.results[:dimension],
            high * inner + low if one is None else one,
            *read.map.results[dimension + 2 :],
        )
        maps[compute, number] = AffineMap(read.map.num_dims, 0, results)
    return Flattening(operand, dimension, maps) if is_joined else None


def _joined(high: AffineExpr, low: AffineExpr, inner: int, outer: int) -> AffineExpr | None:
    """
    `e` for `e floordiv inner` and `e mod inner`, and `e mod (outer * inner)` where the quotient is taken modulo `outer`;
    None for others.
    """
    modulus = AffineBinaryOpKind.Mod
    whole = _operand(low, modulus, inner)
    if whole is None:
        return None
    if _operand(high, AffineBinaryOpKind.FloorDiv, inner) == whole:
        return whole
    quotient = _operand(high, modulus, outer)
    if quotient is None or _operand(quotient, AffineBinaryOpKind.FloorDiv, inner) != whole:
        return None
    return whole % (outer * inner)


def _operand(expr: AffineExpr, kind: AffineBinaryOpKind, by: int) -> AffineExpr | None:
    """What an expression divides by a number, or takes the remainder of."""
    if isinstance(expr, AffineBinaryOpExpr) and expr.kind is kind:
        return expr.lhs if expr.rhs == AffineConstantExpr(by) else None
    return None


def _flatten(kernel: te.KernelOp, found: Flattening) -> None:
    number, at = found.operand.index, found.dimension
    passed = kernel.inputs[number]
    type_ = memref_type(passed)
    shape, strides = list(type_.get_shape()), list(cast("tuple[int, ...]", type_.get_strides()))
    shape[at : at + 2] = [shape[at] * shape[at + 1]]
    del strides[at]
    builder = Builder(InsertPoint.before(kernel))
    kernel.operands[number] = recast(builder, passed, shape, strides)
    if isinstance(passed.owner, memref.ReinterpretCastOp) and not passed.uses:
        Rewriter.erase_op(passed.owner)
    element = tensor_type(found.operand).get_element_type()
    Rewriter.replace_value_with_new_type(found.operand, TensorType(element, shape))
    for (compute, read), map_ in found.maps.items():
        maps = list(compute.maps)
        maps[read] = AffineMapAttr(map_)
        compute.maps = ArrayAttr(maps)
