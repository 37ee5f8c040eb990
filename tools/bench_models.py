"""Models in files as cases of `stepwell bench`: what ours imports, and what other runtimes of ONNX are given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from ..analysis.signature import entry_function, signature_of
from ..dialects import graph
from ..driver.options import Options
from ..errors import StepwellError
from ..frontend.files import read_bytes
from ..frontend.load import load_model
from ..frontend.lowered import Lowered
from ..frozen import frozen
from .bench_arrays import generate, placed
from .shape_text import parse_shape

if TYPE_CHECKING:
    from onnx import ModelProto

Array = npt.NDArray[Any]


@frozen
class ModelFile:
    """
    An ONNX model, and the inputs that are `given` instead of drawn at random. Those without axes choose among its
    parts: ours is compiled for them.
    """

    path: Path
    given: Mapping[str, Array] = field(default_factory=dict[str, Array])

    @property
    def constants(self) -> Mapping[str, Array]:
        return {name: array for name, array in self.given.items() if array.ndim == 0}

    def proto(self) -> ModelProto:
        """What other runtimes take."""
        from onnx import ModelProto

        proto = ModelProto()
        proto.ParseFromString(read_bytes(self.path))
        return proto


def specialized(
    proto: ModelProto, arrays: Mapping[str, Array], constants: Mapping[str, Array]
) -> ModelProto:
    """
    The model for inputs of the shapes of `arrays`, with `constants` as initializers: for runtimes that choose among its
    parts when they load it.
    """
    from onnx import numpy_helper

    kept = [one for one in proto.graph.input if one.name not in constants]
    del proto.graph.input[:]
    proto.graph.input.extend(kept)
    for one in proto.graph.input:
        shape = one.type.tensor_type.shape
        del shape.dim[:]
        for extent in arrays[one.name].shape:
            shape.dim.add().dim_value = extent
    proto.graph.initializer.extend(
        numpy_helper.from_array(array, name) for name, array in constants.items()
    )
    return proto


@frozen
class Imported:
    """A model, ready to compile and to call; `arguments` and `arrays` are in the order of its inputs."""

    arguments: Mapping[str, str]
    lowered: Lowered
    arrays: Sequence[Array]

    @property
    def stored_bytes(self) -> int:
        """Of all its constants."""
        operations = self.lowered.module("graph").walk()
        return sum(op.numpy().nbytes for op in operations if isinstance(op, graph.ConstantOp))


def import_for(model: ModelFile, arguments: Mapping[str, str], options: Options) -> Imported:
    """
    The model for arguments of these shapes, each written as `2x3xf32`.

    Raises StepwellError when there is no such file, it is no model, or its inputs are others than the arguments.
    """
    if not model.path.is_file():
        raise StepwellError(
            "found no such model, expected it to be fetched; run `make models` in the checkout",
            where=str(model.path),
        )
    shapes = {
        name: parse_shape(text, f"shape '{text}' for '{name}'")[0]
        for name, text in arguments.items()
    }
    lowered = load_model(model.path, shapes, model.constants, options)
    entry = entry_function(lowered.module("graph"), None)
    inputs = [spec.name for spec in signature_of(entry).inputs]
    if set(inputs) != set(arguments):
        raise StepwellError(
            f"found arguments {', '.join(arguments)}, expected the model's inputs: {', '.join(inputs)}",
            where=str(model.path),
        )
    arrays = [
        placed(model.given[name]) if name in model.given else generate(name, arguments[name])
        for name in inputs
    ]
    return Imported({name: arguments[name] for name in inputs}, lowered, arrays)
