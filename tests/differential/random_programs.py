"""
Random graph programs with inputs, for comparing every level with NumPy.

A program grows one operation at a time and is evaluated as it grows (monte_carlo.py), so an operation is
kept only where its result can be known: no overflow, no comparison of numbers that rounding makes equal.
One program in `SPECIAL` has NaN, infinities, zeros of both signs and tiny numbers in its inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod
from random import Random
from typing import Any

import numpy as np
from stepwell.dialects import graph
from stepwell.dialects.dtypes import numpy_dtype
from stepwell.dialects.graph.base import FLOATS, OPERATIONS, GraphOp, shape_of
from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType, f32
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from . import monte_carlo
from .monte_carlo import Value
from .random_operands import (
    STORED,
    Maker,
    broadcast_partner_shape,
    element_of,
    random_shape,
)
from .random_operations import maker_of

Array = np.ndarray[Any, Any]

MAX_OPERATIONS = 12
SPECIAL = 8
LARGEST = 1e6
"""Of a float anywhere in a program without special values."""
ATTEMPTS = 60


@dataclass(frozen=True)
class Size:
    """How big the tensors of a program get, and how many scalar steps all of it takes."""

    elements: int
    steps: int
    by_element: bool
    """Whether the levels whose interpreters go element by element can run it in reasonable time."""


SMALL = Size(200, 2_500, by_element=True)
LARGE = Size(40_000, 600_000, by_element=False)


@dataclass
class Program:
    """A module with one function of graph operations, and what to call it with."""

    module: ModuleOp
    inputs: list[Array]
    size: Size = SMALL

    @property
    def function(self) -> func.FuncOp:
        function = self.module.body.block.first_op
        assert isinstance(function, func.FuncOp)
        return function

    def operations(self) -> list[GraphOp]:
        return [op for op in self.function.body.block.ops if isinstance(op, GraphOp)]

    def expected(self) -> list[Value]:
        return monte_carlo.returned(self.function, self.inputs)


MOVEMENTS = (
    graph.BroadcastToOp,
    graph.ConcatOp,
    graph.ExpandDimsOp,
    graph.PadOp,
    graph.ReshapeOp,
    graph.SliceOp,
    graph.SplitOp,
    graph.SqueezeOp,
    graph.TransposeOp,
)
COMPUTES = (graph.AddOp, graph.MatmulOp, graph.MulOp, graph.ReluOp, graph.SoftmaxOp, graph.SumOp)

VIEWS = (*MOVEMENTS, *MOVEMENTS, graph.ReshapeOp, *COMPUTES, graph.MatmulOp)
"""
Operators of programs about where tensors live. Two in three move elements; the others compute, and some of them so
that what they read or make cannot be computed again where it is moved.
"""


def random_program(
    rng: Random, size: Size = SMALL, operations: Sequence[type[GraphOp]] = OPERATIONS
) -> Program:
    """A program of 1 to `MAX_OPERATIONS` operations, the same for the same state of `rng`."""
    return _Growth(rng, size, operations).grow()


def program_of_seed(
    seed: int, index: int, operations: Sequence[type[GraphOp]] = OPERATIONS
) -> Program:
    """Program number `index` of a campaign. One in ten is large."""
    rng = Random(f"{seed}/{index}")
    return random_program(rng, LARGE if index % 10 == 9 else SMALL, operations)


@dataclass
class _Growth:
    """A program while it grows. Implements `random_operations.Pool`."""

    rng: Random
    size: Size
    operations: Sequence[type[GraphOp]]
    block: Block = field(default_factory=Block)
    inputs: list[Array] = field(default_factory=list[Array])
    values: dict[SSAValue, Value] = field(default_factory=dict[SSAValue, Value])

    def __post_init__(self) -> None:
        self.generator = np.random.default_rng(self.rng.getrandbits(32))
        self.max_elements = self.size.elements
        self.steps_left = self.size.steps
        self.is_special = self.rng.randrange(SPECIAL) == 0
        self.makers: list[Maker] = [
            maker for op in self.operations if (maker := maker_of(op)) is not None
        ]

    def grow(self) -> Program:
        target = self.rng.randint(1, MAX_OPERATIONS)
        for _ in range(ATTEMPTS):
            self._try_one()
            if len(self.block.ops) >= target:
                break
        return self._finish()

    # The pool.

    def pick(
        self,
        elements: Sequence[Attribute],
        accept: Callable[[tuple[int, ...]], bool] = lambda shape: True,
    ) -> SSAValue:
        elements = [element for element in elements if element not in STORED]
        known = [
            value
            for value in self.values
            if element_of(value) in elements and accept(shape_of(value))
        ]
        if known and self.rng.random() < 0.85:
            # The last values most often: chains are what fusion works on.
            return known[-1 - min(self.rng.randrange(len(known)), self.rng.randrange(len(known)))]
        element = f32 if f32 in elements and self.rng.random() < 0.4 else self.rng.choice(elements)
        for _ in range(20):
            shape = random_shape(self.rng, self.max_elements)
            if accept(shape):
                return self.fresh(element, shape)
        raise VerifyException("no shape was accepted")

    def partner(self, element: Attribute, shape: Sequence[int]) -> SSAValue:
        known = [
            value
            for value in self.values
            if element_of(value) == element and self._broadcasts(shape_of(value), shape)
        ]
        if known and self.rng.random() < 0.6:
            return self.rng.choice(known)
        return self.fresh(element, broadcast_partner_shape(self.rng, shape))

    def _broadcasts(self, one: Sequence[int], other: Sequence[int]) -> bool:
        try:
            return prod(np.broadcast_shapes(one, other)) <= self.max_elements
        except ValueError:
            return False

    def fresh(self, element: Attribute, shape: Sequence[int]) -> SSAValue:
        if self.rng.random() < 0.2:
            return self.constant(element, shape).result
        array = self._random_array(element, shape)
        arg = self.block.insert_arg(TensorType(element, shape), len(self.block.args))
        arg.name_hint = f"x{len(self.inputs)}"
        self.inputs.append(array)
        self.values[arg] = Value.known(array)
        return arg

    def constant(self, element: Attribute, shape: Sequence[int]) -> graph.ConstantOp:
        array = self._random_array(element, shape)
        if self.rng.random() < 0.3:
            array = np.full(shape, array.flat[0] if array.size else 0, array.dtype)
        op = graph.ConstantOp(array)
        op.result.name_hint = "constant"
        self.block.add_op(op)
        self.values[op.result] = Value.known(op.array())
        return op

    # Inputs.

    def _random_array(self, element: Attribute, shape: Sequence[int]) -> Array:
        dtype = numpy_dtype(element)
        if dtype.kind == "f":
            return self._random_floats(shape).astype(dtype)
        if dtype.kind == "b":
            return self.generator.integers(0, 2, shape).astype(dtype)
        info = np.iinfo(dtype)
        low, high = (0, 16) if dtype.kind == "u" else self.rng.choice([(-8, 8), (-8, 8), (-8, -1)])
        if self.rng.random() < 0.2:
            low, high = int(info.min), int(info.max)
        return self.generator.integers(low, high, shape, dtype, endpoint=True)

    def _random_floats(self, shape: Sequence[int]) -> Array:
        kind = self.rng.random()
        if kind < 0.4:
            array = self.generator.integers(-8, 8, shape, endpoint=True).astype(np.float64)
        elif kind < 0.75:
            array = self.generator.uniform(-2, 2, shape)
        else:
            array = self.generator.uniform(0.5, 3, shape) * self.rng.choice((1, 1, -1))
        if not self.is_special:
            return array
        # Tiny is not a subnormal number: those may be flushed to zero.
        special = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-30, 3e9, -3e9, 0.5, -1.5])
        chosen = self.generator.choice(special, array.shape)
        return np.where(self.generator.random(array.shape) < 0.3, chosen, array)

    # Operations.

    def _try_one(self) -> None:
        maker = self.rng.choice(self.makers)
        try:
            op = maker(self)
        except VerifyException:
            return
        if op.parent is None and not self._append(op):
            self._append_clipped(op)

    def _append(self, op: GraphOp) -> bool:
        """Put the operation at the end if its results can be known well; whether it was put."""
        try:
            op.verify_()
            cost = max(op.flops() or 0, sum(prod(shape_of(result)) for result in op.results))
            if cost > self.steps_left or any(
                prod(shape_of(result)) > self.max_elements for result in op.results
            ):
                return False
            operands = [self.values[operand] for operand in op.operands]
            results = monte_carlo.apply(op, operands, self.generator)
        except VerifyException:
            return False
        if not _is_defined(op, [operand.array for operand in operands]):
            return False
        if not all(self._is_tame(value) for value in results):
            return False
        self.steps_left -= cost
        self.block.add_op(op)
        for result, value in zip(op.results, results, strict=True):
            result.name_hint = op.name.removeprefix("graph.")
            self.values[result] = value
        return True

    def _append_clipped(self, op: GraphOp) -> None:
        """Try again with the float operands brought between 1/2 and 4, where every function is defined."""
        floats = {
            operand: graph.ClipOp(operand, 0.5, 4.0)
            for operand in op.operands
            if element_of(operand) in FLOATS
        }
        if not floats or len(self.block.ops) + len(floats) >= MAX_OPERATIONS:
            return
        if all(self._append(clip) for clip in floats.values()):
            clipped = {value: clip.result for value, clip in floats.items()}
            self._append(op.clone(clipped))

    def _is_tame(self, value: Value) -> bool:
        if not value.is_stable():
            return False
        if value.array.dtype.kind != "f" or self.is_special:
            return True
        with np.errstate(all="ignore"):
            return all(bool((np.abs(run) < LARGEST).all()) for run in value.runs)

    # The end.

    def _finish(self) -> Program:
        returned = [value for value in self.values if not any(value.uses)]
        returned += [value for value in self.values if self.rng.random() < 0.1]
        # An argument that nothing uses is not worth returning, but now and then a caller does that.
        returned = [
            value
            for value in returned
            if isinstance(value.owner, Operation) or self.rng.random() < 0.3
        ]
        if not returned:
            returned = [self.rng.choice(list(self.values) or [self.fresh(f32, ())])]
        self.rng.shuffle(returned)
        self.block.add_op(func.ReturnOp(*returned))
        types = FunctionType.from_lists(
            [arg.type for arg in self.block.args], [value.type for value in returned]
        )
        function = func.FuncOp("main", types, Region(self.block))
        return Program(ModuleOp([function]), self.inputs, self.size)


def _is_defined(op: GraphOp, arrays: Sequence[Array]) -> bool:
    """Whether every implementation gives about the same."""
    if isinstance(op, graph.ProdOp) and arrays[0].dtype.kind == "f":
        return _fits_in_any_order(op, arrays[0])
    return True


def _fits_in_any_order(op: graph.ProdOp, array: Array) -> bool:
    """Whether no partial product overflows or vanishes: infinity times 0 would depend on the order."""
    size = np.where(array == 0, 1, np.abs(array))
    with np.errstate(all="ignore"):
        greatest, least = (op.reference(join(size, 1)) for join in (np.maximum, np.minimum))
    tiny = np.finfo(array.dtype).tiny
    return bool(np.isfinite(greatest).all() and np.all(np.asarray(least) >= tiny))


__all__ = ["LARGE", "SMALL", "VIEWS", "Program", "Size", "program_of_seed", "random_program"]
