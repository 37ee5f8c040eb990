"""Operands, results and regions that are read by position are what IRDL's own accessors give."""

from __future__ import annotations

import pytest
from stepwell.dialects import graph, loop, te
from xdsl.dialects.builtin import IndexType, MemRefType, TensorType, f32
from xdsl.ir import Block, Region
from xdsl.ir.core import SSAValues


def test_operands_results_and_regions() -> None:
    block = Block(arg_types=[MemRefType(f32, (4, 4)), IndexType(), IndexType()])
    buffer, i, j = block.args
    load = loop.LoadOp(buffer, [i, j])
    store = loop.StoreOp(load.result, buffer, [j, 3])
    for_op = loop.ForOp("k", 0, 4)
    assert load.buffer is buffer
    assert store.value is load.results[0] and store.buffer is buffer
    assert tuple(load.operands_) == (i, j) and tuple(store.operands_) == (j,)
    assert isinstance(load.operands_, SSAValues)
    assert for_op.body is for_op.regions[0]
    assert tuple(loop.YieldOp().values) == ()
    assert tuple(loop.YieldOp(i, j).values) == (i, j)


def test_results_of_any_number() -> None:
    tensor = TensorType(f32, (4,))
    block = Block(arg_types=[tensor, tensor])
    one, two = block.args
    kernel = te.KernelOp("k", [one, two], [tensor, tensor], Region(Block()))
    assert tuple(kernel.outputs) == tuple(kernel.results) and len(kernel.outputs) == 2
    assert isinstance(kernel.outputs, SSAValues)
    sum_ = graph.AddOp(one, two)
    assert sum_.lhs is one and sum_.rhs is two and sum_.result is sum_.results[0]


def test_they_are_not_set_by_their_names() -> None:
    (buffer,) = Block(arg_types=[MemRefType(f32, (4,))]).args
    load = loop.LoadOp(buffer, [0])
    with pytest.raises(NotImplementedError):
        load.buffer = buffer


def test_lists_of_which_a_property_has_the_sizes() -> None:
    block = Block(arg_types=[MemRefType(f32, (4,)), MemRefType(f32, (4,)), MemRefType(f32, (8,))])
    one, two, three = block.args
    kernel = te.KernelOp("k", [one, two], (), Region(Block()), destinations=[three])
    assert tuple(kernel.inputs) == (one, two) and tuple(kernel.destinations) == (three,)
    assert isinstance(kernel.inputs, SSAValues)
    without = te.KernelOp("k", [], (), Region(Block()), destinations=[three, one])
    assert tuple(without.inputs) == () and tuple(without.destinations) == (three, one)
