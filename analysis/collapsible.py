"""
Axes of a kernel that can be one: next to each other, in the same order, wherever an element is read or written.

`y[f, oh, ow] = sum_c x[c, oh, ow] * w[f, c]` is a product of matrices over f, c and the pixels oh · ow, and
`y[c] = sum_(h, w) x[c, h, w]` sums rows of h · w elements. In the literature this is collapsing (or flattening, or
coalescing) a nest's dimensions.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, NoneAttr
from xdsl.ir import BlockArgument, SSAValue
from xdsl.ir.affine import AffineExpr

from ..dialects import te
from ..dialects.affine_bounds import sum_of_terms
from ..dialects.shaped import memref_type, tensor_type
from ..frozen import frozen
from .recastable import is_recastable

Runs = tuple[tuple[int, ...], ...]
"""Axes by those that become one."""

_Computes = dict[te.ComputeOp, set[int]]
_Tensors = dict[SSAValue, set[int]]


@frozen
class Collapse:
    """What becomes one in a kernel: iterators of its computes, and dimensions of the tensors that they access."""

    computes: dict[te.ComputeOp, Runs]
    tensors: dict[SSAValue, Runs]
    maps: dict[te.ComputeOp, tuple[tuple[AffineExpr, ...], ...]]
    """the subscripts of each read, without the iterators that go"""
    single: dict[te.ComputeOp, tuple[int, ...]]
    """summed iterators of one iteration, which go"""


def plan_collapse(kernel: te.KernelOp) -> Collapse | None:
    """
    What can be one in a kernel over buffers that computes one reduction or contraction, of one or two operands, and
    what is before and behind it element by element; None for another kernel, or where there is nothing.
    """
    computes = [op for op in kernel.body.block.ops if isinstance(op, te.ComputeOp)]
    reducing = [op for op in computes if op.combiners]
    if len(reducing) != 1 or len(reducing[0].reads) not in (1, 2) or not kernel.destinations:
        return None
    if any(read.map is None for op in computes for read in op.reads) or _has_others(kernel):
        return None
    maps = {op: tuple(_subscripts(op, read) for read in op.reads) for op in computes}
    pairs = {op: _candidates(op) for op in computes}
    tensors = _tensors(kernel, computes)
    same = _same_buffers(kernel)
    while _drop_unlinked(maps, pairs, tensors, same):
        pass
    single = {op: _single(op) for op in computes}
    if not pairs[reducing[0]] and not single[reducing[0]]:
        return None
    return Collapse(
        {op: _runs(len(op.static_extents), joined) for op, joined in pairs.items()},
        {value: _runs(len(_shape(value)), joined) for value, joined in tensors.items()},
        maps,
        single,
    )


def _same_buffers(kernel: te.KernelOp) -> list[list[SSAValue]]:
    """The tensors that lie in one buffer: what is updated in place, before and after."""
    found: dict[SSAValue, list[SSAValue]] = {}
    operands, values = (
        (*kernel.inputs, *kernel.destinations),
        (*kernel.body.block.args, *kernel.yielded),
    )
    for passed, value in zip(operands, values, strict=True):
        found.setdefault(passed, []).append(value)
    return [values for passed, values in found.items() if isinstance(passed.type, MemRefType)]


def _has_others(kernel: te.KernelOp) -> bool:
    """Whether something else than computes has a tensor of the kernel."""
    values = (*kernel.body.block.args, *(r for op in kernel.body.block.ops for r in op.results))
    users = (use.operation for value in values for use in value.uses)
    return not all(isinstance(op, te.ComputeOp | te.YieldOp) for op in users)


def _subscripts(op: te.ComputeOp, read: te.Read) -> tuple[AffineExpr, ...]:
    """Where an operand is read, without the summed iterators that go."""
    assert read.map is not None
    single = _single(op)
    dims = [
        AffineExpr.constant(0) if n in single else AffineExpr.dimension(n)
        for n in range(len(op.static_extents))
    ]
    results = read.map.results
    return (
        tuple(_added(e.replace_dims_and_symbols(dims, [])) for e in results) if single else results
    )


def _added(expr: AffineExpr) -> AffineExpr:
    """The expression with its terms added up."""
    parts = (term if factor == 1 else term * factor for term, factor in sum_of_terms(expr))
    every = list(parts)
    return reduce(lambda a, b: a + b, every) if every else AffineExpr.constant(0)


def _candidates(op: te.ComputeOp) -> set[int]:
    """Iterators n of which n and n + 1 are both of the result, or both summed, and only say which element is read."""
    extents, parallel, args = op.static_extents, op.rank, op.iterator_args
    return {
        n
        for n in range(len(extents) - 1)
        if n + 1 != parallel
        and DYNAMIC_INDEX not in extents[n : n + 2]
        and 1 not in extents[n : n + 2]
        and not (args[n].uses or args[n + 1].uses)
    }


def _tensors(kernel: te.KernelOp, computes: Sequence[te.ComputeOp]) -> _Tensors:
    """The dimensions n of each tensor of which n and n + 1 are one in the memory that it lies in."""
    found: _Tensors = {}
    for arg, passed in zip(kernel.body.block.args, kernel.inputs, strict=True):
        if isinstance(passed.type, MemRefType):
            found[arg] = _dense(passed) if is_recastable(passed) else set()
    for value in (result for op in computes for result in op.outputs):
        found[value] = set(range(len(_shape(value)) - 1))
    for value, destination in zip(kernel.yielded, kernel.destinations, strict=True):
        is_passed_on = isinstance(value, BlockArgument) or kernel.yielded.count(value) > 1
        found[value] = set() if is_passed_on else found[value] & _dense(destination)
    return found


def _dense(buffer: SSAValue) -> set[int]:
    """The dimensions n of a buffer whose elements are as far apart as the elements of n + 1 reach."""
    type_ = memref_type(buffer)
    strides, shape = type_.get_strides(), type_.get_shape()
    is_plain = isinstance(type_.layout, NoneAttr)
    return {
        n
        for n in range(len(shape) - 1)
        if DYNAMIC_INDEX not in shape[n : n + 2]
        and strides is not None
        and (is_plain or _is_multiple(strides[n], strides[n + 1], shape[n + 1]))
    }


def _is_multiple(outer: int | None, inner: int | None, extent: int) -> bool:
    return outer is not None and inner is not None and outer == inner * extent


def _drop_unlinked(
    maps: dict[te.ComputeOp, tuple[tuple[AffineExpr, ...], ...]],
    pairs: _Computes,
    tensors: _Tensors,
    same: Sequence[Sequence[SSAValue]],
) -> bool:
    """Drop what some access takes apart; whether there was something."""
    before = sum(map(len, (*pairs.values(), *tensors.values())))
    for op, subscripts in maps.items():
        extents = op.static_extents
        dims = [AffineExpr.dimension(n) for n in range(len(extents))]
        identity = tuple(dims[: op.rank])
        accesses = [*zip(op.sources, subscripts, strict=True)]
        accesses += [(result, identity) for result in op.outputs]
        for value, exprs in accesses:
            shape = _shape(value)
            linked = {
                d: n
                for d in tensors[value]
                for n in pairs[op]
                if exprs[d] == dims[n]
                and exprs[d + 1] == dims[n + 1]
                and tuple(shape[d : d + 2]) == extents[n : n + 2]
            }
            tensors[value] = {d for d, n in linked.items() if _occurs(exprs, n) == {d, d + 1}}
            kept = {linked[d] for d in tensors[value]}
            pairs[op] = {n for n in pairs[op] if n in kept or not _occurs(exprs, n)}
    for values in same:
        common = set[int].intersection(*(tensors[value] for value in values))
        tensors.update((value, common) for value in values)
    return before != sum(map(len, (*pairs.values(), *tensors.values())))


def _occurs(exprs: Sequence[AffineExpr], n: int) -> set[int]:
    """The dimensions whose subscripts have the iterator n or the one behind it."""
    return {d for d, expr in enumerate(exprs) if expr.used_dims() & {n, n + 1}}


def _runs(count: int, joined: set[int]) -> Runs:
    runs: list[tuple[int, ...]] = []
    for n in range(count):
        if n - 1 in joined:
            runs[-1] = (*runs[-1], n)
        else:
            runs.append((n,))
    return tuple(runs)


def _single(op: te.ComputeOp) -> tuple[int, ...]:
    """Summed iterators of one iteration, all of which may go where there are others."""
    summed = range(op.rank, len(op.static_extents))
    extents = op.static_extents
    single = tuple(n for n in summed if extents[n] == 1 and not op.iterator_args[n].uses)
    return single[1:] if len(single) == len(summed) else single


def _shape(value: SSAValue) -> tuple[int, ...]:
    return tuple(tensor_type(value).get_shape())
