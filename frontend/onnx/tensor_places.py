"""Where in its files the tensors of a model are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto

from ...errors import StepwellError
from ...runtime.program_record import contents_digest
from .reading import Model
from .recall import Note, TensorPlace
from .tensors import tensor_array

LEAST_BYTES = 1 << 10
"""Smaller constants are kept with the program: to note where they are takes about as much."""


def note_of(model: Model, data: bytes) -> Note:
    """What is to be noted of a model that was imported, in a file of these bytes."""
    files = {"": 0}
    places: dict[str, TensorPlace] = {}
    end = 0
    for tensor in _tensors(model.proto):
        try:
            array = tensor_array(tensor, model.folder)
        except StepwellError:
            continue  # of an input that was given otherwise, or of a node that is not reached
        if isinstance(array, np.memmap):
            name = Path(str(array.filename)).relative_to(model.folder or "").as_posix()
            file, offset = files.setdefault(name, len(files)), array.offset
        else:
            # Tensors stand in the file in their order: each is looked for behind the one before. Wherever its bytes
            # are found, they are the ones.
            raw = tensor.raw_data
            file, offset = 0, _place(raw, data, end) if len(raw) >= LEAST_BYTES else -1
            if offset < 0:
                continue
            end = offset + len(raw)
        places[contents_digest(array)] = TensorPlace(file, offset, array.dtype.name, array.size)
    return Note(tuple(files)[1:], places)


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


def _place(raw: bytes, data: bytes, start: int) -> int:
    """`data.find(raw, start)`, which studies the whole of `raw` before it looks, where a comparison at once is enough."""
    begin = raw[:LEAST_BYTES]
    offset = data.find(begin, start)
    while offset >= 0 and not data.startswith(raw, offset):
        offset = data.find(begin, offset + 1)
    return offset
