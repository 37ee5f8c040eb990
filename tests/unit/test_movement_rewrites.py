"""Random chains of operations that move elements give the same values after the passes that rewrite them."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from stepwell.dialects import graph
from stepwell.dialects.graph.expressions import Expr, concat, relu
from stepwell.interpreters.harness import interpret
from stepwell.transforms.graph.rules import apply_rules
from stepwell.transforms.graph.simplify_movement import GraphSimplifyMovementPass
from stepwell.transforms.graph.sink_transposes import GraphSinkTransposesPass
from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, TensorType, f32
from xdsl.ir import Block, Region
from xdsl.rewriter import InsertPoint


def transposed(x: Expr, draw) -> Expr:
    return x.transpose(draw(st.permutations(range(x.rank))))


def reshaped(x: Expr, draw) -> Expr:
    return x.reshape(draw(st.permutations(x.shape)))


def expanded(x: Expr, draw) -> Expr:
    return x.expand_dims(draw(st.integers(0, x.rank)))


def squeezed(x: Expr, draw) -> Expr:
    ones = [axis for axis, extent in enumerate(x.shape) if extent == 1]
    return x.squeeze(draw(st.sets(st.sampled_from(ones)).map(sorted))) if ones else x


def reduced(x: Expr, draw) -> Expr:
    axes = draw(st.sets(st.integers(0, x.rank - 1), max_size=2).map(sorted)) if x.rank > 1 else []
    op = draw(st.sampled_from([graph.SumOp, graph.MaxOp, graph.MeanOp]))
    return x.made(op(x.value, axes, draw(st.booleans())))


def repeated(x: Expr, draw) -> Expr:
    """Broadcast along axes of one element and new ones, and reduced along any."""
    shape = [draw(st.integers(1, 3)) if n == 1 else n for n in x.shape]
    whole = x.broadcast_to([*draw(st.lists(st.integers(1, 3), max_size=1)), *shape])
    return reduced(whole, draw)


def sliced(x: Expr, draw) -> Expr:
    return x[[draw(st.slices(extent)) for extent in x.shape]]


def padded(x: Expr, draw) -> Expr:
    amounts = st.lists(st.integers(0, 2), min_size=x.rank, max_size=x.rank)
    return x.pad(draw(amounts), draw(amounts), draw(st.sampled_from([0.0, -0.0, 1.5])))


def split_and_joined(x: Expr, draw) -> Expr:
    axis = draw(st.integers(0, x.rank - 1))
    first = draw(st.integers(0, x.shape[axis]))
    sizes = [first, x.shape[axis] - first]
    parts = x.all_made(graph.SplitOp(x.value, sizes, axis))
    return concat(draw(st.permutations(parts)), axis)


def joined(x: Expr, draw) -> Expr:
    axis = draw(st.integers(0, x.rank - 1))
    return concat([concat([x, relu(x)], axis), x], axis)


def added(x: Expr, draw) -> Expr:
    """A sum with a constant that is broadcast, explicitly at times."""
    shape = [1 if draw(st.booleans()) else extent for extent in x.shape]
    other = x.made(graph.ConstantOp(np.arange(np.prod(shape), dtype=np.float32).reshape(shape)))
    return x + (other.broadcast_to(x.shape) if draw(st.booleans()) else other)


def gathered(x: Expr, draw) -> Expr:
    axis = draw(st.integers(0, x.rank - 1))
    indices = st.integers(-x.shape[axis], x.shape[axis] - 1)
    taken = np.asarray(draw(indices | st.lists(indices, min_size=1, max_size=3)), np.int64)
    where = x.made(graph.ConstantOp(taken))
    return x.made(graph.GatherOp(x.value, where.value, axis))


STEPS = (
    gathered,
    repeated,
    *(transposed, transposed, reshaped, expanded, squeezed, reduced, sliced, sliced),
    *(padded, split_and_joined, joined, added, lambda x, draw: relu(x)),
)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_movement_keeps_values(data):
    shape = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    block = Block(arg_types=[TensorType(f32, shape)])
    x = Expr(block.args[0], Builder(InsertPoint.at_end(block)))
    for step in data.draw(st.lists(st.sampled_from(STEPS), min_size=2, max_size=6)):
        # An axis to move along, and few enough elements to look at.
        if x.rank and 0 < np.prod(x.shape) < 3000:
            x = step(x, data.draw)
    x.builder.insert(func.ReturnOp(x.value))
    function = func.FuncOp("f", (block.arg_types, [x.type]), Region(block))
    module = ModuleOp([function])
    module.verify()
    # Small integers: every order of a sum gives the same one, and a mean rounds once.
    inputs = [np.random.default_rng(0).integers(-8, 8, shape).astype(np.float32)]
    expected = interpret(module, inputs)
    GraphSinkTransposesPass().apply(Context(), module)
    movement = GraphSimplifyMovementPass
    apply_rules(module, movement.RULES, movement.PATTERNS)
    module.verify()
    (found,) = interpret(module, inputs)
    assert np.allclose(found, expected[0], rtol=1e-6, atol=1e-6, equal_nan=True)
