"""A node of a model as operators see it, and the place in the model it stands at."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from onnx import AttributeProto, GraphProto, NodeProto

from ...errors import StepwellError
from ...frozen import frozen
from .reading import domain_of, shortened
from .registry import Unsupported, Value
from .tensors import tensor_array

Subgraph = Callable[[Sequence[Value]], "list[Value]"]
"""A graph that is an attribute, to be run on its inputs where the node stands."""


@frozen
class Node:
    """One node: its operator, its attributes as Python values, and which outputs are used."""

    label: str
    """Its name in the model, or its operator and what it gives where it has none."""
    domain: str
    op_type: str
    version: int
    """Of the operator set of its domain."""
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any]

    @property
    def operator(self) -> str:
        """The operator with its domain, unless that is the default one."""
        return f"{self.domain}.{self.op_type}" if self.domain else self.op_type

    def uses(self, output: int) -> bool:
        """Whether an output has a name, and so may be used."""
        return output < len(self.outputs) and self.outputs[output] != ""


def label_of(proto: NodeProto, prefix: str) -> str:
    """What messages and locations call a node: its name, or else its first output's."""
    name = proto.name or next((output for output in proto.output if output), proto.op_type)
    return prefix + shortened(name)


def attribute_values(
    attributes: Sequence[AttributeProto],
    bound: Mapping[str, AttributeProto],
    subgraph: Callable[[GraphProto], Subgraph],
    folder: Path | None,
) -> dict[str, Any]:
    """
    The attributes of a node as Python values: numbers, strings, lists, arrays, and graphs that can be run.

    `bound` are the attributes of the call when the node stands in a function; external data is in the `folder`. Raises
    Unsupported for a kind that no operator takes, and StepwellError for an attribute that is there twice.
    """
    values: dict[str, Any] = {}
    for attribute in attributes:
        name = attribute.name
        if attribute.ref_attr_name:
            if attribute.ref_attr_name not in bound:
                continue  # left out by the caller: the default holds
            attribute = bound[attribute.ref_attr_name]
        if name in values:
            raise StepwellError(
                f"found the attribute '{shortened(name)}' twice, expected it once; export the model again"
            )
        values[name] = _attribute_value(attribute, subgraph, folder)
    return values


def _attribute_value(
    attribute: AttributeProto, subgraph: Callable[[GraphProto], Subgraph], folder: Path | None
) -> Any:
    match attribute.type:
        case AttributeProto.FLOAT:
            return float(attribute.f)
        case AttributeProto.INT:
            return int(attribute.i)
        case AttributeProto.STRING:
            return attribute.s.decode("utf-8", "replace")
        case AttributeProto.TENSOR:
            return tensor_array(attribute.t, folder)
        case AttributeProto.GRAPH:
            return subgraph(attribute.g)
        case AttributeProto.FLOATS:
            return list(map(float, attribute.floats))
        case AttributeProto.INTS:
            return list(map(int, attribute.ints))
        case AttributeProto.STRINGS:
            return [one.decode("utf-8", "replace") for one in attribute.strings]
        case _:
            raise Unsupported(f"attribute '{shortened(attribute.name)}'")


def node_of(
    proto: NodeProto, opsets: Mapping[str, int], prefix: str, attributes: Mapping[str, Any]
) -> Node:
    """The node `proto` with these attributes, in a graph whose operators are of `opsets`."""
    domain = domain_of(proto.domain)
    return Node(
        label_of(proto, prefix),
        domain,
        proto.op_type,
        opsets.get(domain, 1),
        tuple(proto.input),
        tuple(proto.output),
        attributes,
    )
