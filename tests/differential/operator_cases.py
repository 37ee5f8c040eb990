"""
What each graph operation is tested on: operand types and properties, for each element type it takes.

Every operation of the dialect has cases: a family's, found by its base class, or its own in `_CASES`.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from stepwell.dialects import graph
from stepwell.dialects.dtypes import ELEMENT_TYPES, bit_width, is_float
from stepwell.dialects.graph.base import NUMBERS, GraphOp
from xdsl.dialects.builtin import TensorType, i1, i32, i64
from xdsl.ir import Attribute, Operation
from xdsl.ir.affine import AffineExpr, AffineMap

from . import network_cases
from .operator_case import Case, Cases, Shape, case, example

SHAPES: tuple[Shape, ...] = ((), (1,), (17,), (3, 5), (1, 7, 1), (2, 0, 3))
PAIRS: tuple[tuple[Shape, Shape], ...] = (
    ((), ()),
    ((1,), (1,)),
    ((17,), (17,)),
    ((3, 5), (5,)),
    ((3, 1), (2, 1, 5)),
    ((), (7,)),
    ((2, 0), (2, 1)),
)

# Families.


def _unary(op: Any, element: Attribute) -> list[Case]:
    return [case(op, shape) for shape in SHAPES]


def _binary(op: Any, element: Attribute) -> list[Case]:
    return [case(op, *pair) for pair in PAIRS]


_REDUCTIONS: tuple[tuple[Shape, tuple[int, ...] | None], ...] = (
    ((), None),
    ((1,), (0,)),
    ((33,), (0,)),
    ((3, 5), None),
    ((3, 5), (0,)),
    ((2, 3, 5), (1,)),
    ((2, 3, 5), (0, 2)),
    ((2, 3, 1), (2,)),
    ((3, 5), ()),
    ((0, 3), (1,)),
)


def _reduction(op: Any, element: Attribute) -> list[Case]:
    cases = [
        case(op, shape, axes=axes, keepdims=number % 2 == 1)
        for number, (shape, axes) in enumerate(_REDUCTIONS)
    ]
    return cases + ([case(op, (0, 3), axes=(0,))] if op.HAS_IDENTITY else [])


def _along_axis(op: Any, element: Attribute) -> list[Case]:
    places = (((1,), 0), ((33,), 0), ((3, 5), 0), ((3, 5), 1), ((2, 7, 3), 1), ((0, 3), 1))
    return [case(op, shape, axis=axis) for shape, axis in places]


def _arg_reduction(op: Any, element: Attribute) -> list[Case]:
    return [*_along_axis(op, element), case(op, (2, 7, 3), axis=2, keepdims=True)]


# Single operations.


def _leaky_relu(op: Any, element: Attribute) -> list[Case]:
    return [case(op, shape, alpha=alpha) for shape in SHAPES for alpha in (0.01, 1.5)]


def _hard_sigmoid(op: Any, element: Attribute) -> list[Case]:
    return [case(op, shape, alpha=1 / 6, beta=0.5) for shape in SHAPES]


def _gelu(op: Any, element: Attribute) -> list[Case]:
    return [case(op, shape, approximate=how) for shape in SHAPES for how in ("none", "tanh")]


def _clip(op: Any, element: Attribute) -> list[Case]:
    low, high = (-0.75, 1.25) if is_float(element) else (1, 5)
    cases = [case(op, shape, min=low, max=high) for shape in SHAPES]
    return [*cases, case(op, (17,), min=low), case(op, (17,), max=high), case(op, (17,))]


def _where(op: Any, element: Attribute) -> list[Case]:
    shapes = [(shape,) * 3 for shape in SHAPES] + [((3, 1), (5,), ()), ((5,), (3, 1), (2, 1, 5))]
    return [case(op, (i1, condition), x, y) for condition, x, y in shapes]


def _cast(op: Any, element: Attribute) -> list[Case]:
    targets = [target for target in ELEMENT_TYPES if target != element]
    return [
        case(op, shape, element_type=target) for target in targets for shape in ((), (17,), (2, 0))
    ]


def _bitcast(op: Any, element: Attribute) -> list[Case]:
    targets = [other for other in NUMBERS if bit_width(other) == bit_width(element)]
    return [case(op, shape, element_type=to) for to in targets for shape in ((), (17,), (2, 0))]


_SQUARES: tuple[Shape, ...] = ((1, 1), (3, 3), (2, 2, 2), (1, 0, 0), (0, 2, 2))


def _squares(op: Any, element: Attribute) -> list[Case]:
    return [case(op, shape) for shape in _SQUARES]


def _eigh(op: Any, element: Attribute) -> list[Case]:
    return [case(op, shape, values_only=flag) for shape in _SQUARES for flag in (False, True)]


def _fft(op: Any, element: Attribute) -> list[Case]:
    # Too few elements for infinities among them: which sums are NaN is up to the algorithm.
    cases = (
        ((2, 4), 4),
        ((1, 6), 3),
        ((1, 9), 9),
        ((1, 7), 7),
        ((1, 5), 1),
        ((0, 4), 2),
        ((1, 8), 8),
    )
    return [case(op, shape, shape, length=length) for shape, length in cases]


def _real_fft(op: Any, element: Attribute) -> list[Case]:
    shapes = (((2, 4), 4), ((1, 6), 3), ((1, 9), 9), ((1, 5), 1), ((0, 4), 2), ((1, 8), 8))
    return [case(op, shape, length=length) for shape, length in shapes]


def _qr(op: Any, element: Attribute) -> list[Case]:
    shapes = (*_SQUARES, (5, 3), (2, 2, 4), (3, 0))
    return [case(op, shape, complete=flag) for shape in shapes for flag in (False, True)]


def _triangular_solve(op: Any, element: Attribute) -> list[Case]:
    return [
        case(op, shape, (*shape[:-1], columns), lower=lower, unit=unit)
        for shape, columns in zip(_SQUARES, (1, 4, 3, 2, 2), strict=True)
        for lower in (False, True)
        for unit in (False, True)
    ]


def _constant(op: Any, element: Attribute) -> list[Case]:
    arrays = [example(element, shape, number) for number, shape in enumerate((*SHAPES, (3, 31)))]
    arrays.append(np.full((5, 33), example(element, (1,), 9)[0]))
    return [Case((), partial(op, array)) for array in arrays]


def _iota(op: Any, element: Attribute) -> list[Case]:
    places = (((1,), 0), ((300,), 0), ((3, 5), 0), ((3, 5), 1), ((2, 0), 0))
    return [Case((), partial(op, TensorType(element, shape), axis)) for shape, axis in places]


def _matmul(op: Any, element: Attribute) -> list[Case]:
    pairs = (
        ((1,), (1,)),
        ((33,), (33,)),
        ((2, 3), (3,)),
        ((3,), (3, 5)),
        ((1, 1), (1, 1)),
        ((5, 17), (17, 3)),
        ((5, 2, 3), (3, 4)),
        ((2, 1, 2, 3), (5, 3, 4)),
        ((2, 0), (0, 3)),
        ((0, 3), (3, 2)),
    )
    return [case(op, *pair) for pair in pairs]


def _concat(op: Any, element: Attribute) -> list[Case]:
    def build(*parts: Any, axis: int) -> GraphOp:
        return op(parts, axis)

    return [
        case(build, (1,), axis=0),
        case(build, (1,), (17,), (0,), (2,), axis=0),
        case(build, (3, 5), (1, 5), axis=0),
        case(build, (3, 5), (3, 1), (3, 2), axis=1),
        case(build, (2, 3, 0), (2, 1, 0), axis=1),
    ]


def _split(op: Any, element: Attribute) -> list[Case]:
    return [
        case(op, (1,), sizes=(1,), axis=0),
        case(op, (17,), sizes=(3, 0, 14), axis=0),
        case(op, (3, 5), sizes=(2, 1), axis=0),
        case(op, (3, 5), sizes=(1, 1, 3), axis=1),
        case(op, (2, 0), sizes=(1, 1), axis=0),
    ]


def _slice(op: Any, element: Attribute) -> list[Case]:
    everything = slice(None)
    return [
        case(op, (), slices=()),
        case(op, (17,), slices=(slice(2, 15, 3),)),
        case(op, (17,), slices=(slice(None, None, -1),)),
        case(op, (17,), slices=(slice(15, 1, -4),)),
        case(op, (17,), slices=(slice(5, 5),)),
        case(op, (3, 5), slices=(everything, slice(-2, None))),
        case(op, (3, 5), slices=(slice(1, 2), slice(None, None, -2))),
        case(op, (2, 0, 3), slices=(slice(1), everything, slice(1, None))),
    ]


def _pad(op: Any, element: Attribute) -> list[Case]:
    return [
        case(op, (), low=(), high=(), value=1),
        case(op, (1,), low=(2,), high=(0,), value=1),
        case(op, (17,), low=(0,), high=(3,), value=0),
        case(op, (3, 5), low=(1, 0), high=(0, 2), value=1),
        case(op, (2, 0), low=(0, 1), high=(1, 2), value=1),
        case(op, (2, 0), low=(1, 0), high=(1, 0), value=0),
    ]


def _gather(op: Any, element: Attribute) -> list[Case]:
    # Indices are between -8 and 8: from the end, and out of range too.
    return [
        case(op, (1,), (i64, ()), axis=0),
        case(op, (17,), (i32, (5,)), axis=0),
        case(op, (3, 5), (i64, (2, 2)), axis=0),
        case(op, (3, 5), (i32, (4,)), axis=1),
        case(op, (2, 7, 3), (i64, (1, 2)), axis=1),
        case(op, (3, 5), (i64, (0,)), axis=1),
        case(op, (0, 3), (i64, (2,)), axis=1),
    ]


def _gather_elements(op: Any, element: Attribute) -> list[Case]:
    return [
        case(op, (1,), (i64, (1,)), axis=0),
        case(op, (17,), (i32, (5,)), axis=0),
        case(op, (3, 5), (i64, (4, 3)), axis=0),
        case(op, (2, 7, 3), (i64, (1, 9, 2)), axis=1),
        case(op, (3, 0), (i64, (2, 0)), axis=1),
    ]


def _gather_nd(op: Any, element: Attribute) -> list[Case]:
    return [
        case(op, (17,), (i64, (1,))),
        case(op, (3, 5), (i32, (4, 1))),
        case(op, (3, 5), (i64, (2, 3, 2))),
        case(op, (2, 7, 3), (i64, (2, 5, 1)), batch_dims=1),
        case(op, (2, 3, 4, 2), (i64, (2, 3, 1)), batch_dims=2),
        case(op, (2, 7), (i64, (2, 3, 0)), batch_dims=1),
        case(op, (3,), (i64, (2, 0))),
        case(op, (3, 5), (i64, (0, 2))),
    ]


def _non_max_suppression(op: Any, element: Attribute) -> list[Case]:
    return [
        case(op, (2, 6, 4), (2, 3, 6), (i64, (2, 3, 6)), (), (), limit=2),
        case(op, (1, 3, 4), (1, 1, 3), (i64, (1, 1, 3)), (), (), limit=0),
        case(op, (1, 0, 4), (1, 2, 0), (i64, (1, 2, 0)), (), (), limit=5),
    ]


def _scan(op: Any, element: Attribute) -> list[Case]:
    how = ({}, {"exclusive": True}, {"reverse": True}, {"exclusive": True, "reverse": True})
    return [
        *(case(op, (2, 7, 3), axis=1, **each) for each in how),
        case(op, (9,), axis=0),
        case(op, (3, 5), axis=1, reverse=True),
        case(op, (3, 0), axis=1),
    ]


def _scatter_elements(op: Any, element: Attribute) -> list[Case]:
    # Indices are between -8 and 8: from the end, and out of range too, where nothing is written.
    reductions = ["none", "min", "max"] if element == i1 else ["none", "add", "mul", "min", "max"]
    return [
        *(
            case(op, (3, 5), (i64, (4, 2)), (4, 2), axis=0, reduction=reduction)
            for reduction in reductions
        ),
        case(op, (9,), (i32, (17,)), (17,), axis=0),
        # So many updates of a few elements are joined in rows of their own.
        *(
            case(op, (3,), (i64, (29,)), (29,), axis=0, reduction=reduction)
            for reduction in reductions
        ),
        case(op, (2, 7, 3), (i64, (1, 9, 2)), (1, 9, 2), axis=1),
        case(op, (0,), (i64, (2,)), (2,), axis=0),
        case(op, (3,), (i64, (0,)), (0,), axis=0),
    ]


def _scatter_nd(op: Any, element: Attribute) -> list[Case]:
    return [
        case(op, (9,), (i64, (5, 1)), (5,)),
        case(op, (3, 5), (i32, (4, 1)), (4, 5), reduction="max"),
        case(op, (3, 5), (i64, (2, 3, 2)), (2, 3)),
        case(op, (2, 7, 3), (i64, (5, 2)), (5, 3), reduction="min"),
        case(op, (3,), (i64, (2, 0)), (2, 3)),
        case(op, (3, 5), (i64, (0, 2)), (0,)),
    ]


def _dynamic_update_slice(op: Any, element: Attribute) -> list[Case]:
    # Indices are between -8 and 8: from the end, and such that a slice is moved inside.
    return [
        case(op, (9,), (4,), (i64, ())),
        case(op, (5, 7), (1, 7), (i32, ()), (i32, ())),
        case(op, (2, 7, 3), (2, 2, 1), (i64, ()), (i64, ()), (i64, ())),
        case(op, (3, 5), (3, 0), (i64, ()), (i64, ())),
        case(op, (), ()),
    ]


def _fill_multiples(op: Any, element: Attribute) -> list[Case]:
    # Steps and starts are between -8 and 8.
    return [case(op, (extent,), (), (i64, ()), (i64, ())) for extent in (0, 1, 2, 17, 100)]


def _sort(op: Any, element: Attribute) -> list[Case]:
    return [
        *_along_axis(op, element),
        case(op, (64,), axis=0, descending=True),
        case(op, (2, 31), axis=1, descending=True),
        case(op, (2, 0), axis=0),
        case(op, (2, 31), axis=1, descending=True, places=(0, 3)),
        case(op, (31, 2), axis=0, places=(29, 31)),
        case(op, (1201,), axis=0, places=(600, 602)),
        case(op, (64,), axis=0, values_only=True),
        case(op, (17, 3), axis=1, values_only=True, descending=True),
    ]


def _reshape(op: Any, element: Attribute) -> list[Case]:
    pairs = (
        ((), (1, 1)),
        ((1,), ()),
        ((17,), (17,)),
        ((12,), (2, 3, -1)),
        ((3, 4), (2, 6)),
        ((2, 3, 5), (5, 6)),
        ((2, 0, 3), (0, 7)),
    )
    return [case(op, operand, shape=shape) for operand, shape in pairs]


def _transpose(op: Any, element: Attribute) -> list[Case]:
    perms = ((), (0,), (1, 0), (2, 0, 1), (0, 2, 1), (3, 1, 0, 2))
    cases = [case(op, (2, 3, 5, 1)[: len(perm)], perm=perm) for perm in perms]
    return [*cases, case(op, (2, 0, 3), perm=(2, 1, 0))]


def _affine_view(op: Any, element: Attribute) -> list[Case]:
    d0, d1, d2 = map(AffineExpr.dimension, range(3))
    views = (
        ((17,), 2, (d0 * 3 + d1,), (5, 3)),
        ((17,), 1, (d0 * -2 + 16,), (9,)),
        ((5, 7), 1, (d0, d0 + 2), (5,)),
        ((5, 7), 3, (d1, d0 + d2), (3, 5, 4)),
        ((5, 0), 2, (d1, d0), (0, 5)),
        ((), 1, (), (3,)),
        ((3,), 0, (AffineExpr.constant(2),), ()),
    )
    return [
        case(op, shape, map_=AffineMap(rank, 0, exprs), shape=result)
        for shape, rank, exprs, result in views
    ]


def _expand_dims(op: Any, element: Attribute) -> list[Case]:
    places = (((), (0, 1)), ((17,), (1,)), ((3, 5), (0, 2)), ((2, 0), (1,)))
    return [case(op, shape, axes=axes) for shape, axes in places]


def _squeeze(op: Any, element: Attribute) -> list[Case]:
    places = (((1, 1), None), ((1, 17), (0,)), ((3, 1, 5), (1,)), ((1, 0), (0,)), ((1, 5), ()))
    return [case(op, shape, axes=axes) for shape, axes in places]


def _broadcast_to(op: Any, element: Attribute) -> list[Case]:
    pairs = (
        ((), (3, 5)),
        ((1,), (17,)),
        ((5,), (3, 5)),
        ((3, 1), (2, 3, 5)),
        ((3, 5), (3, 5)),
        ((1,), (0,)),
    )
    return [case(op, operand, shape=shape) for operand, shape in pairs]


def _gcd(op: Any, element: Attribute) -> list[Case]:
    return [case(op, shape, shape) for shape in SHAPES]


def _equal_bins(op: Any, element: Attribute) -> list[Case]:
    cases = [case(op, shape, first=-0.75, last=0.5, bins=7) for shape in SHAPES]
    return [*cases, case(op, (17,), first=-1.0, last=1.0, bins=1)]


_CASES: dict[type[Operation], Cases] = {
    **network_cases.CASES,
    graph.EqualBinsOp: _equal_bins,
    graph.GcdOp: _gcd,
    graph.BitcastOp: _bitcast,
    graph.BroadcastToOp: _broadcast_to,
    graph.CastOp: _cast,
    graph.CholeskyOp: _squares,
    graph.ClipOp: _clip,
    graph.ConcatOp: _concat,
    graph.ConstantOp: _constant,
    graph.EighOp: _eigh,
    graph.ExpandDimsOp: _expand_dims,
    graph.FftOp: _fft,
    graph.RealFftOp: _real_fft,
    graph.GatherElementsOp: _gather_elements,
    graph.GatherNdOp: _gather_nd,
    graph.GatherOp: _gather,
    graph.GeluOp: _gelu,
    graph.HardSigmoidOp: _hard_sigmoid,
    graph.AffineViewOp: _affine_view,
    graph.IotaOp: _iota,
    graph.LeakyReluOp: _leaky_relu,
    graph.LogSoftmaxOp: _along_axis,
    graph.LuOp: _squares,
    graph.MatmulOp: _matmul,
    graph.NonMaxSuppressionOp: _non_max_suppression,
    graph.OrthogonalRowsOp: _squares,
    graph.PadOp: _pad,
    graph.QrOp: _qr,
    graph.ReshapeOp: _reshape,
    graph.ScatterElementsOp: _scatter_elements,
    graph.ScatterNdOp: _scatter_nd,
    graph.DynamicUpdateSliceOp: _dynamic_update_slice,
    graph.FillMultiplesOp: _fill_multiples,
    graph.SliceOp: _slice,
    graph.SoftmaxOp: _along_axis,
    graph.SortOp: _sort,
    graph.SplitOp: _split,
    graph.SqueezeOp: _squeeze,
    graph.TransposeOp: _transpose,
    graph.TriangularSolveOp: _triangular_solve,
    graph.WhereOp: _where,
}


def cases_of(op: type[Operation]) -> Cases:
    """Raises KeyError for an operation that has none."""
    if op not in _CASES:
        for family, cases in (
            (graph.UnaryElementwiseOp, _unary),
            (graph.BinaryElementwiseOp, _binary),
            (graph.ReductionOp, _reduction),
            (graph.ArgReductionOp, _arg_reduction),
            (graph.PoolOp, network_cases.pool),
            (graph.CumulativeOp, _scan),
        ):
            if issubclass(op, family):
                return cases
    return _CASES[op]


def element_types_of(op: type[GraphOp]) -> tuple[Attribute, ...]:
    """The element types an operation takes."""
    return NUMBERS if op is graph.IotaOp else op.ELEMENTS
