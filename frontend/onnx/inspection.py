"""What the nodes of a model compute: its results, and a model whose outputs they all are."""

from __future__ import annotations

from dataclasses import replace

from onnx import ModelProto, ValueInfoProto

from ...frozen import frozen
from .reading import Model, shortened


@frozen
class NodeValue:
    """A value of a model, and the node that computes it."""

    name: str
    node: str
    kind: str
    """The operator, with its domain where that is not ONNX's own."""


def outputs_of(model: Model) -> list[NodeValue]:
    """The model's outputs."""
    by_name = {value.name: value for value in node_values(model)}
    names = [one.name for one in model.proto.graph.output]
    return [by_name.get(name, NodeValue(name, "", "input")) for name in names]


def node_values(model: Model) -> list[NodeValue]:
    """The values that nodes of the main graph compute, in order."""
    return [
        NodeValue(output, shortened(node.name or output), _kind(node.domain, node.op_type))
        for node in model.proto.graph.node
        for output in node.output
        if output
    ]


def _kind(domain: str, operator: str) -> str:
    return operator if domain in ("", "ai.onnx") else f"{domain}.{operator}"


def with_node_values(model: Model) -> tuple[Model, list[NodeValue]]:
    """The model with every value that a node computes as an output, and these values, in order of the nodes."""
    values = node_values(model)
    proto = ModelProto()
    proto.CopyFrom(model.proto)
    typed = {one.name: one for one in (*proto.graph.output, *proto.graph.value_info)}
    outputs = [typed.get(value.name) or ValueInfoProto(name=value.name) for value in values]
    del proto.graph.output[:]
    proto.graph.output.extend(outputs)
    return replace(model, proto=proto), values
