"""The program a command is given: a module, from a file of any kind that Stepwell reads."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ..analysis.verify import verify
from ..errors import StepwellError
from ..frontend.text import decode, parse_text, read_bytes
from ..spelling import did_you_mean

_KINDS = (".mlir", ".py")


@dataclass(frozen=True)
class Program:
    """A verified module, and the name of the function to run, when one was named."""

    module: ModuleOp
    entry: str | None


def load_program(
    name: str, ctx: Context, *, entry: str | None = None, shapes: Mapping[str, str] | None = None
) -> Program:
    """
    The program in the file `name`; `-` is text on standard input.

    `FILE.py:FUNCTION`, or FILE.py with `entry`, is a Python function, traced on arguments of the given
    `shapes`, each as `2x3xf32`. Raises StepwellError when the file cannot be read, or is wrong.
    """
    path, _, function = name.rpartition(":") if ".py:" in name else (name, "", None)
    if Path(path).suffix == ".py":
        from .trace_program import trace_program

        read_bytes(path)  # for what is said when it cannot be read
        module, entry = trace_program(path, function or entry, shapes or {}), None
    else:
        module = _parse(name, ctx)
    verify(module)
    return Program(module, entry)


def _parse(name: str, ctx: Context) -> ModuleOp:
    if name == "-":
        return parse_text(decode(sys.stdin.buffer.read(), "<stdin>"), "<stdin>", ctx)
    data = read_bytes(name)
    suffix = Path(name).suffix
    if suffix == ".onnx":
        raise StepwellError(
            "found an ONNX model, which this version cannot read yet, expected a .mlir or .py file; "
            "convert it",
            where=name,
        )
    if suffix != ".mlir":
        remedy = did_you_mean(suffix, _KINDS, "rename or convert it")
        raise StepwellError(
            f"found a file ending in '{suffix}', expected one of {', '.join(_KINDS)}; {remedy}",
            where=name,
        )
    return parse_text(decode(data, name), name, ctx)
