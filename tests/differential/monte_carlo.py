"""
What a graph function computes, and how closely another implementation must agree with it.

Implementations round differently: sums are reordered, multiplications and additions fused, functions
are a few ulps off. So a program is evaluated several times, and in every run but the first each
operation that rounds gets its result moved by `NOISE` ulps (and where it joins many elements its
operands, by more): Monte Carlo arithmetic, D. S. Parker, UCLA CSD-970002, 1997. What the runs differ by
is what rounding may do, amplification by the rest of the program included, and so the tolerance:

    |found - expected| <= 2 · spread + 2 · mean(spread) + 16 · ulp(expected)      where anything rounds
    found == expected, with NaN equal to NaN                                      where nothing does

Moves of 32 ulps are well above what one operation is off by, so twice their effect is generous. A value
is `stable` when the runs do not disagree by more than `WIDEST` moves of its largest element, and agree
exactly if it is an integer or a truth value: a comparison of two nearly equal numbers is not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from stepwell.dialects import graph
from stepwell.dialects.dtypes import float_limits, is_float_dtype
from stepwell.dialects.graph.base import GraphOp, evaluated, tensor_type
from stepwell.dialects.graph.movement import MovementOp
from stepwell.dialects.interfaces import Elementwise
from xdsl.dialects import func
from xdsl.ir import SSAValue

Array = np.ndarray[Any, Any]

DIRECTIONS = ("exact", "up", "down", "random", "random", "random")
"""One run each: the reference itself, then every move up, every move down, and moves at random."""
NOISE = 32
WIDEST = 256

NEVER_ROUND = (
    MovementOp,
    graph.ArgReductionOp,
    graph.ComparisonOp,
    graph.AbsOp,
    graph.CeilOp,
    graph.ClipOp,
    graph.ConcatOp,
    graph.ConstantOp,
    graph.FloorOp,
    graph.GatherOp,
    graph.IotaOp,
    graph.MaxOp,
    graph.MaximumOp,
    graph.MinOp,
    graph.MinimumOp,
    graph.NegOp,
    graph.PadOp,
    graph.ReluOp,
    graph.RoundOp,
    graph.SignOp,
    graph.SliceOp,
    graph.SplitOp,
    graph.WhereOp,
)
"""Operations with the same result everywhere; any other, a new one too, is taken to round."""

MOVES = (
    MovementOp,
    graph.ConcatOp,
    graph.ConstantOp,
    graph.GatherOp,
    graph.PadOp,
    graph.SliceOp,
    graph.SplitOp,
    graph.WhereOp,
)
"""Operations that compute no new numbers."""

ROUND_UNLESS_WHOLE = (
    graph.AddOp,
    graph.FloorDivOp,
    graph.MatmulOp,
    graph.ModOp,
    graph.MulOp,
    graph.ProdOp,
    graph.SubOp,
    graph.SumOp,
)
"""Exact on whole numbers, in any order, as long as no partial result outgrows the mantissa."""

CANCEL = (graph.GeluOp, graph.HardSigmoidOp, graph.LayerNormOp, graph.LogSoftmaxOp)
"""Operations that subtract numbers of about 1 inside: their error is absolute."""


@dataclass(frozen=True)
class Value:
    """An array in every run; the first is the reference."""

    runs: tuple[Array, ...]

    @classmethod
    def known(cls, array: Array) -> Value:
        """A value that is the same in every run: an input or a constant."""
        return cls((array,) * len(DIRECTIONS))

    @property
    def array(self) -> Array:
        return self.runs[0]

    @property
    def is_known(self) -> bool:
        """Whether every run has the same, bit for bit."""
        return all(run is self.array for run in self.runs)

    @property
    def is_exact(self) -> bool:
        return all(_same(run, self.array).all() for run in self.runs[1:])

    def spread(self) -> Array:
        """By how much the runs differ from the reference, for each element; inf where one is not finite."""
        if not is_float_dtype(self.array.dtype):
            same = np.logical_and.reduce([_same(run, self.array) for run in self.runs])
            return np.where(same, 0.0, np.inf)
        differences = []
        for run in self.runs[1:]:
            with np.errstate(all="ignore"):
                difference = np.abs(run.astype(np.float64) - self.array.astype(np.float64))
            difference = np.where(np.isnan(difference), np.inf, difference)
            differences.append(np.where(_same(run, self.array), 0.0, difference))
        return np.max(differences, axis=0)

    def is_stable(self) -> bool:
        spread = self.spread()
        if not spread.size or not spread.max():
            return True
        if not is_float_dtype(self.array.dtype):
            return False
        finite = np.abs(self.array[np.isfinite(self.array)])
        largest = max(float(np.max(finite, initial=0)), 1e-3)
        return bool(spread.max() <= WIDEST * _noise(self.array.dtype) * largest)

    def tolerance(self) -> Array:
        """The largest difference to allow in each element."""
        spread = self.spread()
        if self.is_known or not is_float_dtype(self.array.dtype) or not spread.size:
            return np.zeros_like(spread)
        # Subnormal numbers have fewer bits than the moves.
        subnormal = NOISE * float(float_limits(self.array.dtype).smallest_subnormal)
        if not spread.max():
            return np.full_like(spread, subnormal)
        rounding = np.abs(np.nan_to_num(self.array.astype(np.float64), posinf=0, neginf=0))
        rounding *= _noise(self.array.dtype) / 2
        return 2 * spread + 2 * spread.mean() + rounding + subnormal


def _same(one: Array, other: Array) -> Array:
    with np.errstate(all="ignore"):
        return (one == other) | ((one != one) & (other != other))


def _ulp(dtype: np.dtype) -> float:
    return float(float_limits(dtype).eps)


def _noise(dtype: np.dtype) -> float:
    """How far a move is. What is computed in f32 and rounded to fewer bits is a neighbour at most."""
    return (1 if dtype.itemsize == 2 else NOISE) * _ulp(dtype)


def _is_whole(value: Value) -> bool:
    array = value.array
    if not is_float_dtype(array.dtype):
        return True
    with np.errstate(all="ignore"):
        return (
            bool(np.isfinite(array).all() and (array == np.trunc(array)).all()) and value.is_exact
        )


def _rounds(op: GraphOp, operands: Sequence[Value], results: Sequence[Array]) -> bool:
    if isinstance(op, NEVER_ROUND) or all(not is_float_dtype(result.dtype) for result in results):
        return False
    if isinstance(op, graph.CastOp):
        return not operands[0].is_exact
    if isinstance(op, ROUND_UNLESS_WHOLE) and all(map(_is_whole, operands)):
        return not _fits_mantissa(op, operands, results)
    return True


def _fits_mantissa(op: GraphOp, operands: Sequence[Value], results: Sequence[Array]) -> bool:
    """Whether the operation's largest partial result is a whole number that the type holds."""
    magnitudes = [np.abs(operand.array).astype(np.float64) for operand in operands]
    largest = [result.astype(np.float64) for result in results]
    if isinstance(op, graph.SumOp | graph.MatmulOp):
        largest = list(evaluated(op, *magnitudes))
    limit = 1 / _ulp(results[0].dtype)
    return all(bool((np.abs(array) <= limit).all()) for array in largest)


def _joined(op: GraphOp, operands: Sequence[Value]) -> float:
    """About how many elements make one of the result: a sum one after the other is off by half as many ulps."""
    if isinstance(op, graph.MatmulOp):
        return operands[0].array.shape[-1]
    if isinstance(op, graph.ConvOp):
        return prod(operands[1].array.shape[1:])
    if isinstance(op, graph.LayerNormOp):
        return prod(operands[0].array.shape[axis] for axis in op.axes)
    if isinstance(op, graph.SoftmaxOp | graph.LogSoftmaxOp):
        return operands[0].array.shape[op.axis.value.data]
    return operands[0].array.size / max(1, prod(tensor_type(op.results[0]).get_shape()))


def _moved(
    array: Array,
    direction: str,
    generator: np.random.Generator,
    times: float,
    absolute: float = 0.0,
) -> Array:
    """The array with each element `times · NOISE` ulps away, and as many ulps of `absolute`."""
    if not is_float_dtype(array.dtype):
        return array
    sign: Any = {"up": 1.0, "down": -1.0}.get(direction)
    if sign is None:
        sign = generator.choice([-1.0, 1.0], array.shape)
    move = sign * times * _noise(array.dtype)
    with np.errstate(all="ignore"):
        # Away from zero or towards it, so that a sign never changes by itself.
        return (array * (1 + move) + absolute * move).astype(array.dtype)


def apply(op: GraphOp, operands: Sequence[Value], generator: np.random.Generator) -> list[Value]:
    """The results of `op` in every run."""
    reference = evaluated(op, *(operand.array for operand in operands))
    runs = [reference]
    if _rounds(op, operands, reference):
        runs += _moved_runs(op, operands, generator)
    elif all(operand.is_known for operand in operands):
        runs += [reference] * (len(DIRECTIONS) - 1)
    else:
        for run in range(1, len(DIRECTIONS)):
            runs.append(evaluated(op, *(operand.runs[run] for operand in operands)))
    if not isinstance(op, MOVES):
        down = DIRECTIONS.index("down")
        runs[down] = tuple(_with_other_zeros(array) for array in runs[down])
    return [Value(arrays) for arrays in zip(*runs, strict=True)]


def _moved_runs(
    op: GraphOp, operands: Sequence[Value], generator: np.random.Generator
) -> Iterator[tuple[Array, ...]]:
    joins = not isinstance(op, Elementwise)
    times = max(1.0, _joined(op, operands) / 2 / NOISE) if joins else 0.0
    absolute = 1.0 if isinstance(op, CANCEL) else 0.0
    for run, direction in enumerate(DIRECTIONS[1:], 1):
        arrays = [
            _moved(operand.runs[run], direction, generator, times) if joins else operand.runs[run]
            for operand in operands
        ]
        yield tuple(
            _moved(array, direction, generator, 1.0, absolute) for array in evaluated(op, *arrays)
        )


def _with_other_zeros(array: Array) -> Array:
    """The sign of a zero is nowhere promised: a sum may begin with either."""
    if not is_float_dtype(array.dtype) or np.all(array):
        return array
    return np.where(array == 0, -array, array)


def evaluate(
    function: func.FuncOp, inputs: Iterable[Array], seed: int = 0
) -> dict[SSAValue, Value]:
    """Every value of a function whose operations are all graph operations."""
    generator = np.random.default_rng(seed)
    block = function.body.block
    values = {arg: Value.known(array) for arg, array in zip(block.args, inputs, strict=True)}
    for op in block.ops:
        if isinstance(op, GraphOp):
            results = apply(op, [values[operand] for operand in op.operands], generator)
            values.update(zip(op.results, results, strict=True))
    return values


def returned(function: func.FuncOp, inputs: Iterable[Array]) -> list[Value]:
    """What the function returns."""
    values = evaluate(function, inputs)
    terminator = function.body.block.last_op
    assert isinstance(terminator, func.ReturnOp)
    return [values[operand] for operand in terminator.arguments]


def disagreement(found: Array, expected: Value) -> str | None:
    """Where and by how much `found` is not `expected`, or None."""
    array = expected.array
    if found.shape != array.shape or found.dtype != array.dtype:
        return f"found {found.dtype}{list(found.shape)}, expected {array.dtype}{list(array.shape)}"
    wrong = ~_same(found, array)
    if is_float_dtype(array.dtype):
        with np.errstate(all="ignore"):
            difference = np.abs(found.astype(np.float64) - array.astype(np.float64))
            wrong &= ~(difference <= expected.tolerance())
    if not wrong.any():
        return None
    index = tuple(int(i) for i in np.argwhere(wrong)[0])
    return (
        f"{int(wrong.sum())} of {array.size} elements differ, first {list(index)}: found {found[index]}, "
        f"expected {array[index]} (tolerance {expected.tolerance()[index]:.3g})"
    )
