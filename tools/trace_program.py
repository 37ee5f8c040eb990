"""Tracing a function of a Python file, for the command line."""

from __future__ import annotations

import importlib.util
import inspect
import sys
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from ..errors import StepwellError
from ..spelling import did_you_mean, few_names, one_line
from .shape_text import DTYPES, parse_shape


def trace_program(path: str, name: str | None, shapes: Mapping[str, str]) -> ModuleOp:
    """
    The graph of the function `name` of the file `path` on arguments of the given `shapes` (`2x3xf32`), whose results are the
    tensors in what it returns, in order, as for `jit`.

    Without a name it is the file's only function made by `stepwell.jit`, or else its only function.
    Raises StepwellError for a file that fails, at its line, and for missing or malformed shapes.
    """
    from ..frontend.arrays import is_array
    from ..frontend.promotion import is_scalar
    from ..frontend.recording import as_tensor
    from ..frontend.structure import flatten
    from ..frontend.tensor import Tensor
    from ..frontend.tracing import Trace

    function = _choose(_run_file(path), name, path)
    parameters = _parameters(function, path)
    for extra in shapes.keys() - set(parameters):
        raise StepwellError(
            f"found a shape for '{extra}', expected an argument of '{function.__name__}'; "
            f"{did_you_mean(extra, parameters, few_names('it has', parameters, 'see its definition'))}",
            where=path,
        )
    arguments = [(argument, *_shape(argument, shapes, path)) for argument in parameters]
    with Trace() as trace:
        tensors = [trace.argument(shape, dtype, argument) for argument, shape, dtype in arguments]
        try:
            returned = function(*tensors)
        except StepwellError:
            raise
        except Exception as error:
            raise _failure(path, error) from error
        leaves: list[tuple[str, Any]] = []
        flatten(returned, "result", leaves)
        for place, leaf in leaves:
            if not isinstance(leaf, Tensor) and not is_array(leaf) and not is_scalar(leaf):
                raise StepwellError(
                    f"found '{function.__name__}' returning a {type(leaf).__name__} as {place}, expected tensors; return "
                    "what is computed from the arguments",
                    where=path,
                )
        if not leaves:
            raise StepwellError(
                f"found '{function.__name__}' returning no tensor, expected at least one; return one",
                where=path,
            )
        results = [as_tensor(leaf) for _, leaf in leaves]
    return trace.module(results)


def _run_file(path: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"program_{Path(path).stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look for it
    sys.path.insert(0, str(Path(path).resolve().parent))  # as `python FILE` does
    try:
        spec.loader.exec_module(module)
    except StepwellError:
        raise
    except SyntaxError as error:
        raise StepwellError(
            f"found {error.msg}, expected valid Python; mend the line",
            where=f"{path}:{error.lineno or 1}:{error.offset or 1}",
        ) from error
    except Exception as error:
        raise _failure(path, error) from error
    finally:
        sys.path.pop(0)
    return module


def _failure(path: str, error: Exception) -> StepwellError:
    """An exception of the user's code, at the last line of the file that it came through."""
    frames = traceback.extract_tb(error.__traceback__)
    here = [frame for frame in frames if Path(frame.filename).resolve() == Path(path).resolve()]
    where = f"{path}:{here[-1].lineno}:{(here[-1].colno or 0) + 1}" if here else path
    reason = one_line(f"{type(error).__name__}: {error}")
    return StepwellError(f"found {reason}, expected the file to run; mend it", where=where)


def _choose(module: ModuleType, name: str | None, path: str) -> Callable[..., Any]:
    """The function itself, below any decorator."""
    own = {
        key: value
        for key, value in vars(module).items()
        if callable(value)
        and inspect.isfunction(inspect.unwrap(value))
        and inspect.unwrap(value).__module__ == module.__name__
    }
    if name is not None:
        if name not in own:
            has = few_names("it has", own, "name one of those it defines")
            raise StepwellError(
                f"found no function '{name}', expected one of the file's; "
                f"{did_you_mean(name, own, has)}",
                where=path,
            )
        return inspect.unwrap(own[name])
    traced = [value for value in own.values() if not inspect.isfunction(value)]
    candidates = traced or list(own.values())
    if len(candidates) != 1:
        raise StepwellError(
            f"found {len(candidates)} functions, expected one; name it as in {path}:NAME "
            f"({', '.join(own) or 'there is none'})",
            where=path,
        )
    return inspect.unwrap(candidates[0])


def _parameters(function: Callable[..., Any], path: str) -> list[str]:
    """The arguments without defaults, by name."""
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    names: list[str] = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.default is not inspect.Parameter.empty:
            continue
        if parameter.kind not in positional:
            raise StepwellError(
                f"found parameter '{parameter}' of '{function.__name__}', expected named positional "
                "ones; wrap it in a function that has them",
                where=path,
            )
        names.append(parameter.name)
    return names


def _shape(
    argument: str, shapes: Mapping[str, str], path: str
) -> tuple[tuple[int, ...], np.dtype[Any]]:
    if argument not in shapes:
        raise StepwellError(
            f"found no shape for argument '{argument}', expected one to trace with; "
            f"give --shape {argument}=2x3xf32, or --input {argument}=FILE.npy",
            where=path,
        )
    option = f"--shape {argument}={shapes[argument]}"
    shape, dtype = parse_shape(shapes[argument], option)
    if dtype is None:
        raise StepwellError(
            f"found {option}, expected extents and a dtype as in 2x3xf32; "
            f"write it so, with one of {', '.join(DTYPES)}"
        )
    return shape, dtype
