"""Products with a matrix of cosines and sines, which are discrete Fourier transforms."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from math import prod
from typing import ClassVar

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32, f64
from xdsl.ir import Block, SSAValue
from xdsl.rewriter import Rewriter

from ...analysis.levels import Level
from ...analysis.operations import operations_in
from ...analysis.plans.cost import time_text
from ...analysis.plans.fourier_cost import real_transform_cost
from ...analysis.plans.operation_cost import predicted_alone
from ...dialects import graph
from ...dialects.graph.expressions import Expr, built_before
from ...dialects.graph.shapes import is_static
from ...dialects.shaped import shape_of, tensor_type
from ...frozen import frozen
from ...targets.target import Target
from ..numerics import DEFAULT_FP, NumericalEffect, fp_contract
from ..remarks import remark
from ..stepwell_pass import StepwellPass
from .constant_operands import is_known, known_array, new_constant
from .waves import Waves, waves_of

LEAST = 8
"""Terms of a sum below which a matrix is not looked at."""


@frozen
class Transform:
    """Products of one operand with matrices of waves of one period, which one transform computes."""

    axis: int
    """of the operand, which is summed over: -1 or -2"""
    period: int
    products: tuple[graph.MatmulOp, ...]
    waves: tuple[Waves, ...]

    @property
    def operand(self) -> SSAValue:
        """What is transformed: another value once that is itself the result of a product that has been rewritten."""
        return self.products[0].operands[0 if self.axis == -1 else 1]

    @property
    def shape(self) -> tuple[int, int, int]:
        """How many rows the transform has, of how many numbers, and how many stand next to each other."""
        shape = shape_of(self.operand)
        inner = shape[-1] if self.axis == -2 else 1
        return prod(shape[: self.axis]), self.period, inner


def transforms_in(module: ModuleOp) -> Iterator[Transform]:
    """The products of a module that are transforms, by what is transformed."""
    found: dict[tuple[Block | None, SSAValue, int, int], list[tuple[graph.MatmulOp, Waves]]] = {}
    for op in operations_in(module):
        if not isinstance(op, graph.MatmulOp):
            continue
        for constant, axis in ((1, -1), (0, -2)):
            waves = _waves(op, constant, axis)
            if waves is not None:
                key = op.parent, op.operands[1 - constant], axis, waves.period
                found.setdefault(key, []).append((op, waves))
                break
    for (_, _, axis, period), pairs in found.items():
        products, waves = zip(*pairs, strict=True)
        yield Transform(axis, period, products, waves)


def _waves(op: graph.MatmulOp, constant: int, axis: int) -> Waves | None:
    """The waves that one operand of a product is, of which the other is summed along an axis."""
    matrix, operand = op.operands[constant], op.operands[1 - constant]
    shapes = shape_of(matrix), shape_of(operand)
    if len(shapes[0]) != 2 or len(shapes[1]) < 2 or not all(map(is_static, shapes)):
        return None
    if tensor_type(op.result).get_element_type() not in (f32, f64) or not is_known(matrix):
        return None
    if min(*shapes[0], prod(shapes[1])) < 1 or shapes[1][axis] < LEAST or is_known(operand):
        return None
    array = known_array(matrix)
    return waves_of(array if axis == -1 else array.T)


def why_product(plan: Transform, target: Target) -> str | None:
    """Why the products stay; None where the transform is predicted to take less time than they do."""
    element = tensor_type(plan.operand).get_element_type()
    constant = 1 if plan.axis == -1 else 0
    costs = [predicted_alone(op, {constant}, target) for op in plan.products]
    cost = real_transform_cost(plan.shape, element, target)
    if cost is None or None in costs:
        return "there is no prediction of what it takes"
    products = sum(one.seconds for one in costs if one is not None) * _needed_part(plan)
    text = f"predicted to take {time_text(cost.seconds)}, the products {time_text(products)}"
    return None if cost.seconds < products else text


def _needed_part(plan: Transform) -> float:
    """
    The part of the products' columns that all others are sums of: a cosine and a sine of each frequency. A matrix of equal
    columns, as one of ones is, would need a product with one of them.
    """
    frequencies = {int(one) for waves in plan.waves for one in waves.frequencies}
    columns = sum(len(waves.frequencies) for waves in plan.waves)
    return min(2 * len(frequencies) / columns, 1.0)


def rewrite(plan: Transform) -> None:
    """
    x @ cos(2π j k / n), x @ sin(2π j k / n) → real, -imaginary with (real, imaginary) = real_fft(x)
    """
    builder = built_before(plan.products[0])
    x = Expr(plan.operand, builder)
    rank, axis = x.rank, x.rank + plan.axis
    missing = plan.period - x.shape[axis]
    if missing:
        high = [missing if each == axis else 0 for each in range(rank)]
        x = x.pad([0] * rank, high)
    batch, length, inner = plan.shape
    rows = x.reshape([batch, length * inner])
    parts = rows.all_made(graph.RealFftOp(rows.value, length))
    count = length // 2 + 1
    shape = [count if each == axis else extent for each, extent in enumerate(x.shape)]
    real, imag = (one.reshape(shape) for one in parts)
    for product, waves in zip(plan.products, plan.waves, strict=True):
        remark(product, f"a discrete Fourier transform of {length} numbers")
        terms = [
            _scaled(_chosen(part, waves.frequencies, axis), factors, axis)
            for part, factors in ((real, waves.cosines), (imag, -waves.sines))
            if np.any(factors)
        ]
        result = reduce(Expr.__add__, terms)
        result.value.name_hint = product.result.name_hint
        product.result.replace_all_uses_with(result.value)
    for product in plan.products:
        Rewriter.erase_op(product)


def _chosen(x: Expr, frequencies: np.ndarray, axis: int) -> Expr:
    """The elements of these numbers along an axis: by slices where neighbours follow one another."""
    if np.array_equal(frequencies, np.arange(x.shape[axis])):
        return x
    runs = _runs(frequencies)
    if 3 * len(runs) > len(frequencies):
        return x.made(
            graph.GatherOp(x.value, new_constant(frequencies, "places", x.builder).value, axis)
        )
    slices = [[run if each == axis else slice(None) for each in range(x.rank)] for run in runs]
    parts = [x[one] for one in slices]
    return parts[0] if len(parts) == 1 else x.made(graph.ConcatOp([p.value for p in parts], axis))


def _runs(numbers: np.ndarray) -> list[slice]:
    """The slices, in steps of 1 or -1, that these numbers from 0 on follow one another in."""
    found: list[slice] = []
    first = 0
    for at in range(1, len(numbers) + 1):
        step = int(numbers[first + 1] - numbers[first]) if at - first > 1 else None
        if at < len(numbers):
            new = int(numbers[at] - numbers[at - 1])
            if new in (1, -1) and step in (None, new):
                continue
        low, last, step = int(numbers[first]), int(numbers[at - 1]), step or 1
        stop = last + step
        found.append(slice(low, stop if stop >= 0 else None, step))
        first = at
    return found


def _scaled(x: Expr, factors: np.ndarray, axis: int) -> Expr:
    """The numbers along an axis times a factor each."""
    if np.all(factors == factors[0]):
        factor = float(factors[0])
        return x if factor == 1 else -x if factor == -1 else x * factor
    shape = [-1 if each == axis else 1 for each in range(x.rank)]
    dtype = np.dtype(np.float32 if x.element == f32 else np.float64)
    return x * new_constant(factors.astype(dtype).reshape(shape), "factors", x.builder)


@frozen
class GraphRecognizeFourierPass(StepwellPass):
    """
    Compute products with constant matrices of cosines and sines as fast Fourier transforms.

    Before: `x @ cos(2π j k / n)`, `x @ sin(2π j k / n)`. After: the parts of one transform of x. Each column, or row of a
    matrix on the left, is a wave of a frequency of its own, with any amplitude and phase: matrices of cosines, sines,
    Hartley's, of real and imaginary parts, and those of fewer elements than the period has. Whether the transform is
    predicted to take less time on `target` decides. Its rounding errors are smaller than those of sums of products, but
    others; where a number is not finite, other results may be NaN. `fp=strict` leaves everything as it is.
    """

    name = "graph-recognize-fourier"
    level_in: ClassVar[Level] = Level.GRAPH
    level_out: ClassVar[Level] = Level.GRAPH
    numerics: ClassVar[NumericalEffect] = "reassociates"

    fp: str = DEFAULT_FP
    target: str | Target = "host"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if fp_contract(self.fp) == "strict":
            return
        decisions = [
            (plan, why_product(plan, Target.of(self.target))) for plan in transforms_in(op)
        ]
        for plan, reason in decisions:
            if reason is None:
                rewrite(plan)
            else:
                remark(plan.products[0], f"no Fourier transform: {reason}", missed=True)
