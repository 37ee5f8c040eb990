"""Reading an ONNX file, and what must hold of it before its nodes are looked at."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import field
from functools import cache
from pathlib import Path

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import DecodeError, Message
from onnx import FunctionProto, ModelProto, defs

from ...errors import StepwellError
from ...frozen import frozen
from ...spelling import one_line
from ..files import check_model_size, read_bytes

DOMAINS = {"": "ai.onnx", "ai.onnx": "ai.onnx", "com.microsoft": "com.microsoft"}
"""The domains whose operators may have functions here."""

FIRST_OPSET = 1


@frozen
class Model:
    """A model, where it came from, and the versions of the operator sets it is written in."""

    proto: ModelProto
    name: str
    """What messages call it: the path of its file."""
    folder: Path | None
    """Where its external data may be; None for a model that was not read from a file."""
    opsets: dict[str, int] = field(default_factory=dict[str, int])
    functions: dict[tuple[str, str], FunctionProto] = field(
        default_factory=dict[tuple[str, str], FunctionProto]
    )
    """The model's own functions, by domain and name."""


def read_model(path: str | os.PathLike[str]) -> Model:
    """The model in a file. Raises StepwellError when it cannot be read or is no ONNX model."""
    with suppress(OSError, ValueError):  # of which reading says what is wrong
        check_model_size(os.path.getsize(path), path)
    return model_of(read_bytes(path), Path(path))


def model_of(data: bytes, path: Path) -> Model:
    """The model in the bytes of a file. Raises StepwellError when they are none."""
    name = str(path)
    proto = ModelProto()
    try:
        proto.ParseFromString(data)
    except (DecodeError, RecursionError, ValueError) as error:
        raise StepwellError(
            "found bytes that are no whole ONNX model, expected a protobuf message as onnx.save writes; "
            "copy or export the file again",
            where=name,
        ) from error
    return checked_model(proto, name, path.resolve().parent)


def checked_model(proto: ModelProto, name: str, folder: Path | None = None) -> Model:
    """A model that is in memory. Raises StepwellError for one without a graph or of unknown operator sets."""
    if not proto.HasField("graph") or not (proto.graph.node or proto.graph.output):
        raise StepwellError(
            "found no graph in the file, expected an ONNX model; export the model again", where=name
        )
    if not proto.graph.output:
        raise StepwellError("found a model without outputs, expected at least one", where=name)
    if not _is_text(proto):
        raise StepwellError(
            "found names in the model that are no UTF-8 text, expected names as ONNX has them; "
            "export the model again",
            where=name,
        )
    functions = {(domain_of(one.domain), one.name): one for one in proto.functions}
    opsets = opsets_of(proto.opset_import, name)
    return Model(proto, name, folder, opsets, functions)


def _is_text(message: Message) -> bool:
    """Whether all strings are text: the parser gives bytes for those that are not UTF-8."""
    for name, kind in _texts_and_messages(message.DESCRIPTOR):
        value = getattr(message, name)
        if kind == "texts":
            if not all(isinstance(one, str) for one in value):
                return False
        elif kind == "text":
            if not isinstance(value, str):
                return False
        elif kind == "messages":
            if not all(map(_is_text, value)):
                return False
        elif message.HasField(name) and not _is_text(value):
            return False
    return True


@cache
def _texts_and_messages(of: Descriptor) -> tuple[tuple[str, str], ...]:
    """The fields of a message that are texts or messages, one or several: bytes would be copied to be looked at."""
    kinds = {FieldDescriptor.TYPE_STRING: "text", FieldDescriptor.TYPE_MESSAGE: "message"}
    return tuple(
        (each.name, kinds[each.type] + "s" * each.is_repeated)
        for each in of.fields
        if each.type in kinds
    )


def domain_of(domain: str) -> str:
    """The domain, with the default one as the empty string."""
    return "" if domain == "ai.onnx" else domain


def opsets_of(imports: object, name: str) -> dict[str, int]:
    """The version of each domain that a model or function imports. Raises StepwellError for an unknown one."""
    opsets: dict[str, int] = {}
    newest = defs.onnx_opset_version()
    for entry in imports:  # pyright: ignore[reportGeneralTypeIssues, reportUnknownVariableType]
        domain, version = domain_of(str(entry.domain)), int(entry.version)  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
        if domain == "" and not FIRST_OPSET <= version <= newest:
            raise StepwellError(
                f"found operator set {version}, expected {FIRST_OPSET} to {newest}, which the installed onnx "
                "package knows; convert the model with onnx.version_converter, or install a newer onnx",
                where=name,
            )
        opsets[domain] = version
    if not opsets:
        raise StepwellError(
            "found a model that says no version of its operators, expected an opset_import; "
            "export it again",
            where=name,
        )
    return opsets


def shortened(name: str) -> str:
    """A name from a model as messages show it."""
    return one_line(name, 60)
