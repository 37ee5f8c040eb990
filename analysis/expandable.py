"""
Dimensions of a contraction's operands that hold two axes: `x[i, h * 64 + k]` are the heads h of a row, and in each its
elements k.

A plan of a product wants one axis for each dimension. In MLIR's words this is `expand_shape`, the opposite of collapsing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType
from xdsl.ir import BlockArgument, SSAValue
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineExpr, AffineMap

from ..dialects import te
from ..dialects.affine_bounds import box, linear_form, without_divisions
from ..dialects.shaped import is_tensor, tensor_type
from ..frozen import frozen
from .recastable import is_recastable


@frozen
class Expansion:
    """A dimension of what a kernel reads becomes two, of which the inner one has `size` elements."""

    tensor: BlockArgument
    dimension: int
    size: int
    maps: dict[tuple[te.ComputeOp, int], AffineMap]
    """Of each read of the tensor, by its compute and its number there: which element it is after that."""


def find_expansion(kernel: te.KernelOp) -> Expansion | None:
    """
    The first dimension whose subscript in a contraction adds up two axes, and that every read in the kernel allows to
    become two. None where there is none.

    Windows stay, where rows of the result and a summed axis are added up: they are convolutions, whose plans know them.
    """
    for arg, passed in zip(kernel.body.block.args, kernel.inputs, strict=True):
        if not is_tensor(arg) or passed in kernel.destinations or not _may_be_seen(passed):
            continue
        reads = list(_reads(arg))
        for dimension, size in dict.fromkeys(_candidates(reads)):
            found = _expansion(arg, dimension, size, reads)
            if found is not None:
                return found
    return None


def _may_be_seen(passed: SSAValue) -> bool:
    """Whether there may be a view of what is passed to a kernel, which is a tensor or a buffer."""
    if isinstance(passed.type, MemRefType):
        return is_recastable(passed)
    return not isinstance(passed.owner, arith.ConstantOp)


_Reads = list[tuple[te.ComputeOp, int]]


def _reads(tensor: BlockArgument) -> Iterator[tuple[te.ComputeOp, int]]:
    """The computes that read a tensor, each with the number of the read; nothing where something else uses it."""
    users = dict.fromkeys(use.operation for use in tensor.uses)
    computes = [user for user in users if isinstance(user, te.ComputeOp)]
    if len(computes) < len(users):
        return
    for compute in computes:
        yield from ((compute, n) for n, read in enumerate(compute.reads) if read.source is tensor)


def _candidates(reads: _Reads) -> Iterator[tuple[int, int]]:
    """Dimensions, with the sizes that they might be divided by: the factors of axes that share a subscript."""
    for compute, number in reads:
        map_ = compute.reads[number].map
        if not compute.combiners or len(compute.reads) != 2 or map_ is None:
            continue
        other = compute.reads[1 - number].map
        for dimension, expr in enumerate(map_.results):
            linear = linear_form(expr, map_.num_dims)
            axes = sorted(expr.used_dims())
            if linear is None or len(axes) < 2 or other is None:
                continue
            if not _is_window(axes, len(compute.parallel), other):
                sizes = sorted((linear[0][axis] for axis in axes), reverse=True)
                yield from ((dimension, size) for size in sizes if size > 1)


def _is_window(axes: Sequence[int], parallel: int, other: AffineMap) -> bool:
    """Whether an axis that the other operand does not have, and a summed one, are among those of a subscript."""
    shared = {axis for expr in other.results for axis in expr.used_dims()}
    own = [axis for axis in axes if axis < parallel and axis not in shared]
    return bool(own) and any(axis >= parallel for axis in axes)


def _expansion(tensor: BlockArgument, dimension: int, size: int, reads: _Reads) -> Expansion | None:
    """A dimension in two, where each read has one element of the outer and one of the inner without dividing."""
    extent = tensor_type(tensor).get_shape()[dimension]
    if extent in (DYNAMIC_INDEX, size) or extent % size:
        return None
    maps: dict[tuple[te.ComputeOp, int], AffineMap] = {}
    for compute, number in reads:
        read = compute.reads[number]
        if read.map is None or read.pad is not None:
            return None
        ranges, multiples = box(compute.static_extents), [1] * len(compute.extents)
        expr = read.map.results[dimension]
        parts = [
            without_divisions(
                AffineBinaryOpExpr(kind, expr, AffineExpr.constant(size)), ranges, multiples
            )
            for kind in (AffineBinaryOpKind.FloorDiv, AffineBinaryOpKind.Mod)
        ]
        if any(linear_form(part, read.map.num_dims) is None for part in parts):
            return None
        results = (*read.map.results[:dimension], *parts, *read.map.results[dimension + 1 :])
        maps[compute, number] = AffineMap(read.map.num_dims, read.map.num_symbols, results)
    return Expansion(tensor, dimension, size, maps)
