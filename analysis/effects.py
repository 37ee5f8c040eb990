"""Effects that cannot be read off an operation's operands: what no dependence analysis sees."""

from __future__ import annotations

from functools import cache

from xdsl.dialects import func, memref
from xdsl.ir import Operation
from xdsl.traits import (
    IsTerminator,
    NoMemoryEffect,
    RecursiveMemoryEffect,
    SymbolTable,
    get_effects,
)

from .constants import constant_global
from .operations import operations_in

_CONFINED = ("arith", "loop", "math", "memref", "vector")
"""Dialects whose operations touch no memory but their operands."""


def hidden_effects(op: Operation) -> Operation | None:
    """
    The first operation in `op` that may do more than touch the buffers among its operands, or None.

    A call does not when its function is known and only works on its arguments.
    """
    return _find(op, set())


def _find(op: Operation, seen: set[Operation]) -> Operation | None:
    operations = (op, *operations_in(op))
    if all(map(_is_of_confined_dialect, set(map(type, operations)))):
        return None  # as nearly always
    return next((inner for inner in operations if _is_hidden(inner, seen)), None)


@cache
def _is_of_confined_dialect(kind: type[Operation]) -> bool:
    return kind.name.partition(".")[0] in _CONFINED


@cache
def has_no_effect(kind: type[Operation]) -> bool:
    """Whether operations of a kind do nothing but compute their results: asked of the kind, once."""
    return kind.has_trait(NoMemoryEffect)


def _is_hidden(op: Operation, seen: set[Operation]) -> bool:
    if _is_of_confined_dialect(type(op)):
        return False
    if op.has_trait(IsTerminator) or op.has_trait(RecursiveMemoryEffect):
        return False  # what is inside is asked for itself
    if get_effects(op) is not None:
        return False
    return not (isinstance(op, func.CallOp) and _is_confined(op, seen))


def _is_confined(call: func.CallOp, seen: set[Operation]) -> bool:
    """Whether the called function touches nothing but its arguments and constants."""
    callee = SymbolTable.lookup_symbol(call, call.callee)
    if not isinstance(callee, func.FuncOp) or not callee.body.blocks:
        return False
    if callee in seen:
        return True
    seen.add(callee)
    return all(
        not (isinstance(op, memref.GetGlobalOp) and constant_global(op.memref) is None)
        for op in callee.body.walk()
    ) and all(_find(op, seen) is None for block in callee.body.blocks for op in block.ops)
