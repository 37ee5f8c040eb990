"""Tensors of a model are found in the bytes of its file without protobuf, where that reads them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import GraphProto, ModelProto, TensorProto, numpy_helper
from onnx.helper import (
    make_function,
    make_graph,
    make_model,
    make_node,
    make_opsetid,
    make_tensor_value_info,
)
from stepwell.frontend.onnx.reading import model_of
from stepwell.frontend.onnx.tensor_places import _tensors, note_of
from stepwell.frontend.onnx.wire import node_count, raw_tensors

RNG = np.random.default_rng(0)


def tensor(name: str, size: int = 3) -> TensorProto:
    return numpy_helper.from_array(RNG.random(size, np.float32), name)


def constant(name: str) -> TensorProto:
    return make_node("Constant", [], [name], value=tensor(name))


def nested() -> ModelProto:
    """Tensors of initializers, of nodes, of a graph in a node, and of a function; one is numbers and not bytes."""
    value = make_tensor_value_info("y", TensorProto.FLOAT, None)
    inner = make_graph([constant("c"), constant("y")], "inner", [], [value], [tensor("d", 70)])
    branch = make_node("If", ["c"], ["y"], then_branch=inner, else_branch=inner)
    numbers = TensorProto(name="n", data_type=TensorProto.FLOAT, dims=[2], float_data=[1.0, 2.0])
    graph = make_graph(
        [constant("c"), branch], "outer", [], [value], [tensor("w", 200), numbers, tensor("b")]
    )
    opsets = [make_opsetid("", 18)]
    function = make_function("own", "F", [], ["y"], [constant("y")], opsets)
    return make_model(graph, functions=[function], opset_imports=opsets)


def test_tensors_are_where_protobuf_reads_them():
    model = nested()
    data = model.SerializeToString()
    expected = [each.raw_data for each in _tensors(model)]
    found = [b"" if span is None else data[span.begin : span.end] for span in raw_tensors(data)]
    assert found == expected
    assert len(expected) == 11 and expected.count(b"") == 1
    assert node_count(data) == 2


def test_graphs_in_parts_have_all_of_their_nodes():
    """Protobuf joins several of one message."""
    parts = [ModelProto(graph=GraphProto(node=[constant(name)])) for name in "ab"]
    data = b"".join(part.SerializeToString() for part in parts)
    assert len(ModelProto.FromString(data).graph.node) == node_count(data) == 2


def test_a_model_with_a_group_is_noted_without_places():
    """Protobuf skips the fields between the two, which say where a group begins and ends."""
    large = nested()
    large.graph.initializer.append(tensor("large", 300))
    for end, places in ((b"", 1), (b"\xa3\x06\x08\x05\xa4\x06", 0)):
        data = large.SerializeToString() + end
        assert len(note_of(model_of(data, Path("model.onnx")), data).tensors) == places


@given(st.binary(max_size=200))
def test_any_bytes_are_counted(data: bytes):
    assert node_count(data) >= 0


@pytest.mark.parametrize("cut", [1, 7, 150, 400])
def test_what_ends_too_early_is_no_message(cut: int):
    data = nested().SerializeToString()[:-cut]
    assert node_count(data) in (0, 2)  # what is behind the graph may be missing
    with pytest.raises((ValueError, IndexError)):
        raw_tensors(data)
