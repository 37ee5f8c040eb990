"""The program a command is given: a module, from a file of any kind that Stepwell reads."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ..analysis.signature import entry_function, signature_of
from ..analysis.verify import verify
from ..errors import StepwellError
from ..frontend.files import decode, read_bytes
from ..frontend.onnx.input_needed import InputNeeded
from ..frontend.text import parse_text
from ..frontend.upstream_text import bring_in
from ..frozen import frozen
from ..spelling import did_you_mean
from .execute import located
from .shape_text import check_names, parse_shape, shape_for

if TYPE_CHECKING:
    from ..driver.options import Options
    from ..frontend.lowered import Lowered
    from ..frontend.onnx.reading import Model

ProgramT = TypeVar("ProgramT")

_KINDS = (".mlir", ".py", ".onnx")


@frozen
class Program:
    """A verified module, and the name of the function to run, when one was named."""

    module: ModuleOp
    entry: str | None
    constants: tuple[str, ...] = ()
    """The given inputs of a model that decide shapes, and are part of it therefore."""
    model: Model | None = None
    """What the module was imported from."""


def load_program(
    name: str,
    ctx: Context,
    *,
    entry: str | None = None,
    shapes: Mapping[str, str] | None = None,
    arrays: Mapping[str, np.ndarray] | None = None,
) -> Program:
    """
    The program in the file `name`; `-` is text on standard input.

    `FILE.py:FUNCTION`, or FILE.py with `entry`, is a Python function, traced on arguments of the given `shapes`, each
    as `2x3xf32`; for FILE.onnx they are those of inputs, or extents of dimensions that the model names, and for text
    they must fit the arguments. Those of `arrays` that decide shapes in a model are constants of the program. Raises
    StepwellError when the file cannot be read, or is wrong.
    """
    path, _, function = name.rpartition(":") if ".py:" in name else (name, "", None)
    if Path(path).suffix == ".py":
        from .trace_program import trace_program

        read_bytes(path)  # for what is said when it cannot be read
        module, entry = trace_program(path, function or entry, shapes or {}), None
    elif Path(name).suffix == ".onnx":
        check_entry_of_model(name, entry)
        return _import(name, shapes or {}, arrays or {})
    else:
        module = _parse(name, ctx)
    verify(module)
    bring_in(module)
    asked = {name: text for name, text in (shapes or {}).items() if name not in (arrays or {})}
    if asked:
        _check_shapes(module, entry, asked)
    return Program(module, entry)


def _check_shapes(module: ModuleOp, entry: str | None, shapes: Mapping[str, str]) -> None:
    """Raises StepwellError for a shape that is not that of an argument."""
    function = entry_function(module, entry)
    signature = signature_of(function)
    with located(function):
        check_names(signature, shapes)
        for spec in signature.inputs:
            if spec.name in shapes:
                shape_for(spec, shapes[spec.name])


def check_entry_of_model(path: str, entry: str | None) -> None:
    """Raises StepwellError where a function of a model is named: it is one function."""
    if entry is not None:
        raise StepwellError(
            f"found --entry {entry} for a model, expected none, as a model is one function; drop it",
            where=path,
        )


def _import(path: str, shapes: Mapping[str, str], arrays: Mapping[str, np.ndarray]) -> Program:
    """The model in a file."""
    from ..frontend.onnx.package import require_onnx

    require_onnx(path)
    from ..frontend.onnx.importer import import_model
    from ..frontend.onnx.reading import read_model

    model = read_model(path)

    def imported(constants: Mapping[str, np.ndarray]) -> ModuleOp:
        return import_model(model, _extents(shapes, constants), constants)

    module, constants = _with_needed(arrays, imported)
    return Program(module, None, tuple(constants), model)


def load_model_program(
    path: str, shapes: Mapping[str, str], arrays: Mapping[str, np.ndarray], options: Options
) -> tuple[Lowered, Mapping[str, np.ndarray]]:
    """As `load_program` for FILE.onnx, to be compiled; and its constants. It is not imported where the cache has it."""
    from ..frontend.load import load_model

    def loaded(constants: Mapping[str, np.ndarray]) -> Lowered:
        return load_model(Path(path), _extents(shapes, constants), constants, options)

    return _with_needed(arrays, loaded)


def _extents(
    shapes: Mapping[str, str], constants: Mapping[str, np.ndarray]
) -> dict[str, tuple[int, ...]]:
    """The shapes of inputs, those left out that are constants."""
    found = {name: parse_shape(text, f"--shape {name}={text}")[0] for name, text in shapes.items()}
    return {name: shape for name, shape in found.items() if name not in constants}


def _with_needed(
    arrays: Mapping[str, np.ndarray], load: Callable[[Mapping[str, np.ndarray]], ProgramT]
) -> tuple[ProgramT, Mapping[str, np.ndarray]]:
    """What `load` makes of constants, of which a model needs some of these arrays; and which."""
    constants: dict[str, np.ndarray] = {}
    while True:
        try:
            return load(constants), constants
        except InputNeeded as error:
            needed = [name for name in error.inputs if name in arrays and name not in constants]
            if not needed:
                raise
            constants.update({name: arrays[name] for name in needed})


def _parse(name: str, ctx: Context) -> ModuleOp:
    if name == "-":
        return parse_text(decode(sys.stdin.buffer.read(), "<stdin>"), "<stdin>", ctx)
    data = read_bytes(name)
    suffix = Path(name).suffix
    if suffix != ".mlir":
        remedy = did_you_mean(suffix, _KINDS, "rename or convert it")
        raise StepwellError(
            f"found a file ending in '{suffix}', expected one of {', '.join(_KINDS)}; {remedy}",
            where=name,
        )
    return parse_text(decode(data, name), name, ctx)
