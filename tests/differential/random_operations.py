"""
How to make each graph operation at random: its operands from the values there are, its properties.

Every operation of the dialect has a maker: a family's, found by its base class, or its own in `MAKERS`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import prod
from random import Random
from typing import Any

from stepwell.dialects import graph
from stepwell.dialects.dtypes import bit_width, is_float
from stepwell.dialects.graph.base import FLOATS, INTEGERS, NUMBERS, GraphOp, shape_of
from xdsl.dialects.builtin import TensorType, f32, f64, i1, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from .random_layers import (
    batch_norm,
    blocked_conv,
    blocked_depthwise_conv,
    conv,
    group_norm,
    layer_norm,
    pool,
    rms_norm,
    winograd_input,
    winograd_output,
)
from .random_operands import (
    COMPUTED_TYPES,
    EXTENTS,
    STORED,
    Maker,
    Pool,
    broadcast_partner_shape,
    element_of,
    has_axes,
    random_shape,
)

# Families.


def _unary(op: type[graph.UnaryElementwiseOp]) -> Maker:
    return lambda pool: op(pool.pick(op.ELEMENTS))


def _pair(pool: Pool, elements: Sequence[Attribute]) -> tuple[SSAValue, SSAValue]:
    x = pool.pick(elements)
    y = pool.partner(element_of(x), shape_of(x))
    return (x, y) if pool.rng.random() < 0.7 else (y, x)


def _binary(op: type[graph.BinaryElementwiseOp]) -> Maker:
    return lambda pool: op(*_pair(pool, op.ELEMENTS))


def _axes(rng: Random, rank: int) -> list[int]:
    return [axis for axis in range(rank) if rng.random() < 0.5]


def _reduction(op: type[graph.ReductionOp]) -> Maker:
    def make(pool: Pool) -> GraphOp:
        x = pool.pick(op.ELEMENTS)
        return op(x, _axes(pool.rng, len(shape_of(x))), keepdims=pool.rng.random() < 0.4)

    return make


def _arg_reduction(op: type[graph.ArgReductionOp]) -> Maker:
    def make(pool: Pool) -> GraphOp:
        x = pool.pick(op.ELEMENTS, has_axes)
        axis = pool.rng.randrange(len(shape_of(x)))
        return op(x, axis, keepdims=pool.rng.random() < 0.4)

    return make


def _along_axis(op: type[graph.SoftmaxOp] | type[graph.LogSoftmaxOp]) -> Maker:
    def make(pool: Pool) -> GraphOp:
        x = pool.pick(op.ELEMENTS, has_axes)
        return op(x, pool.rng.randrange(len(shape_of(x))))

    return make


# Single operations.


def _leaky_relu(pool: Pool) -> GraphOp:
    return graph.LeakyReluOp(pool.pick(FLOATS), pool.rng.choice([0.01, 0.25, 1.5, -0.5]))


def _hard_sigmoid(pool: Pool) -> GraphOp:
    return graph.HardSigmoidOp(pool.pick(FLOATS), pool.rng.choice([0.2, 1 / 6]), 0.5)


def _gelu(pool: Pool) -> GraphOp:
    return graph.GeluOp(pool.pick(FLOATS), pool.rng.choice(["none", "tanh"]))


def _clip(pool: Pool) -> GraphOp:
    x = pool.pick(NUMBERS)
    low, high = sorted(pool.rng.sample(range(9), 2))
    if is_float(element_of(x)) and pool.rng.random() < 0.5:
        low, high = low / 2 - 2, high / 2 - 2
    bounds = pool.rng.choice([(low, high), (low, high), (low, None), (None, high), (None, None)])
    return graph.ClipOp(x, *bounds)


def _equal_bins(pool: Pool) -> GraphOp:
    rng = pool.rng
    shape = random_shape(rng, pool.max_elements, rng.randint(0, 2))
    operand = pool.fresh(rng.choice([f32, f64]), shape)
    low = rng.randint(-3, 1) / 4
    return graph.EqualBinsOp(operand, low, low + rng.randint(1, 7) / 3, rng.randint(1, 9))


def _where(pool: Pool) -> GraphOp:
    condition = pool.pick((i1,))
    x = pool.partner(pool.rng.choice(COMPUTED_TYPES), shape_of(condition))
    return graph.WhereOp(condition, x, pool.partner(element_of(x), shape_of(x)))


def _cast(pool: Pool) -> GraphOp:
    return graph.CastOp(pool.pick(COMPUTED_TYPES), pool.rng.choice(COMPUTED_TYPES))


def _bitcast(pool: Pool) -> GraphOp:
    """Of integers alone: the bits of a float say how it was rounded."""
    x = pool.pick(INTEGERS)
    width = bit_width(element_of(x))
    return graph.BitcastOp(x, pool.rng.choice([t for t in INTEGERS if bit_width(t) == width]))


def _of_squares(op: Callable[..., GraphOp]) -> Maker:
    def make(pool: Pool) -> GraphOp:
        size = pool.rng.randint(1, 4)
        batch = random_shape(pool.rng, 4, pool.rng.randint(0, 1))
        element = pool.rng.choice([type_ for type_ in FLOATS if type_ not in STORED])
        return op(pool.fresh(element, (*batch, size, size)))

    return make


def _fft(pool: Pool) -> GraphOp:
    length, inner = pool.rng.choice((1, 2, 3, 4, 5, 6, 8)), pool.rng.randint(1, 3)
    element = pool.rng.choice([type_ for type_ in FLOATS if type_ not in STORED])
    real, imag = (pool.fresh(element, (2, length * inner)) for _ in range(2))
    return graph.FftOp(real, imag, length)


def _real_fft(pool: Pool) -> GraphOp:
    length, inner = pool.rng.choice((1, 2, 3, 4, 5, 6, 8)), pool.rng.randint(1, 3)
    element = pool.rng.choice([type_ for type_ in FLOATS if type_ not in STORED])
    return graph.RealFftOp(pool.fresh(element, (2, length * inner)), length)


def _triangular_solve(pool: Pool) -> GraphOp:
    size, columns = pool.rng.randint(1, 4), pool.rng.randint(1, 5)
    element = pool.rng.choice([type_ for type_ in FLOATS if type_ not in STORED])
    operands = (pool.fresh(element, (size, extent)) for extent in (size, columns))
    lower, unit = (pool.rng.random() < 0.5 for _ in range(2))
    return graph.TriangularSolveOp(*operands, lower=lower, unit=unit)


def _constant(pool: Pool) -> GraphOp:
    element = pool.rng.choice(COMPUTED_TYPES)
    return pool.constant(element, random_shape(pool.rng, pool.max_elements))


def _iota(pool: Pool) -> GraphOp:
    shape = random_shape(pool.rng, pool.max_elements, pool.rng.randint(1, 4))
    type_ = TensorType(pool.rng.choice(NUMBERS), shape)
    return graph.IotaOp(type_, pool.rng.randrange(len(shape)))


def _matmul(pool: Pool) -> GraphOp:
    rng = pool.rng
    x = pool.pick(COMPUTED_TYPES, has_axes)
    shape, element = shape_of(x), element_of(x)
    batch = broadcast_partner_shape(rng, shape[:-2]) if rng.random() < 0.3 else ()
    free = rng.choice(
        [extent for extent in EXTENTS if extent * shape[-1] * prod(batch) <= pool.max_elements]
    )
    if len(shape) > 1 and rng.random() < 0.3:
        rows = min(free, pool.max_elements // max(1, shape[-2] * prod(batch)))
        other = (shape[-2],) if rng.random() < 0.2 else (*batch, rows, shape[-2])
        return graph.MatmulOp(pool.fresh(element, other), x)
    other = (shape[-1],) if rng.random() < 0.2 else (*batch, shape[-1], free)
    return graph.MatmulOp(x, pool.fresh(element, other))


def _concat(pool: Pool) -> GraphOp:
    rng = pool.rng
    x = pool.pick(COMPUTED_TYPES, has_axes)
    shape = shape_of(x)
    axis = rng.randrange(len(shape))
    parts = [x]
    for _ in range(rng.randint(0, 3)):
        extents = list(shape)
        extents[axis] = rng.choice((0, 1, 1, 2, 3, shape[axis]))
        reuse = rng.random() < 0.2
        parts.append(x if reuse else pool.fresh(element_of(x), extents))
    rng.shuffle(parts)
    return graph.ConcatOp(parts, axis)


def _split(pool: Pool) -> GraphOp:
    rng = pool.rng
    x = pool.pick(COMPUTED_TYPES, has_axes)
    axis = rng.randrange(len(shape_of(x)))
    extent = shape_of(x)[axis]
    cuts = sorted(rng.randint(0, extent) for _ in range(rng.randint(0, 3)))
    ends = [0, *cuts, extent]
    sizes = [high - low for low, high in pairwise(ends)]
    return graph.SplitOp(x, sizes, axis)


def _random_slice(rng: Random, extent: int) -> slice:
    if rng.random() < 0.3:
        return slice(None)
    bounds = [rng.choice([None, rng.randint(-extent - 1, extent + 1)]) for _ in range(2)]
    return slice(bounds[0], bounds[1], rng.choice([None, 1, 1, 2, 3, -1, -1, -2, -3]))


def _slice(pool: Pool) -> GraphOp:
    x = pool.pick(COMPUTED_TYPES)
    return graph.SliceOp(x, [_random_slice(pool.rng, extent) for extent in shape_of(x)])


def _affine_view(pool: Pool) -> GraphOp:
    """Windows along one axis, whose extent is at least 1."""
    rng = pool.rng
    x = pool.pick(COMPUTED_TYPES, lambda shape: bool(shape) and 0 not in shape)
    shape = shape_of(x)
    axis = rng.randrange(len(shape))
    span = rng.randint(1, min(shape[axis], 3))
    step = rng.randint(1, 3)
    dims = [AffineExpr.dimension(number) for number in range(len(shape) + 1)]
    map_ = AffineMap(
        len(dims), 0, (*dims[:axis], dims[axis] * step + dims[-1], *dims[axis + 1 : -1])
    )
    places = (shape[axis] - span) // step + 1
    return graph.AffineViewOp(x, map_, (*shape[:axis], places, *shape[axis + 1 :], span))


def _pad(pool: Pool) -> GraphOp:
    rng = pool.rng
    x = pool.pick(COMPUTED_TYPES)
    low, high = ([rng.choice((0, 0, 1, 2)) for _ in shape_of(x)] for _ in range(2))
    return graph.PadOp(x, low, high, rng.choice([0, 0, 1]))


def _gather(pool: Pool) -> GraphOp:
    rng = pool.rng
    x = pool.pick(COMPUTED_TYPES, has_axes)
    axis = rng.randrange(len(shape_of(x)))
    room = pool.max_elements // max(1, prod(shape_of(x)) // max(1, shape_of(x)[axis]))
    element = rng.choice([type_ for type_ in INTEGERS if str(type_) in ("i32", "i64")])
    if rng.random() < 0.3:
        return graph.GatherOp(x, pool.pick((element,), lambda shape: prod(shape) <= room), axis)
    shape = random_shape(rng, min(max(1, room), 33), rng.randint(0, 2))
    return graph.GatherOp(x, pool.fresh(element, shape), axis)


INDEX_TYPES = tuple(type_ for type_ in INTEGERS if str(type_) in ("i32", "i64"))


def _gather_elements(pool: Pool) -> GraphOp:
    rng = pool.rng
    x = pool.pick(COMPUTED_TYPES, has_axes)
    shape = list(shape_of(x))
    axis = rng.randrange(len(shape))
    room = pool.max_elements // max(1, prod(shape) // max(1, shape[axis]))
    shape[axis] = rng.choice([extent for extent in EXTENTS if extent <= max(1, room)])
    return graph.GatherElementsOp(x, pool.fresh(rng.choice(INDEX_TYPES), shape), axis)


def _gather_nd(pool: Pool) -> GraphOp:
    rng = pool.rng
    x = pool.pick(COMPUTED_TYPES, has_axes)
    shape = shape_of(x)
    batch = rng.randrange(len(shape))
    depth = rng.randint(0, len(shape) - batch)
    room = pool.max_elements // max(1, prod(shape[:batch]) * prod(shape[batch + depth :]))
    free = random_shape(rng, min(max(1, room), 33), rng.randint(0, 1))
    indices = pool.fresh(rng.choice(INDEX_TYPES), (*shape[:batch], *free, depth))
    return graph.GatherNdOp(x, indices, batch)


def _scan(op: type[graph.CumulativeOp]) -> Maker:
    def make(pool: Pool) -> GraphOp:
        # Of integers: a running product of floats leaves their range, where orders of rounding tell.
        x = pool.pick(INTEGERS, has_axes)
        rng = pool.rng
        axis = rng.randrange(len(shape_of(x)))
        return op(x, axis, exclusive=rng.random() < 0.5, reverse=rng.random() < 0.5)

    return make


def _scatter_elements(pool: Pool) -> GraphOp:
    rng = pool.rng
    x = pool.pick(COMPUTED_TYPES, has_axes)
    element, shape = element_of(x), list(shape_of(x))
    axis = rng.randrange(len(shape))
    shape = [rng.randint(0, extent) for extent in shape]
    indices = pool.fresh(rng.choice(INDEX_TYPES), shape)
    reduction = rng.choice(["none", "min", "max"])
    return graph.ScatterElementsOp(x, indices, pool.fresh(element, shape), axis, reduction)


def _scatter_nd(pool: Pool) -> GraphOp:
    rng = pool.rng
    x = pool.pick(COMPUTED_TYPES, has_axes)
    shape = shape_of(x)
    depth = rng.randint(0, len(shape))
    free = random_shape(rng, 7, rng.randint(0, 1))
    indices = pool.fresh(rng.choice(INDEX_TYPES), (*free, depth))
    updates = pool.fresh(element_of(x), (*free, *shape[depth:]))
    return graph.ScatterNdOp(x, indices, updates, rng.choice(["none", "min", "max"]))


def _dynamic_update_slice(pool: Pool) -> GraphOp:
    rng = pool.rng
    x = pool.pick(COMPUTED_TYPES, has_axes)
    update = pool.fresh(element_of(x), [rng.randint(0, extent) for extent in shape_of(x)])
    starts = [pool.fresh(rng.choice(INDEX_TYPES), ()) for _ in shape_of(x)]
    return graph.DynamicUpdateSliceOp(x, update, *starts)


def _fill_multiples(pool: Pool) -> GraphOp:
    x = pool.pick(COMPUTED_TYPES, lambda shape: len(shape) == 1)
    value = pool.fresh(element_of(x), ())
    return graph.FillMultiplesOp(x, value, *(pool.fresh(i64, ()) for _ in range(2)))


def _non_max_suppression(pool: Pool) -> GraphOp:
    rng = pool.rng
    scores = pool.pick(FLOATS, lambda shape: len(shape) == 3)
    batches, classes, boxes = shape_of(scores)
    element = element_of(scores)
    corners = pool.fresh(element, (batches, boxes, 4))
    order = pool.fresh(i64, (batches, classes, boxes))
    thresholds = [pool.fresh(element, ()) for _ in range(2)]
    return graph.NonMaxSuppressionOp(corners, scores, order, *thresholds, rng.randint(0, 3))


def _sort(pool: Pool) -> GraphOp:
    x = pool.pick(COMPUTED_TYPES, has_axes)
    rng = pool.rng
    return graph.SortOp(x, rng.randrange(len(shape_of(x))), descending=rng.random() < 0.5)


def _reshape(pool: Pool) -> GraphOp:
    rng = pool.rng
    x = pool.pick(COMPUTED_TYPES)
    count = prod(shape_of(x))
    if count == 0:
        zero = list(random_shape(rng, 33, rng.randint(1, 4)))
        zero[rng.randrange(len(zero))] = 0
        return graph.ReshapeOp(x, zero)
    shape: list[int] = []
    for _ in range(rng.randint(0, 3)):
        divisors = [extent for extent in range(1, count + 1) if count % extent == 0]
        shape.append(rng.choice(divisors))
        count //= shape[-1]
    return graph.ReshapeOp(x, [*shape, count] if count > 1 else shape)


def _transpose(pool: Pool) -> GraphOp:
    x = pool.pick(COMPUTED_TYPES)
    perm = list(range(len(shape_of(x))))
    pool.rng.shuffle(perm)
    return graph.TransposeOp(x, perm)


def _expand_dims(pool: Pool) -> GraphOp:
    x = pool.pick(COMPUTED_TYPES, lambda shape: len(shape) < 4)
    rank = len(shape_of(x))
    count = pool.rng.randint(0, 4 - rank)
    return graph.ExpandDimsOp(x, pool.rng.sample(range(rank + count), count))


def _squeeze(pool: Pool) -> GraphOp:
    x = pool.pick(COMPUTED_TYPES, lambda shape: 1 in shape)
    ones = [axis for axis, extent in enumerate(shape_of(x)) if extent == 1]
    return graph.SqueezeOp(x, pool.rng.sample(ones, pool.rng.randint(0, len(ones))))


def _broadcast_to(pool: Pool) -> GraphOp:
    rng = pool.rng
    x = pool.pick(COMPUTED_TYPES)
    shape = list(shape_of(x))
    for axis, extent in enumerate(shape):
        room = pool.max_elements // max(1, prod(shape))
        if extent == 1 and rng.random() < 0.7:
            shape[axis] = rng.choice([size for size in EXTENTS[:-1] if size <= max(1, room)])
    while len(shape) < 4 and rng.random() < 0.4:
        room = pool.max_elements // max(1, prod(shape))
        shape.insert(0, rng.choice([size for size in EXTENTS[1:] if size <= max(1, room)]))
    return graph.BroadcastToOp(x, shape)


def _of_fresh(op: Any) -> Maker:
    """Of two inputs: what depends on the sign of a zero, or of integers alone, is not put behind what is rounded."""

    def make(pool: Pool) -> GraphOp:
        shape = random_shape(pool.rng, pool.max_elements, pool.rng.randint(0, 2))
        element = pool.rng.choice([type_ for type_ in op.ELEMENTS if type_ not in STORED])
        return op(pool.fresh(element, shape), pool.fresh(element, shape))

    return make


MAKERS: dict[type[Operation], Maker] = {
    **{op: _of_squares(op) for op in (graph.CholeskyOp, graph.LuOp, graph.QrOp)},
    **{op: _of_squares(op) for op in (graph.EighOp, graph.OrthogonalRowsOp)},
    **{op: _of_fresh(op) for op in (graph.Atan2Op, graph.CopysignOp, graph.GcdOp)},
    graph.EqualBinsOp: _equal_bins,
    graph.BatchNormOp: batch_norm,
    graph.GroupNormOp: group_norm,
    graph.RmsNormOp: rms_norm,
    graph.BitcastOp: _bitcast,
    graph.BroadcastToOp: _broadcast_to,
    graph.CastOp: _cast,
    graph.ClipOp: _clip,
    graph.ConcatOp: _concat,
    graph.ConstantOp: _constant,
    graph.ConvOp: conv,
    graph.BlockedConvOp: blocked_conv,
    graph.BlockedDepthwiseConvOp: blocked_depthwise_conv,
    graph.ConvTransposeOp: conv,
    graph.WinogradInputOp: winograd_input,
    graph.WinogradOutputOp: winograd_output,
    graph.ExpandDimsOp: _expand_dims,
    graph.DynamicUpdateSliceOp: _dynamic_update_slice,
    graph.FillMultiplesOp: _fill_multiples,
    graph.AffineViewOp: _affine_view,
    graph.FftOp: _fft,
    graph.RealFftOp: _real_fft,
    graph.GatherElementsOp: _gather_elements,
    graph.GatherNdOp: _gather_nd,
    graph.GatherOp: _gather,
    graph.GeluOp: _gelu,
    graph.HardSigmoidOp: _hard_sigmoid,
    graph.IotaOp: _iota,
    graph.LayerNormOp: layer_norm,
    graph.LeakyReluOp: _leaky_relu,
    graph.MatmulOp: _matmul,
    graph.NonMaxSuppressionOp: _non_max_suppression,
    graph.PadOp: _pad,
    graph.ReshapeOp: _reshape,
    graph.ScatterElementsOp: _scatter_elements,
    graph.ScatterNdOp: _scatter_nd,
    graph.SliceOp: _slice,
    graph.SortOp: _sort,
    graph.SplitOp: _split,
    graph.SqueezeOp: _squeeze,
    graph.TransposeOp: _transpose,
    graph.TriangularSolveOp: _triangular_solve,
    graph.WhereOp: _where,
}


def maker_of(op: type[Operation]) -> Maker | None:
    """The maker of an operation; None for one that has none yet."""
    if op in MAKERS:
        return MAKERS[op]
    if issubclass(op, graph.UnaryElementwiseOp):
        return _unary(op)
    if issubclass(op, graph.BinaryElementwiseOp):
        return _binary(op)
    if issubclass(op, graph.ReductionOp):
        return _reduction(op)
    if issubclass(op, graph.ArgReductionOp):
        return _arg_reduction(op)
    if issubclass(op, graph.PoolOp):
        return pool(op)
    if issubclass(op, graph.CumulativeOp):
        return _scan(op)
    if issubclass(op, graph.SoftmaxOp | graph.LogSoftmaxOp):
        return _along_axis(op)
    return None
