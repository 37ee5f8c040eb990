"""Where in its files the tensors of a model are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto

from ...errors import StepwellError
from ...runtime.program_record import contents_digest
from .reading import Model
from .recall import Note, TensorPlace
from .tensors import required_dtype, tensor_array
from .wire import Span, raw_tensors

LEAST_BYTES = 1 << 10
"""Smaller constants are kept with the program: to note where they are takes about as much."""


def note_of(model: Model, data: bytes) -> Note:
    """What is to be noted of a model that was imported, in a file of these bytes."""
    files = {"": 0}
    places: dict[str, TensorPlace] = {}
    tensors, spans = [*_tensors(model.proto)], list[Span | None]()
    with suppress(ValueError, IndexError):  # protobuf skips groups, which no model has a use for
        spans = raw_tensors(data)
    if len(tensors) != len(spans):  # parts of a graph apart are joined as it is read
        spans = [None] * len(tensors)
    for tensor, span in zip(tensors, spans, strict=True):
        try:
            if tensor.data_location == TensorProto.EXTERNAL:
                array = tensor_array(tensor, model.folder)
                if not isinstance(array, np.memmap):
                    continue  # of no elements
                name = Path(str(array.filename)).relative_to(model.folder or "").as_posix()
                file, offset = files.setdefault(name, len(files)), array.offset
            elif span is None or span.end - span.begin < LEAST_BYTES:
                continue
            else:
                array, file, offset = _array_at(data, span, tensor), 0, span.begin
        except StepwellError:
            continue  # of an input that was given otherwise, or of a node that is not reached
        places[contents_digest(array)] = TensorPlace(file, offset, array.dtype.name, array.size)
    return Note(tuple(files)[1:], places)


def _array_at(data: bytes, span: Span, tensor: TensorProto) -> np.ndarray:
    """All of a tensor's elements, in the file. Whatever is there, it is what the digest is of."""
    dtype = required_dtype(tensor.data_type, "tensor")
    return np.frombuffer(data, dtype, (span.end - span.begin) // dtype.itemsize, span.begin)


def _tensors(proto: ModelProto) -> Iterator[TensorProto]:
    """Every tensor of a model, those in functions and in subgraphs too, in the order of their fields in the file."""
    yield from _tensors_of_graph(proto.graph)
    for function in proto.functions:
        yield from _tensors_of_nodes(function.node)
        yield from _tensors_of_attributes(function.attribute_proto)


def _tensors_of_graph(graph: GraphProto) -> Iterator[TensorProto]:
    yield from _tensors_of_nodes(graph.node)
    yield from graph.initializer


def _tensors_of_nodes(nodes: Iterable[NodeProto]) -> Iterator[TensorProto]:
    for node in nodes:
        yield from _tensors_of_attributes(node.attribute)


def _tensors_of_attributes(attributes: Iterable[AttributeProto]) -> Iterator[TensorProto]:
    for attribute in attributes:
        if attribute.HasField("t"):
            yield attribute.t
        if attribute.HasField("g"):
            yield from _tensors_of_graph(attribute.g)
