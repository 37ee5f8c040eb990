"""Random chains around products of rows with matrices give the same values when their rows are one matrix."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from stepwell.dialects import graph
from stepwell.dialects.graph.expressions import Expr, relu
from stepwell.interpreters.harness import interpret
from stepwell.transforms.graph.flatten_rows import GraphFlattenRowsPass
from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, TensorType, f32
from xdsl.ir import Block, Region
from xdsl.rewriter import InsertPoint


def constant(x: Expr, shape, draw) -> Expr:
    """Small integers, whose sums of products are exact in any order."""
    numbers = np.random.default_rng(draw(st.integers(0, 1000))).integers(-1, 2, shape)
    return x.made(graph.ConstantOp(numbers.astype(np.float32)))


def multiplied(x: Expr, others, draw) -> Expr:
    shape = (x.shape[-1], draw(st.integers(1, 3)))
    return x @ constant(x, shape, draw)


def multiplied_in_batches(x: Expr, others, draw) -> Expr:
    return x @ constant(x, (*x.shape[:-2], x.shape[-1], 2), draw) if x.rank > 2 else x


def added(x: Expr, others, draw) -> Expr:
    shape = [1 if draw(st.booleans()) else extent for extent in x.shape]
    return x + constant(x, shape[draw(st.integers(0, x.rank)) :], draw)


def with_another(x: Expr, others, draw) -> Expr:
    same = [other for other in others if other.shape == x.shape]
    return x + draw(st.sampled_from(same)) if same else relu(x)


def reshaped(x: Expr, others, draw) -> Expr:
    return x.reshape((*draw(st.permutations(x.shape[:-1])), x.shape[-1]))


def flattened(x: Expr, others, draw) -> Expr:
    return x.reshape(
        (math.prod(x.shape[:-1]), x.shape[-1])
    )  # of no elements, -1 would be any number


def expanded(x: Expr, others, draw) -> Expr:
    return x.expand_dims(draw(st.integers(0, x.rank)))


def transposed(x: Expr, others, draw) -> Expr:
    return x.transpose(draw(st.permutations(range(x.rank))))


def largest(x: Expr, others, draw) -> Expr:
    """One of a row, or of a column: 1 where an element is the largest one, and close to 0 elsewhere."""
    return (x * 2000.0).made(graph.SoftmaxOp((x * 2000.0).value, draw(st.integers(-2, -1))))


STEPS = (multiplied, multiplied_in_batches, added, with_another, reshaped, flattened, expanded)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_keeps_values(data):
    shape = data.draw(st.sampled_from([(2, 3, 4), (3, 1, 2), (1, 2, 2, 3), (5, 2), (0, 2, 3)]))
    block = Block(arg_types=[TensorType(f32, shape)])
    x = Expr(block.args[0], Builder(InsertPoint.at_end(block)))
    made = [x]
    for step in data.draw(st.lists(st.sampled_from((*STEPS, transposed, largest)), max_size=8)):
        if x.rank < 5:
            x = step(x, made, data.draw)
            made.append(x)
    results = [x, data.draw(st.sampled_from(made))]
    x.builder.insert(func.ReturnOp(*(each.value for each in results)))
    types = [each.type for each in results]
    module = ModuleOp([func.FuncOp("f", (block.arg_types, types), Region(block))])
    module.verify()
    original = module.clone()
    GraphFlattenRowsPass().apply(Context(), module)
    module.verify()
    numbers = np.arange(np.prod(shape), dtype=np.float32).reshape(shape) % 5 - 2
    for found, expected in zip(
        interpret(module, [numbers]), interpret(original, [numbers]), strict=True
    ):
        assert np.array_equal(found, expected)
