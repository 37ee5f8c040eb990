"""
An ONNX file as the fields of its messages, without protobuf: how many nodes a model has, and where the bytes of its tensors are.

A message is a sequence of fields, each a number with the kind of what follows it; see "Encoding" in the documentation of
protobuf. Tensors are not copied here, as reading their bytes from a message does, and nothing of the `onnx` package is loaded.
"""

from __future__ import annotations

from collections.abc import Iterator
from mmap import mmap
from typing import NamedTuple

_VARINT, _EIGHT_BYTES, _BYTES, _FOUR_BYTES = 0, 1, 2, 5

# Numbers of fields in onnx.proto.
_MODEL_GRAPH, _MODEL_FUNCTIONS = 7, 25
_GRAPH_NODE, _GRAPH_INITIALIZER = 1, 5
_FUNCTION_NODE, _FUNCTION_ATTRIBUTE = 7, 11
_NODE_ATTRIBUTE = 5
_ATTRIBUTE_TENSOR, _ATTRIBUTE_GRAPH = 5, 6
_TENSOR_RAW_DATA = 9


class Span(NamedTuple):
    """Some bytes of a file."""

    begin: int
    end: int


def node_count(data: bytes | mmap) -> int:
    """How many nodes the graph of a model has, those inside of others apart; 0 for bytes that are no message."""
    try:
        graphs = _fields(data, Span(0, len(data)), _MODEL_GRAPH)
        return sum(1 for _, graph in graphs for _ in _fields(data, graph, _GRAPH_NODE))
    except (ValueError, IndexError):
        return 0


def raw_tensors(data: bytes | mmap) -> list[Span | None]:
    """
    Where the bytes of each tensor of a model are, of those in functions and subgraphs, too: each graph's nodes before its
    initializers. None for one that has them elsewhere, or as numbers. Raises ValueError or IndexError for bytes that are no message.
    """
    found: list[Span | None] = []
    functions: list[Span] = []
    for number, part in _fields(data, Span(0, len(data)), _MODEL_GRAPH, _MODEL_FUNCTIONS):
        if number == _MODEL_GRAPH:
            found += _of_graph(data, part)
        else:
            functions.append(part)
    for function in functions:
        parts = [*_fields(data, function, _FUNCTION_NODE, _FUNCTION_ATTRIBUTE)]
        found += _of_nodes(data, (part for number, part in parts if number == _FUNCTION_NODE))
        for number, part in parts:
            found += _of_attribute(data, part) if number == _FUNCTION_ATTRIBUTE else ()
    return found


def _of_graph(data: bytes | mmap, graph: Span) -> Iterator[Span | None]:
    parts = [*_fields(data, graph, _GRAPH_NODE, _GRAPH_INITIALIZER)]
    yield from _of_nodes(data, (part for number, part in parts if number == _GRAPH_NODE))
    yield from (_raw(data, part) for number, part in parts if number == _GRAPH_INITIALIZER)


def _of_nodes(data: bytes | mmap, nodes: Iterator[Span]) -> Iterator[Span | None]:
    for node in nodes:
        for _, attribute in _fields(data, node, _NODE_ATTRIBUTE):
            yield from _of_attribute(data, attribute)


def _of_attribute(data: bytes | mmap, attribute: Span) -> Iterator[Span | None]:
    parts = dict(_fields(data, attribute, _ATTRIBUTE_TENSOR, _ATTRIBUTE_GRAPH))
    if _ATTRIBUTE_TENSOR in parts:
        yield _raw(data, parts[_ATTRIBUTE_TENSOR])
    if _ATTRIBUTE_GRAPH in parts:
        yield from _of_graph(data, parts[_ATTRIBUTE_GRAPH])


def _raw(data: bytes | mmap, tensor: Span) -> Span | None:
    """The last one counts, as where protobuf reads several."""
    return dict(_fields(data, tensor, _TENSOR_RAW_DATA)).get(_TENSOR_RAW_DATA)


def _fields(data: bytes | mmap, message: Span, *wanted: int) -> Iterator[tuple[int, Span]]:
    """The fields of a message that are messages, texts or bytes and have one of these numbers."""
    at, end = message
    while at < end:
        key, at = _varint(data, at)
        number, kind = key >> 3, key & 7
        if kind == _BYTES:
            size, at = _varint(data, at)
            if at + size > end:
                raise ValueError("a field ends behind its message")
            if number in wanted:
                yield number, Span(at, at + size)
            at += size
        elif kind == _VARINT:
            _, at = _varint(data, at)
        elif kind in (_EIGHT_BYTES, _FOUR_BYTES):
            at += 8 if kind == _EIGHT_BYTES else 4
        else:
            raise ValueError(f"a field of kind {kind}")


def _varint(data: bytes | mmap, at: int) -> tuple[int, int]:
    """A number in groups of seven bits, the lowest first, and where it ends."""
    value = data[at]
    at += 1
    if value < 0x80:
        return value, at
    value, shift = value & 0x7F, 7
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > 63:
            raise ValueError("a number of more than 64 bits")
