"""Level 5 to LLVM IR, as text: the globals of a module, and its functions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from typing import Literal, TypeAlias, cast

import numpy as np
from xdsl.dialects import llvm
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr
from xdsl.ir import Operation

from ..dialects.resources import INLINE_LIMIT, ElementsAttr, is_lent
from ..frozen import frozen
from .emit_function import FunctionWriter, ModuleParts
from .emit_globals import bytes_without_contents, elements, global_line
from .emit_operations import HANDLERS
from .emit_values import type_of, untranslatable
from .llvm_text import EXTERNAL_ALIGNMENT, SCALAR_LOOPS

Constants: TypeAlias = Literal["external", "embedded"]
"""
Where the bytes of large constants and the memory of globals are: outside the text, bound to a symbol when the code
is loaded (for running in this process), or in it (for object files).
"""


@frozen
class Outside:
    """What is bound to symbols when the code is loaded: arrays, and memory of so many bytes."""

    constants: dict[str, np.ndarray] = field(default_factory=dict[str, np.ndarray])
    lent: set[str] = field(default_factory=set[str])
    """the constants whose memory is somebody else's"""
    buffers: dict[str, int] = field(default_factory=dict[str, int])


def module_lines(
    operations: Iterable[Operation],
    parts: ModuleParts,
    constants: Constants,
    outside: Outside,
) -> list[str]:
    """
    The lines of globals and functions, and of what they are found to need.

    What is not in the text is put into `outside`.
    """
    lines: list[str] = []
    functions: list[llvm.FuncOp] = []
    for op in operations:
        match op:
            case llvm.GlobalOp():
                lines.append(_global(op, parts, constants, outside))
            case llvm.FuncOp():
                functions.append(op)
            case _:
                raise untranslatable(op, "is not of level 5; run convert-core-to-llvm first")
    for function in functions:
        lines += _function(function, parts)
    lines += [SCALAR_LOOPS] if parts.has_scalar_loops else []
    lines += parts.intrinsics.values()
    lines += (f"!{number} = {node}" for number, node in enumerate(parts.metadata))
    return lines


def _global(op: llvm.GlobalOp, parts: ModuleParts, constants: Constants, outside: Outside) -> str:
    """
    A constant is a typed list when small, raw bytes or an external symbol when large; what has no contents is zero
    or an external symbol.
    """
    if op.body.blocks:
        raise untranslatable(op, "has an initializer region; give it a value")
    array = elements(op)
    alignment = op.alignment.value.data if op.alignment is not None else None
    if alignment is not None and constants == "external":
        alignment = min(alignment, EXTERNAL_ALIGNMENT)
    size = bytes_without_contents(op) if constants == "external" else 0
    if size:
        outside.buffers[op.sym_name.data] = size
        return global_line(op, parts, None, is_bound=True, alignment=alignment)
    if array is None or array.size <= INLINE_LIMIT:
        return global_line(op, parts, None, is_bound=False, alignment=alignment)
    if op.constant is None or constants == "embedded":
        return global_line(op, parts, array, is_bound=False, alignment=alignment)
    outside.constants[op.sym_name.data] = array
    if is_lent(cast(ElementsAttr, op.value)):
        outside.lent.add(op.sym_name.data)
    # What is read at load alone lies where its owner has it.
    return global_line(op, parts, None, is_bound=True, alignment=array.itemsize)


# Functions.

_FLAGS = {
    "llvm.noalias": "noalias",
    "llvm.nocapture": "captures(none)",
    "llvm.nofree": "nofree",
    "llvm.nonnull": "nonnull",
    "llvm.noundef": "noundef",
    "llvm.readonly": "readonly",
    "llvm.returned": "returned",
    "llvm.signext": "signext",
    "llvm.writeonly": "writeonly",
    "llvm.zeroext": "zeroext",
}
_NUMBERS = {
    "llvm.align": "align {}",
    "llvm.dereferenceable": "dereferenceable({})",
    "llvm.dereferenceable_or_null": "dereferenceable_or_null({})",
}


def _function(op: llvm.FuncOp, parts: ModuleParts) -> list[str]:
    """The lines of a function, or the one that declares it."""
    result = type_of(op, op.function_type.output)
    types = [type_of(op, type_) for type_ in op.function_type.inputs.data]
    attributes = _parameter_attributes(op)
    if not op.body.blocks or op in parts.elsewhere:
        parameters = [f"{type_}{words}" for type_, words in zip(types, attributes, strict=True)]
        return [f"declare {_head(op, parts, result, parameters)}"]
    writer = FunctionWriter(op, parts, HANDLERS)
    parameters = [
        f"{type_}{words} {name}"
        for type_, words, name in zip(types, attributes, writer.arguments(), strict=True)
    ]
    linkage = "external" if op in parts.exported else op.linkage.linkage.data
    words = "define" if linkage == "external" else f"define {linkage}"
    return [f"{words} {_head(op, parts, result, parameters)} {{", *writer.lines(), "}"]


def _head(op: llvm.FuncOp, parts: ModuleParts, result: str, parameters: list[str]) -> str:
    variadic = ["..."] if op.function_type.is_variadic else []
    return f"{result} {parts.symbol(op.sym_name.data)}({', '.join(parameters + variadic)}) nounwind"


def _parameter_attributes(op: llvm.FuncOp) -> list[str]:
    """For each parameter, what is known of it; each word after a space."""
    attributes: ArrayAttr[DictionaryAttr] = op.arg_attrs or ArrayAttr(())
    known: list[str] = []
    for dictionary in attributes.data:
        words = ""
        for name, value in dictionary.data.items():
            if name in _FLAGS:
                words += f" {_FLAGS[name]}"
            elif name in _NUMBERS and isinstance(value, IntegerAttr):
                words += f" {_NUMBERS[name].format(value.value.data)}"
            elif name.startswith("llvm."):
                raise untranslatable(op, f"has the parameter attribute '{name}'")
        known.append(words)
    return known + [""] * (len(op.function_type.inputs.data) - len(known))
