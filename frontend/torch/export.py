"""
`from_torch`: a module of PyTorch as a program.

torch.export traces the module and makes it functional, its updates in place included; PyTorch's own exporter writes that
as an ONNX model, in memory; and this is imported as any model is. So all that `sw.load` says of models holds: every
operator that is not supported is named in one message.
"""

from __future__ import annotations

import contextlib
import io
import logging
import warnings
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ...driver.options import DEFAULT_OPT, Options
from ...errors import StepwellError
from ...spelling import one_line
from ...transforms.numerics import DEFAULT_FP
from .package import torch_package

if TYPE_CHECKING:
    from ...targets.target import Target
    from ..lowered import Lowered


def from_torch(
    module: Any,
    example_inputs: Any,
    *,
    target: str | Target = "host",
    fp: str = DEFAULT_FP,
    opt: str = DEFAULT_OPT,
    cache: bool = True,
    winograd: bool = False,
) -> Lowered:
    """
    A module of PyTorch, in evaluation mode, for inputs of these shapes and dtypes; its weights are constants.

    `example_inputs` are the arguments of its call: a tensor, or a tuple of tensors and of tuples, lists and dictionaries of
    them. The program takes the tensors in the order in which `torch.utils._pytree` flattens these, as arrays, and returns
    those of the result in that order. The other options are those of `load`.

    Raises StepwellError when PyTorch is not installed, for a module that torch.export cannot trace, that updates its
    inputs or buffers, or that has operators which are not supported.
    """
    from ...analysis.level import Level
    from ..lowered import Lowered

    torch = torch_package()
    if not isinstance(module, torch.nn.Module):
        raise StepwellError(
            f"found a {type(module).__name__}, expected a torch.nn.Module; wrap the function in one"
        )
    arguments: tuple[Any, ...] = (
        cast("tuple[Any, ...]", example_inputs)
        if isinstance(example_inputs, tuple)
        else (example_inputs,)
    )
    name = type(module).__name__
    with _evaluating(module):
        graph = imported(module, arguments, name)
    options = Options(target, fp, opt=opt, cache=cache, winograd=winograd)
    return Lowered(graph, level=Level.GRAPH, name=name, options=options)


def imported(module: Any, arguments: tuple[Any, ...], name: str) -> Any:
    """The module as a program of the graph level. Raises StepwellError; see `from_torch`."""
    torch = torch_package()
    from ..onnx.importer import import_model
    from ..onnx.reading import model_of

    with _quiet(), torch.no_grad():
        exported = _step(name, "torch.export", lambda: torch.export.export(module, arguments))
        program = _step(
            name, "torch.onnx", lambda: torch.onnx.export(exported, dynamo=True, verbose=False)
        )
    _check_pure(program.exported_program, name)  # functional by now, its updates listed
    data: bytes = program.model_proto.SerializeToString()
    return import_model(model_of(data, Path(name)))


@contextlib.contextmanager
def _evaluating(module: Any) -> Generator[None]:
    """Let a module and those in it be in evaluation mode inside, and afterwards each in the mode it was in."""
    modes = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        yield
    finally:
        for part, mode in modes:
            part.training = mode


@contextlib.contextmanager
def _quiet() -> Generator[None]:
    """Keep back what the exporter prints: what matters is in the exceptions."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)


def _step(name: str, what: str, run: Any) -> Any:
    """The result of a part of PyTorch, whose exceptions have no common class; one that it raises becomes one line."""
    try:
        return run()
    except Exception as error:
        cause = error.__cause__ or error
        text = one_line(str(cause).split("\n\n")[0].partition(" See the stack trace")[0], 300)
        raise StepwellError(
            f"found module {name}, which {what} refuses ({type(cause).__name__}: {text}), expected one that it can "
            "export; see the documentation of torch.export",
        ) from error


def _check_pure(exported: Any, name: str) -> None:
    signature = exported.graph_signature
    inputs: Sequence[str] = list(signature.user_inputs_to_mutate.values())
    buffers: Sequence[str] = list(signature.buffers_to_mutate.values())
    for kind, names in (("input", inputs), ("buffer", buffers)):
        if names:
            raise StepwellError(
                f"found module {name} that updates {kind} '{names[0]}' in place, expected none of its inputs and buffers "
                "to change; return the new value instead"
            )
