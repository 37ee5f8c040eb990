"""The arguments of a model: which of its inputs they are, and their extents, which a caller may have to give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from onnx import TypeProto, ValueInfoProto

from ...errors import StepwellError
from ...frozen import frozen
from ...spelling import did_you_mean, few_names
from ..numpy.arguments import integers
from .reading import Model, shortened
from .tensors import required_dtype

Shapes: TypeAlias = Mapping[str, Sequence[int] | int]
"""The shape of an input by its name, or the extent of a named dimension."""

Extent: TypeAlias = int | str | None
"""A number, a named dimension, or nothing that is known."""


@frozen
class Argument:
    """An input of a model that is given when it is called."""

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype


def arguments_of(model: Model, shapes: Shapes, constants: Mapping[str, Any]) -> list[Argument]:
    """
    The inputs of a model that are neither initialized nor among `constants`, with every extent known.

    Raises StepwellError for a name in `shapes` that is no input and no dimension of the model, a shape that
    does not fit, and, in one message for all inputs, extents that nothing says.
    """
    graph = model.proto.graph
    initialized = {one.name for one in graph.initializer}
    inputs = {one.name: one for one in graph.input if one.name not in initialized}
    declared = {name: _declared_shape(one, model) for name, one in inputs.items()}
    _check_names({**shapes, **constants}, list(inputs), declared, model)
    extents = _dimensions(shapes, declared, model)
    open_inputs: dict[str, tuple[Extent, ...] | None] = {}
    arguments: list[Argument] = []
    for name, value in inputs.items():
        if name in constants:
            continue
        dtype = required_dtype(value.type.tensor_type.elem_type, f"input '{shortened(name)}'")
        shape = declared[name] if name not in shapes else _given(shapes[name], name)
        known = tuple(extents.get(one, one) if isinstance(one, str) else one for one in shape or ())
        if shape is None or any(not isinstance(one, int) for one in known):
            open_inputs[shortened(name)] = None if shape is None else known
        arguments.append(Argument(name, tuple(one for one in known if isinstance(one, int)), dtype))
    if open_inputs:
        raise StepwellError(_what_is_open(open_inputs), where=model.name)
    return arguments


def _what_is_open(inputs: Mapping[str, tuple[Extent, ...] | None]) -> str:
    """What to say of inputs with extents that nothing says."""
    found = " and ".join(f"'{name}' of shape {_text(shape)}" for name, shape in inputs.items())
    name, shape = next(iter(inputs.items()))
    example = "x".join(str(one) if isinstance(one, int) else "8" for one in shape or (8, 8))
    return (
        f"found input {found}, expected every extent; give shapes={{'{name}': (…)}}, or on the command line "
        f"for example --shape {name}={example}"
    )


def _declared_shape(value: ValueInfoProto, model: Model) -> tuple[Extent, ...] | None:
    """What the model says of an input's shape; None when it does not even say the rank."""
    kind = value.type.WhichOneof("value")
    if kind != "tensor_type":
        raise StepwellError(
            f"found input '{shortened(value.name)}' that is {_kind_text(kind)}, expected a tensor; "
            "give the model tensors",
            where=model.name,
        )
    tensor: TypeProto.Tensor = value.type.tensor_type
    if not tensor.HasField("shape"):
        return None
    shape: list[Extent] = []
    for dim in tensor.shape.dim:
        if dim.HasField("dim_value"):
            if dim.dim_value < 0:
                shape.append(None)  # how some exporters write an open extent
                continue
            shape.append(dim.dim_value)
        else:
            # Paddle calls every open extent "?": that is no name.
            shape.append(None if dim.dim_param in ("", "?") else dim.dim_param)
    return tuple(shape)


def _kind_text(kind: str | None) -> str:
    return f"a {kind.removesuffix('_type').replace('_', ' ')}" if kind else "of no type"


def _check_names(
    given: Mapping[str, Any],
    inputs: Sequence[str],
    declared: Mapping[str, tuple[Extent, ...] | None],
    model: Model,
) -> None:
    dimensions = {one for shape in declared.values() for one in shape or () if isinstance(one, str)}
    for name in given:
        if name not in declared and name not in dimensions:
            has = few_names(
                "it has the inputs", [shortened(one) for one in inputs], "see the model"
            )
            raise StepwellError(
                f"found a shape or value for '{shortened(name)}', expected an input of the model or a dimension it "
                f"names; {did_you_mean(name, [*inputs, *dimensions], has)}",
                where=model.name,
            )


def _dimensions(
    shapes: Shapes, declared: Mapping[str, tuple[Extent, ...] | None], model: Model
) -> dict[str, int]:
    """The extents of named dimensions, given by name or by the shape of an input."""
    extents: dict[str, int] = {}
    for name, value in shapes.items():
        if name not in declared:
            given = _given(value, name)
            if len(given) != 1 or given[0] < 0:
                raise StepwellError(
                    f"found {_text(given)} for the dimension '{shortened(name)}', expected one extent of at least 0",
                    where=model.name,
                )
            extents[name] = given[0]
    for name, shape in declared.items():
        if name not in shapes or shape is None:
            continue
        given = _given(shapes[name], name)
        fits = len(given) == len(shape) and all(
            not isinstance(one, int) or one == found
            for one, found in zip(shape, given, strict=True)
        )
        if not fits or any(one < 0 for one in given):
            raise StepwellError(
                f"found shape {_text(given)} for input '{shortened(name)}', expected one that fits {_text(shape)}; "
                "mend it",
                where=model.name,
            )
        for one, found in zip(shape, given, strict=True):
            if isinstance(one, str) and extents.setdefault(one, found) != found:
                raise StepwellError(
                    f"found {found} and {extents[one]} for the dimension '{shortened(one)}', expected one "
                    "extent; mend the shapes",
                    where=model.name,
                )
    return extents


def _given(value: Sequence[int] | int, name: str) -> tuple[int, ...]:
    return integers(value, f"the shape of '{shortened(name)}'")


def _text(shape: Sequence[Extent] | None) -> str:
    if shape is None:
        return "of any rank"
    return "[" + ", ".join("?" if one is None else str(one) for one in shape) + "]"
