"""Which calls a module has."""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp


def calls_in(module: ModuleOp) -> dict[str, list[func.CallOp]]:
    """The calls of each function that is called, by its name, in textual order."""
    calls: dict[str, list[func.CallOp]] = {}
    for op in module.walk():
        if isinstance(op, func.CallOp):
            calls.setdefault(op.callee.root_reference.data, []).append(op)
    return calls


def is_private(function: func.FuncOp) -> bool:
    """Whether only the functions of its module can call it."""
    return function.sym_visibility is not None and function.sym_visibility.data == "private"
