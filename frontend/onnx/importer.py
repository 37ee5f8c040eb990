"""Runs the nodes of a model, in order, on known and traced values: that is the model's graph."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
from onnx import AttributeProto, FunctionProto, GraphProto, NodeProto
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import VerifyException

from ...errors import StepwellError
from ...frozen import frozen
from ...spelling import one_line
from ..recording import TooLarge, as_tensor, evaluating_at_most, recording_constants
from ..tensor import Tensor
from . import operators as operators  # their functions enter themselves
from .binding import Shapes, arguments_of
from .bounded import Bounded, mark_extents, require_extents, with_extents
from .input_needed import InputNeeded
from .model_trace import ModelTrace
from .node import Node, Subgraph, attribute_values, label_of, node_of
from .reading import Model, domain_of, opsets_of, shortened
from .registry import Operator, Unsupported, Value, ValueNeeded, is_known, operator_for
from .schemas import (
    default_attributes,
    default_protos,
    evaluated_by_reference,
    function_body,
    has_function_body,
    require_attribute_types,
)
from .tensors import tensor_array

FOLD_BYTES = 1 << 24
"""Results of more bytes than this are computed by the program, also where all operands are known at import."""

MAX_EXPANDED = 20_000
"""How many nodes are run beyond those of the graph itself: in functions, which can call each other, and in loops."""

MAX_DEPTH = 50
"""How deep functions and subgraphs may stand in each other."""


class UnsupportedOperators(StepwellError):
    """All that a model has and Stepwell does not."""


_OF_VALUES = (ArithmeticError, IndexError, KeyError, MemoryError, TypeError, ValueError)
"""What NumPy and Python raise for operands that do not fit an operator. Any other exception is a bug of ours."""


class _Missing:
    """Stands for a value that could not be computed, so that what else is wrong is found as well."""


_MISSING = _Missing()


class _Incomplete(Exception):
    """A subgraph has values that could not be computed, which has been noted."""


@frozen
class _Frame:
    """Where nodes stand: the values they see, the versions of their operators, and what encloses them."""

    values: MutableMapping[str, Any]
    opsets: Mapping[str, int]
    bound: Mapping[str, AttributeProto]
    prefix: str = ""
    depth: int = 0


def import_model(
    model: Model, shapes: Shapes | None = None, constants: Mapping[str, Any] | None = None
) -> ModuleOp:
    """
    The model as a program of the graph level: `main` takes its inputs, those in `constants` left out. An output whose
    extent the data decides has room for the most there can be, and its extent is a result behind the outputs (see
    `bounded`).

    Raises StepwellError for a model that is not valid, with every operator and attribute that is not
    supported in one message (UnsupportedOperators), or all inputs whose values decide shapes (InputNeeded).
    """
    constants = {name: np.asarray(value) for name, value in (constants or {}).items()}
    arguments = arguments_of(model, shapes or {}, constants)
    with ModelTrace(model.name) as trace, np.errstate(all="ignore"):
        values = {one.name: trace.model_input(one.name, one.shape, one.dtype) for one in arguments}
        importer = _Importer(model, trace)
        outputs, cuts = with_extents(importer.run_model({**values, **constants}))
        names = [one.name for one in model.proto.graph.output]
        names += [f"{names[number]}_extent" for number, _, _ in cuts]
        module = trace.model_module([as_tensor(value) for value in outputs], names)
        mark_extents(module, cuts)
        return module


class _Importer:
    """One pass over the nodes of a model."""

    def __init__(self, model: Model, trace: ModelTrace):
        self._model = model
        self._trace = trace
        self._count = 0
        self._max_count = len(model.proto.graph.node) + MAX_EXPANDED
        self._unsupported: dict[str, list[str]] = {}
        self._needed: dict[str, list[str]] = {}

    def run_model(self, inputs: Mapping[str, Value]) -> list[Value]:
        """The model's outputs. Raises StepwellError for all that is not supported."""
        frame = _Frame(dict[str, Any](inputs), self._model.opsets, {})
        outputs = self._graph(self._model.proto.graph, frame)
        self._raise_refusals()
        return outputs

    # Graphs and functions.

    def _graph(self, graph: GraphProto, frame: _Frame) -> list[Value]:
        """Run a graph whose inputs are among the values of `frame`; its outputs."""
        weights = {
            one.name: self._located(
                frame.prefix + shortened(one.name), tensor_array, one, self._model.folder
            )
            for one in graph.initializer
            if one.name not in frame.values or frame.depth
        }
        if graph.sparse_initializer:
            raise self._error(
                "", "found a sparse initializer, expected dense ones; convert the model"
            )
        self._trace.name_arrays(weights)
        frame.values.update(weights)
        inputs = self._names_of_inputs(graph, frame.prefix.rstrip("/"))
        self._nodes(graph.node, frame, inputs | {one.name for one in graph.initializer})
        return [
            self._value(one.name, frame, graph.node, "an output of the graph")
            for one in graph.output
        ]

    def _function(
        self,
        function: FunctionProto,
        node: Node,
        bound: Sequence[AttributeProto],
        inputs: Sequence[Value],
        frame: _Frame,
    ) -> list[Value]:
        """Run the body of a function on the operands of the node that calls it."""
        if len(inputs) > len(function.input):
            raise self._error(
                node.label,
                f"found {len(inputs)} inputs of '{node.operator}', expected at most {len(function.input)}",
            )
        padded = [*inputs, *[None] * (len(function.input) - len(inputs))]
        attributes = {one.name: one for one in (*function.attribute_proto, *bound)}
        inner = self._inside(
            frame,
            node.label,
            values=dict(zip(function.input, padded, strict=True)),
            opsets=opsets_of(function.opset_import, self._model.name),
            bound=attributes,
        )
        self._nodes(function.node, inner, {*function.input})
        given = {name for one in function.node for name in one.output} | set(function.input)
        return [
            self._value(name, inner, function.node, "an output of the function")
            if name in given or node.uses(position)
            else None
            for position, name in enumerate(function.output)
        ]

    def _inside(self, frame: _Frame, label: str, **changes: Any) -> _Frame:
        """The frame of what stands in a node."""
        if frame.depth == MAX_DEPTH:
            raise self._error(
                label,
                f"found functions and subgraphs nested {MAX_DEPTH} deep, expected fewer levels; flatten the model",
            )
        return replace(frame, prefix=f"{label}/", depth=frame.depth + 1, **changes)

    def _subgraph(self, graph: GraphProto, label: str, frame: _Frame) -> Subgraph:
        def run(inputs: Sequence[Value]) -> list[Value]:
            names = [one.name for one in graph.input]
            if len(names) != len(inputs):
                raise self._error(
                    label, f"found a subgraph of {len(names)} inputs, expected {len(inputs)}"
                )
            values = ChainMap(dict(zip(names, inputs, strict=True)), frame.values)
            outputs = self._graph(graph, self._inside(frame, label, values=values))
            if any(isinstance(one, _Missing) for one in outputs):
                raise _Incomplete
            require_extents(outputs)
            return outputs

        return run

    # Nodes.

    def _names_of_inputs(self, graph: GraphProto, label: str) -> set[str]:
        names: set[str] = set()
        for one in graph.input:
            if one.name in names:
                raise self._twice(one.name, label)
            names.add(one.name)
        return names

    def _twice(self, name: str, label: str) -> StepwellError:
        return self._error(
            label,
            f"found '{shortened(name)}' given a second time, expected each value from one node, input or initializer; "
            "rename one",
        )

    def _nodes(self, protos: Sequence[NodeProto], frame: _Frame, given: set[str]) -> None:
        """Run nodes of which none gives a name that is `given`."""
        for proto in protos:
            self._count += 1
            if self._count > self._max_count:
                raise self._error(
                    "",
                    f"found more than {MAX_EXPANDED} nodes in loops and functions, expected fewer; cut the model",
                )
            label = label_of(proto, frame.prefix)
            inputs = [self._value(name, frame, protos, f"node '{label}'") for name in proto.input]
            for name in filter(None, proto.output):
                if name in given:
                    raise self._twice(name, label)
                given.add(name)
            outer = self._trace.location()
            self._trace.stand_at(label, self._count)
            results = self._results(proto, label, inputs, frame)
            if outer is not None and frame.depth:
                self._trace.return_to(outer)
            frame.values.update(
                (name, value) for name, value in zip(proto.output, results, strict=False) if name
            )

    def _value(self, name: str, frame: _Frame, nodes: Iterable[NodeProto], user: str) -> Value:
        """The value of a name, which `user` uses among these nodes."""
        if name == "":
            return None
        if name in frame.values:
            return frame.values[name]
        if any(name in node.output for node in nodes):
            message = (
                f"found {user} using '{shortened(name)}' before it is computed, expected nodes in an order "
                "without cycles; sort them"
            )
        else:
            message = (
                f"found {user} using '{shortened(name)}', which no input, initializer or node gives, expected "
                "a value of the model; add what is missing"
            )
        raise self._error(frame.prefix.rstrip("/"), message)

    def _results(
        self, proto: NodeProto, label: str, inputs: list[Value], frame: _Frame
    ) -> Sequence[Value]:
        """What a node gives, or what stands for values that could not be computed."""
        missing = [_MISSING] * len(proto.output)
        operator = (
            domain_of(proto.domain) + "." * bool(domain_of(proto.domain)) + shortened(proto.op_type)
        )

        if not domain_of(proto.domain) and "" not in frame.opsets:
            raise self._error(
                label,
                f"found {operator} of ONNX's own operators, expected an opset_import that says of which version; "
                "export the model again",
            )

        def subgraph(graph: GraphProto) -> Subgraph:
            return self._subgraph(graph, label, frame)

        try:
            attributes = self._located(
                label,
                attribute_values,
                proto.attribute,
                frame.bound,
                subgraph,
                self._model.folder,
            )
            node = node_of(proto, frame.opsets, frame.prefix, attributes)
            results = self._located(label, self._computed, proto, node, inputs, frame)
        except _Incomplete:
            return missing
        except Unsupported as refusal:
            what = f"{operator}: {refusal}" if str(refusal) else operator
            self._unsupported.setdefault(what, []).append(label)
            return missing
        except ValueNeeded as needed:
            what = f"{needed.args[0]} of {operator} node '{label}'"
            self._needed[what] = self._trace.inputs_of(needed.tensor)
            return missing
        for position in range(len(proto.output)):
            if node.uses(position) and (position >= len(results) or results[position] is None):
                what = f"{operator}: output {position}"
                self._unsupported.setdefault(what, []).append(label)
        given = [_MISSING if value is None else value for value in results]
        return [*given, *missing[len(given) :]]

    def _computed(
        self, proto: NodeProto, node: Node, inputs: list[Value], frame: _Frame
    ) -> Sequence[Value]:
        own = self._model.functions.get((node.domain, node.op_type))
        if frame.bound:
            proto = _in_terms_of(proto, frame.bound)
        if own is not None:
            return self._function(own, node, proto.attribute, inputs, frame)
        operator = operator_for(node.domain, node.op_type, node.version)
        require_attribute_types(proto, node)
        is_missing = any(isinstance(value, _Missing) for value in inputs)
        missing = [_MISSING] * len(node.outputs)
        require_extents(inputs)
        if operator is not None:
            arguments = _arguments(operator, node)
            return missing if is_missing else self._call(operator, node, arguments, inputs)
        if is_missing and has_function_body(node):
            return missing
        if is_missing:
            raise Unsupported("")
        body = function_body(proto, node, inputs)
        if body is not None:
            defaults = default_protos(node)
            return self._function(body, node, [*defaults, *proto.attribute], inputs, frame)
        if all(is_known(value) for value in inputs) and not any(
            map(callable, node.attributes.values())
        ):
            results = evaluated_by_reference(proto, node, inputs, frame.opsets)
            if results is not None:
                return results
        raise Unsupported("")

    def _call(
        self, operator: Operator, node: Node, arguments: dict[str, Any], inputs: list[Value]
    ) -> Sequence[Value]:
        while inputs and inputs[-1] is None and len(inputs) > operator.required:
            inputs = inputs[:-1]
        if len(inputs) > operator.inputs:
            raise Unsupported(f"input {operator.inputs}")
        if len(inputs) < operator.required:
            raise self._error(
                node.label,
                f"found {len(inputs)} inputs of {node.operator}, expected at least {operator.required}",
            )
        for place in range(operator.required):
            if inputs[place] is None and place not in operator.gaps:
                raise self._error(
                    node.label,
                    f"found input {place} of {node.operator} left out, expected it; export the model again",
                )
        try:
            with evaluating_at_most(FOLD_BYTES):
                return _as_values(operator.function(*inputs, **arguments))
        except TooLarge:
            with recording_constants():
                return _as_values(operator.function(*inputs, **arguments))

    # What is wrong.

    def _located(self, label: str, function: Callable[..., Any], *args: Any) -> Any:
        """`function(*args)`, with what is wrong with its arguments at the place `label`."""
        try:
            return function(*args)
        except (Unsupported, ValueNeeded, _Incomplete):
            raise
        except StepwellError as error:
            if isinstance(error, _AtNode):
                raise
            raise self._error(label, error.message) from error
        except VerifyException as error:
            raise self._error(label, str(error)) from error
        except _OF_VALUES as error:
            reason = one_line(f"{type(error).__name__}: {error}", 200)
            raise self._error(
                label,
                f"found operands that cannot be computed with ({reason}), expected valid ones; mend the model",
            ) from error
        except RecursionError:
            raise
        except Exception as error:
            error.add_note(f"at {self._model.name}:{label}")
            raise

    def _error(self, label: str, message: str) -> StepwellError:
        where = f"{self._model.name}:{label}" if label else self._model.name
        return _AtNode(message, where=where)

    def _raise_refusals(self) -> None:
        if self._unsupported:
            found = "; ".join(
                f"{what} (node {', '.join(repr(label) for label in labels)})"
                for what, labels in self._unsupported.items()
            )
            raise UnsupportedOperators(
                f"found what Stepwell does not have: {found}; expected operators as in docs/onnx.md",
                where=self._model.name,
            )
        if self._needed:
            names = list(dict.fromkeys(name for inputs in self._needed.values() for name in inputs))
            shown = ", ".join(repr(shortened(name)) for name in names)
            example = shortened(names[0]) if names else "NAME"
            raise InputNeeded(
                f"found values that only the inputs {shown} decide: {'; '.join(self._needed)}; expected values known "
                f"at import; give constants={{'{example}': …}}",
                names,
                self._model.name,
            )


class _AtNode(StepwellError):
    """An error that says the node it is about."""


def _arguments(operator: Operator, node: Node) -> dict[str, Any]:
    """The attributes a function is called with. Raises Unsupported for one that it does not have."""
    for name in sorted(operator.required_attributes - node.attributes.keys()):
        raise StepwellError(
            f"found {node.operator} without the attribute '{name}', expected it; export the model again"
        )
    extra = node.attributes.keys() - operator.attributes
    defaults = default_attributes(node) if extra else {}
    for name in sorted(extra):
        if name not in defaults or defaults[name] != node.attributes[name]:
            raise Unsupported(f"attribute '{shortened(name)}'")
    arguments = {
        name: node.attributes[name] for name in operator.attributes & node.attributes.keys()
    }
    return {**arguments, "node": node} if operator.takes_node else arguments


def _in_terms_of(proto: NodeProto, bound: Mapping[str, AttributeProto]) -> NodeProto:
    """A node of a function with the attributes of the call in place of what refers to them."""
    found: list[AttributeProto] = []
    for attribute in proto.attribute:
        if not attribute.ref_attr_name:
            found.append(attribute)
        elif attribute.ref_attr_name in bound:
            copy = AttributeProto()
            copy.CopyFrom(bound[attribute.ref_attr_name])
            copy.name = attribute.name
            found.append(copy)
    node = NodeProto()
    node.CopyFrom(proto)
    del node.attribute[:]
    node.attribute.extend(found)
    return node


def _as_values(results: Any) -> Sequence[Value]:
    """What a function returned, always several; numbers of NumPy as arrays."""
    if not isinstance(results, list | tuple):
        results = [results]
    return [
        one if one is None or isinstance(one, Tensor | Bounded) else np.asarray(one)
        for one in cast("Sequence[Any]", results)
    ]
