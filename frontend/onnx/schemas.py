"""What the `onnx` package itself knows of an operator: default attributes, a function body, what it computes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, cast

import numpy as np
from onnx import AttributeProto, FunctionProto, NodeProto, defs, helper
from onnx.defs import SchemaError

from ...dialects.dtypes import has_element_type
from ...errors import StepwellError
from .node import Node
from .reading import shortened
from .registry import Value

REFERENCE_ELEMENTS = 1 << 16
"""Operands of more elements than this are not computed with ONNX's reference evaluator, which takes its time."""


@lru_cache(maxsize=1024)
def schema_of(domain: str, op_type: str, version: int) -> Any:
    """
    The definition of an operator in a version of its operator set, an `onnx.defs.OpSchema` (whose stub is older than
    its methods), or None when the package does not have it.
    """
    try:
        return defs.get_schema(op_type, version, domain)
    except SchemaError:
        return None


def default_protos(node: Node) -> list[AttributeProto]:
    """The attributes of an operator that have defaults, with these."""
    schema = schema_of(node.domain, node.op_type, node.version)
    if schema is None:
        return []
    protos = [attribute.default_value for attribute in schema.attributes.values()]
    return [one for one in protos if one.name]


def default_attributes(node: Node) -> dict[str, Any]:
    """The values of `default_protos` by name."""
    found: dict[str, Any] = {}
    for proto in default_protos(node):
        value: Any = helper.get_attribute_value(proto)
        found[proto.name] = value.decode() if isinstance(value, bytes) else value
    return found


def require_attribute_types(proto: NodeProto, node: Node) -> None:
    """Raise StepwellError for an attribute of another type than the operator's definition says."""
    schema = schema_of(node.domain, node.op_type, node.version)
    for attribute in proto.attribute:
        known = None if schema is None else schema.attributes.get(attribute.name)
        if known is None or attribute.ref_attr_name or not attribute.type:
            continue
        found, expected = AttributeProto.AttributeType.Name(attribute.type), known.type.name
        if found != expected:
            raise StepwellError(
                f"found attribute '{shortened(attribute.name)}' of type {found.lower()}, expected "
                f"{expected.lower()}; export the model again"
            )


def has_function_body(node: Node) -> bool:
    """Whether ONNX defines the operator with a function, for some operands at least."""
    schema = schema_of(node.domain, node.op_type, node.version)
    return schema is not None and (schema.has_function or schema.has_context_dependent_function)


def function_body(proto: NodeProto, node: Node, inputs: Sequence[Value]) -> FunctionProto | None:
    """The function that ONNX defines the operator with, for operands of these types; None when there is none."""
    schema = schema_of(node.domain, node.op_type, node.version)
    if schema is None:
        return None
    if schema.has_function:
        version = _newest(schema.function_opset_versions, node.version)
        return FunctionProto.FromString(schema.get_function_with_opset_version(version))
    if not schema.has_context_dependent_function:
        return None
    version = _newest(schema.context_dependent_function_opset_versions, node.version)
    types = [_type_of(value) for value in inputs]
    body = schema.get_context_dependent_function_with_opset_version(
        version, proto.SerializeToString(), types
    )
    return FunctionProto.FromString(body) if body else None


def _newest(versions: Sequence[int], version: int) -> int:
    """The version of the body that holds in a version of the operator set."""
    return max((one for one in versions if one <= version), default=min(versions))


def _type_of(value: Value) -> bytes:
    if value is None:
        return b""
    element = helper.np_dtype_to_tensor_dtype(value.dtype)
    return helper.make_tensor_type_proto(element, value.shape).SerializeToString()


def evaluated_by_reference(
    proto: NodeProto, node: Node, inputs: Sequence[Value], opsets: Mapping[str, int]
) -> list[np.ndarray] | None:
    """What ONNX's reference evaluator computes of known operands; None when it has no such operator."""
    from onnx.reference import ReferenceEvaluator

    schema = schema_of(node.domain, node.op_type, node.version)
    is_small = all(value is None or np.size(value) <= REFERENCE_ELEMENTS for value in inputs)
    if schema is None or not is_small or schema.node_determinism.name != "Deterministic":
        return None
    try:
        evaluator: Any = ReferenceEvaluator(proto, opsets=dict(opsets))
        names = [name for name in proto.input if name]
        values = [value for value in inputs if value is not None]
        results = evaluator.run(None, dict(zip(names, values, strict=True)))
    except (NotImplementedError, RuntimeError):
        return None
    return [np.asarray(one) for one in results] if all(map(_is_numbers, results)) else None


def _is_numbers(value: object) -> bool:
    return has_element_type(cast("np.ndarray", value).dtype) if hasattr(value, "dtype") else False
