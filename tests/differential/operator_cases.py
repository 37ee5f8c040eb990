"""
What each graph operation is tested on: operand types and properties, for each element type it takes.

Every operation of the dialect has cases: a family's, found by its base class, or its own in `_CASES`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from stepwell.dialects import graph
from stepwell.dialects.dtypes import ELEMENT_TYPES, bit_width, is_float, numpy_dtype
from stepwell.dialects.graph.base import NUMBERS, GraphOp
from stepwell.dialects.graph.windows import Window
from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType, i1, i32, i64
from xdsl.ir import Attribute, Block, Operation, Region

from .random_programs import Program

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]

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

Operand = Shape | tuple[Attribute, Shape]
"""The shape of an operand, with its element type when that is not the one of the case."""


@dataclass(frozen=True)
class Case:
    """One use of an operation: its operands, and how to make it of them."""

    operands: tuple[Operand, ...]
    build: Callable[..., GraphOp]


def _case(build: Callable[..., GraphOp], *operands: Operand, **properties: Any) -> Case:
    return Case(operands, partial(build, **properties))


Cases = Callable[[Any, Attribute], Sequence[Case]]
"""The cases of an operation, given its class, for an element type."""


# Families.


def _unary(op: Any, element: Attribute) -> list[Case]:
    return [_case(op, shape) for shape in SHAPES]


def _binary(op: Any, element: Attribute) -> list[Case]:
    return [_case(op, *pair) for pair in PAIRS]


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
        _case(op, shape, axes=axes, keepdims=number % 2 == 1)
        for number, (shape, axes) in enumerate(_REDUCTIONS)
    ]
    return cases + ([_case(op, (0, 3), axes=(0,))] if op.HAS_IDENTITY else [])


def _along_axis(op: Any, element: Attribute) -> list[Case]:
    places = (((1,), 0), ((33,), 0), ((3, 5), 0), ((3, 5), 1), ((2, 7, 3), 1), ((0, 3), 1))
    return [_case(op, shape, axis=axis) for shape, axis in places]


def _arg_reduction(op: Any, element: Attribute) -> list[Case]:
    return [*_along_axis(op, element), _case(op, (2, 7, 3), axis=2, keepdims=True)]


# Single operations.


def _leaky_relu(op: Any, element: Attribute) -> list[Case]:
    return [_case(op, shape, alpha=alpha) for shape in SHAPES for alpha in (0.01, 1.5)]


def _hard_sigmoid(op: Any, element: Attribute) -> list[Case]:
    return [_case(op, shape, alpha=1 / 6, beta=0.5) for shape in SHAPES]


def _gelu(op: Any, element: Attribute) -> list[Case]:
    return [_case(op, shape, approximate=how) for shape in SHAPES for how in ("none", "tanh")]


def _clip(op: Any, element: Attribute) -> list[Case]:
    low, high = (-0.75, 1.25) if is_float(element) else (1, 5)
    cases = [_case(op, shape, min=low, max=high) for shape in SHAPES]
    return [*cases, _case(op, (17,), min=low), _case(op, (17,), max=high), _case(op, (17,))]


def _where(op: Any, element: Attribute) -> list[Case]:
    shapes = [(shape,) * 3 for shape in SHAPES] + [((3, 1), (5,), ()), ((5,), (3, 1), (2, 1, 5))]
    return [_case(op, (i1, condition), x, y) for condition, x, y in shapes]


def _cast(op: Any, element: Attribute) -> list[Case]:
    targets = [target for target in ELEMENT_TYPES if target != element]
    return [
        _case(op, shape, element_type=target) for target in targets for shape in ((), (17,), (2, 0))
    ]


def _bitcast(op: Any, element: Attribute) -> list[Case]:
    targets = [other for other in NUMBERS if bit_width(other) == bit_width(element)]
    return [_case(op, shape, element_type=to) for to in targets for shape in ((), (17,), (2, 0))]


_SQUARES: tuple[Shape, ...] = ((1, 1), (3, 3), (2, 2, 2), (1, 0, 0), (0, 2, 2))


def _squares(op: Any, element: Attribute) -> list[Case]:
    return [_case(op, shape) for shape in _SQUARES]


def _qr(op: Any, element: Attribute) -> list[Case]:
    shapes = (*_SQUARES, (5, 3), (2, 2, 4), (3, 0))
    return [_case(op, shape, complete=flag) for shape in shapes for flag in (False, True)]


def _triangular_solve(op: Any, element: Attribute) -> list[Case]:
    return [
        _case(op, shape, (*shape[:-1], columns), lower=lower, unit=unit)
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
    return [_case(op, *pair) for pair in pairs]


def _concat(op: Any, element: Attribute) -> list[Case]:
    def build(*parts: Any, axis: int) -> GraphOp:
        return op(parts, axis)

    return [
        _case(build, (1,), axis=0),
        _case(build, (1,), (17,), (0,), (2,), axis=0),
        _case(build, (3, 5), (1, 5), axis=0),
        _case(build, (3, 5), (3, 1), (3, 2), axis=1),
        _case(build, (2, 3, 0), (2, 1, 0), axis=1),
    ]


def _split(op: Any, element: Attribute) -> list[Case]:
    return [
        _case(op, (1,), sizes=(1,), axis=0),
        _case(op, (17,), sizes=(3, 0, 14), axis=0),
        _case(op, (3, 5), sizes=(2, 1), axis=0),
        _case(op, (3, 5), sizes=(1, 1, 3), axis=1),
        _case(op, (2, 0), sizes=(1, 1), axis=0),
    ]


def _slice(op: Any, element: Attribute) -> list[Case]:
    everything = slice(None)
    return [
        _case(op, (), slices=()),
        _case(op, (17,), slices=(slice(2, 15, 3),)),
        _case(op, (17,), slices=(slice(None, None, -1),)),
        _case(op, (17,), slices=(slice(15, 1, -4),)),
        _case(op, (17,), slices=(slice(5, 5),)),
        _case(op, (3, 5), slices=(everything, slice(-2, None))),
        _case(op, (3, 5), slices=(slice(1, 2), slice(None, None, -2))),
        _case(op, (2, 0, 3), slices=(slice(1), everything, slice(1, None))),
    ]


def _pad(op: Any, element: Attribute) -> list[Case]:
    return [
        _case(op, (), low=(), high=(), value=1),
        _case(op, (1,), low=(2,), high=(0,), value=1),
        _case(op, (17,), low=(0,), high=(3,), value=0),
        _case(op, (3, 5), low=(1, 0), high=(0, 2), value=1),
        _case(op, (2, 0), low=(0, 1), high=(1, 2), value=1),
        _case(op, (2, 0), low=(1, 0), high=(1, 0), value=0),
    ]


def _gather(op: Any, element: Attribute) -> list[Case]:
    # Indices are between -8 and 8: from the end, and out of range too.
    return [
        _case(op, (1,), (i64, ()), axis=0),
        _case(op, (17,), (i32, (5,)), axis=0),
        _case(op, (3, 5), (i64, (2, 2)), axis=0),
        _case(op, (3, 5), (i32, (4,)), axis=1),
        _case(op, (2, 7, 3), (i64, (1, 2)), axis=1),
        _case(op, (3, 5), (i64, (0,)), axis=1),
        _case(op, (0, 3), (i64, (2,)), axis=1),
    ]


def _gather_elements(op: Any, element: Attribute) -> list[Case]:
    return [
        _case(op, (1,), (i64, (1,)), axis=0),
        _case(op, (17,), (i32, (5,)), axis=0),
        _case(op, (3, 5), (i64, (4, 3)), axis=0),
        _case(op, (2, 7, 3), (i64, (1, 9, 2)), axis=1),
        _case(op, (3, 0), (i64, (2, 0)), axis=1),
    ]


def _gather_nd(op: Any, element: Attribute) -> list[Case]:
    return [
        _case(op, (17,), (i64, (1,))),
        _case(op, (3, 5), (i32, (4, 1))),
        _case(op, (3, 5), (i64, (2, 3, 2))),
        _case(op, (2, 7, 3), (i64, (2, 5, 1)), batch_dims=1),
        _case(op, (2, 3, 4, 2), (i64, (2, 3, 1)), batch_dims=2),
        _case(op, (2, 7), (i64, (2, 3, 0)), batch_dims=1),
        _case(op, (3,), (i64, (2, 0))),
        _case(op, (3, 5), (i64, (0, 2))),
    ]


def _non_max_suppression(op: Any, element: Attribute) -> list[Case]:
    return [
        _case(op, (2, 6, 4), (2, 3, 6), (i64, (2, 3, 6)), (), (), limit=2),
        _case(op, (1, 3, 4), (1, 1, 3), (i64, (1, 1, 3)), (), (), limit=0),
        _case(op, (1, 0, 4), (1, 2, 0), (i64, (1, 2, 0)), (), (), limit=5),
    ]


def _scan(op: Any, element: Attribute) -> list[Case]:
    how = ({}, {"exclusive": True}, {"reverse": True}, {"exclusive": True, "reverse": True})
    return [
        *(_case(op, (2, 7, 3), axis=1, **each) for each in how),
        _case(op, (9,), axis=0),
        _case(op, (3, 5), axis=1, reverse=True),
        _case(op, (3, 0), axis=1),
    ]


def _scatter_elements(op: Any, element: Attribute) -> list[Case]:
    # Indices are between -8 and 8: from the end, and out of range too, where nothing is written.
    reductions = ["none", "min", "max"] if element == i1 else ["none", "add", "mul", "min", "max"]
    return [
        *(
            _case(op, (3, 5), (i64, (4, 2)), (4, 2), axis=0, reduction=reduction)
            for reduction in reductions
        ),
        _case(op, (9,), (i32, (17,)), (17,), axis=0),
        _case(op, (2, 7, 3), (i64, (1, 9, 2)), (1, 9, 2), axis=1),
        _case(op, (0,), (i64, (2,)), (2,), axis=0),
        _case(op, (3,), (i64, (0,)), (0,), axis=0),
    ]


def _scatter_nd(op: Any, element: Attribute) -> list[Case]:
    return [
        _case(op, (9,), (i64, (5, 1)), (5,)),
        _case(op, (3, 5), (i32, (4, 1)), (4, 5), reduction="max"),
        _case(op, (3, 5), (i64, (2, 3, 2)), (2, 3)),
        _case(op, (2, 7, 3), (i64, (5, 2)), (5, 3), reduction="min"),
        _case(op, (3,), (i64, (2, 0)), (2, 3)),
        _case(op, (3, 5), (i64, (0, 2)), (0,)),
    ]


def _sort(op: Any, element: Attribute) -> list[Case]:
    return [
        *_along_axis(op, element),
        _case(op, (64,), axis=0, descending=True),
        _case(op, (2, 31), axis=1, descending=True),
        _case(op, (2, 0), axis=0),
    ]


_WINDOWS: tuple[tuple[Shape, Shape, Shape, Shape, Shape, Shape, int], ...] = (
    ((1, 1, 3), (1, 1, 1), (1,), (1,), (0,), (0,), 1),
    ((2, 3, 9), (4, 3, 3), (2,), (1,), (1,), (2,), 1),
    ((1, 4, 7, 6), (6, 2, 3, 2), (1, 2), (2, 1), (1, 0), (2, -1), 2),
    ((2, 3, 5, 5), (3, 1, 3, 3), (2, 2), (1, 1), (1, 1), (1, 1), 3),
    ((1, 2, 4, 5, 3), (3, 2, 2, 3, 1), (1, 1, 2), (1, 2, 1), (0, 2, -1), (1, 0, 1), 1),
)
"""Image, weights, strides, dilations, pads before and after, and groups."""


def _conv(op: Any, element: Attribute) -> list[Case]:
    names = ("strides", "dilations", "before", "after", "groups")
    return [
        _case(op, image, weights, **dict(zip(names, numbers, strict=True)))
        for image, weights, *numbers in _WINDOWS
    ]


def _conv_transpose(op: Any, element: Attribute) -> list[Case]:
    """Weights have the image's channels first, and its groups' outputs behind."""
    names = ("strides", "dilations", "before", "after", "groups")
    return [
        _case(
            op,
            image,
            (image[1], weights[0] // numbers[-1], *weights[2:]),
            **dict(zip(names, numbers, strict=True)),
        )
        for image, weights, *numbers in _WINDOWS
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
    return [_case(op, operand, shape=shape) for operand, shape in pairs]


def _transpose(op: Any, element: Attribute) -> list[Case]:
    perms = ((), (0,), (1, 0), (2, 0, 1), (0, 2, 1), (3, 1, 0, 2))
    cases = [_case(op, (2, 3, 5, 1)[: len(perm)], perm=perm) for perm in perms]
    return [*cases, _case(op, (2, 0, 3), perm=(2, 1, 0))]


def _expand_dims(op: Any, element: Attribute) -> list[Case]:
    places = (((), (0, 1)), ((17,), (1,)), ((3, 5), (0, 2)), ((2, 0), (1,)))
    return [_case(op, shape, axes=axes) for shape, axes in places]


def _squeeze(op: Any, element: Attribute) -> list[Case]:
    places = (((1, 1), None), ((1, 17), (0,)), ((3, 1, 5), (1,)), ((1, 0), (0,)), ((1, 5), ()))
    return [_case(op, shape, axes=axes) for shape, axes in places]


def _broadcast_to(op: Any, element: Attribute) -> list[Case]:
    pairs = (
        ((), (3, 5)),
        ((1,), (17,)),
        ((5,), (3, 5)),
        ((3, 1), (2, 3, 5)),
        ((3, 5), (3, 5)),
        ((1,), (0,)),
    )
    return [_case(op, operand, shape=shape) for operand, shape in pairs]


def _layer_norm(op: Any, element: Attribute) -> list[Case]:
    return [
        _case(op, (1,), axis=0),
        _case(op, (3, 17), (17,), axis=1),
        _case(op, (3, 17), (17,), (17,), axis=1, epsilon=1e-3),
        _case(op, (2, 3, 5), (3, 5), (5,), axis=1),
        _case(op, (2, 7), (), (1,), axis=0),
        _case(op, (0, 3), (3,), axis=1),
    ]


def _rms_norm(op: Any, element: Attribute) -> list[Case]:
    return [
        _case(op, (1,), axis=0),
        _case(op, (3, 17), (17,), axis=1),
        _case(op, (2, 3, 5), (3, 5), axis=1, epsilon=1e-3),
        _case(op, (0, 3), (3,), axis=1),
    ]


def _batch_norm(op: Any, element: Attribute) -> list[Case]:
    return [
        _case(op, (2, 3), *[(3,)] * 4, axis=1, epsilon=5.0),
        _case(op, (1, 3, 5, 7), *[(3,)] * 4, axis=1, epsilon=5.0),
        _case(op, (5, 3, 2), *[(2,)] * 4, axis=2, epsilon=5.0),
        _case(op, (0, 1, 4), *[(1,)] * 4, axis=1, epsilon=5.0),
    ]


def _group_norm(op: Any, element: Attribute) -> list[Case]:
    return [
        _case(op, (2, 6, 5), (6,), (6,), groups=2),
        _case(op, (1, 3, 5, 7), (3,), (3,), groups=3),
        _case(op, (2, 4, 3, 1, 2), (4,), (4,), groups=1, epsilon=1e-3),
        _case(op, (3, 4), (4,), (4,), groups=2),
        _case(op, (0, 2, 3), (2,), (2,), groups=2),
    ]


WINDOWS: tuple[tuple[Shape, Window], ...] = (
    ((5,), Window((1,), (2,), (1,), (0,), (0,))),
    ((19,), Window((3,), (2,), (1,), (1,), (1,))),
    ((3, 7), Window((2, 3), (1, 2), (1, 2), (1, 0), (0, 2))),
    (
        (1, 2, 7, 8),
        Window((1, 1, 3, 2), (1, 1, 2, 3), (1, 1, 1, 1), (0, 0, 1, 0), (0, 0, 1, 0), True),
    ),
    ((2, 0, 5), Window((1, 1, 2), (1, 1, 1), (1, 1, 1), (0, 0, 0), (0, 0, 0))),
)


def _pool(op: Any, element: Attribute) -> list[Case]:
    return [_case(op, shape, window=window) for shape, window in WINDOWS]


def _average_pool(op: Any, element: Attribute) -> list[Case]:
    return [
        *_pool(op, element),
        *[_case(op, shape, window=window, count_padding=True) for shape, window in WINDOWS],
    ]


def _gcd(op: Any, element: Attribute) -> list[Case]:
    return [_case(op, shape, shape) for shape in SHAPES]


_CASES: dict[type[Operation], Cases] = {
    graph.GcdOp: _gcd,
    graph.AveragePoolOp: _average_pool,
    graph.BatchNormOp: _batch_norm,
    graph.GroupNormOp: _group_norm,
    graph.RmsNormOp: _rms_norm,
    graph.BitcastOp: _bitcast,
    graph.BroadcastToOp: _broadcast_to,
    graph.CastOp: _cast,
    graph.CholeskyOp: _squares,
    graph.ClipOp: _clip,
    graph.ConcatOp: _concat,
    graph.ConstantOp: _constant,
    graph.ConvOp: _conv,
    graph.ConvTransposeOp: _conv_transpose,
    graph.ExpandDimsOp: _expand_dims,
    graph.GatherElementsOp: _gather_elements,
    graph.GatherNdOp: _gather_nd,
    graph.GatherOp: _gather,
    graph.GeluOp: _gelu,
    graph.HardSigmoidOp: _hard_sigmoid,
    graph.IotaOp: _iota,
    graph.LayerNormOp: _layer_norm,
    graph.LeakyReluOp: _leaky_relu,
    graph.LogSoftmaxOp: _along_axis,
    graph.LuOp: _squares,
    graph.MatmulOp: _matmul,
    graph.NonMaxSuppressionOp: _non_max_suppression,
    graph.PadOp: _pad,
    graph.QrOp: _qr,
    graph.ReshapeOp: _reshape,
    graph.ScatterElementsOp: _scatter_elements,
    graph.ScatterNdOp: _scatter_nd,
    graph.SliceOp: _slice,
    graph.SoftmaxOp: _along_axis,
    graph.SortOp: _sort,
    graph.SplitOp: _split,
    graph.SqueezeOp: _squeeze,
    graph.TransposeOp: _transpose,
    graph.TriangularSolveOp: _triangular_solve,
    graph.WhereOp: _where,
}


def _cases_of(op: type[Operation]) -> Cases:
    """Raises KeyError for an operation that has none."""
    if op not in _CASES:
        for family, cases in (
            (graph.UnaryElementwiseOp, _unary),
            (graph.BinaryElementwiseOp, _binary),
            (graph.ReductionOp, _reduction),
            (graph.ArgReductionOp, _arg_reduction),
            (graph.PoolOp, _pool),
            (graph.CumulativeOp, _scan),
        ):
            if issubclass(op, family):
                return cases
    return _CASES[op]


def element_types_of(op: type[GraphOp]) -> tuple[Attribute, ...]:
    """The element types an operation takes."""
    return NUMBERS if op is graph.IotaOp else op.ELEMENTS


# Values.

_FLOATS = (np.nan, np.inf, -np.inf, 0.0, -0.0, 0.5, -2.5, 1.5, 1e20, -3e9)


def example(element: Attribute, shape: Shape, seed: int) -> Array:
    """
    Values for an operand. Those of 17 elements and more have the numbers that go wrong: NaN, infinities,
    ties of rounding; the ends of the range.
    """
    generator = np.random.default_rng(seed)
    dtype = numpy_dtype(element)
    if dtype.kind == "b":
        return generator.integers(0, 2, shape).astype(dtype)
    if is_float(element):
        array = generator.uniform(-2, 2, shape)
        special: Sequence[Any] = _FLOATS
    else:
        info = np.iinfo(dtype)
        array = generator.integers(max(-8, info.min), 9, shape, dtype)
        special = (info.min, info.max, 0, 1, info.max - 1)
        if info.min:
            special = (*special, -1, info.min)
    if array.size >= 17:
        # In two operands at other places, so that every special number meets others.
        places = generator.permutation(array.size)[: len(special)]
        array = array.astype(np.float64 if is_float(element) else dtype)
        array.flat[places] = special
    return np.asarray(array).astype(dtype)


# Programs.


def _instances(
    op: type[GraphOp], elements: Sequence[Attribute]
) -> Iterator[tuple[Attribute, Case]]:
    for element in elements:
        for case in _cases_of(op)(op, element):
            yield element, case


def operator_program(op: type[GraphOp], elements: Sequence[Attribute] | None = None) -> Program:
    """
    One function with every case of the operation, so that there is one module to lower and compile; for
    every element type it takes unless some are given.
    """
    block = Block()
    inputs: list[Array] = []
    ops: list[GraphOp] = []
    for element, case in _instances(op, elements or element_types_of(op)):
        operands: list[Any] = []
        for operand in case.operands:
            of, shape = element, operand
            if operand and isinstance(operand[0], Attribute):
                of, shape = operand
            operands.append(block.insert_arg(TensorType(of, shape), len(block.args)))
            operands[-1].name_hint = f"x{len(inputs)}"
            inputs.append(example(of, shape, len(inputs)))
        ops.append(case.build(*operands))
    block.add_ops(ops)
    results = [result for made in ops for result in made.results]
    block.add_op(func.ReturnOp(*results))
    types = FunctionType.from_lists(
        [arg.type for arg in block.args], [result.type for result in results]
    )
    return Program(ModuleOp([func.FuncOp("main", types, Region(block))]), inputs)
