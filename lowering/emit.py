"""
Level 5 to LLVM IR, as text: the declarations of a module, and the blocks of its functions.

Written as text directly, from a table (emit_operations.py). xDSL's LLVM backend makes objects of llvmlite, which then
print themselves: that took seven times as long, a tenth of what compiling a kernel took outside of LLVM. Types are
translated with the backend still.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np
from xdsl.dialects import llvm
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, ModuleOp

from ..dialects.resources import INLINE_LIMIT
from .c_names import check_names
from .emit_function import FunctionWriter, ModuleParts
from .emit_globals import elements, global_line
from .emit_operations import HANDLERS
from .emit_values import symbol, type_of, untranslatable

EXTERNAL_ALIGNMENT = 64
"""Bytes; of the arrays that external constants are bound to, which runtime/engine.py sees to."""

Constants: TypeAlias = Literal["external", "embedded"]
"""
Where the bytes of large constants are: outside the text, bound to a symbol when the code is loaded (for
running in this process), or in it (for object files).
"""


@dataclass(frozen=True)
class LLVMText:
    """
    A module of LLVM IR, the arrays that its external constants must be bound to, and the functions it
    calls but does not define.
    """

    text: str
    external: dict[str, np.ndarray] = field(default_factory=dict[str, np.ndarray])
    imports: tuple[str, ...] = ()

    @property
    def has_vectors(self) -> bool:
        """Whether it works on vectors: a schedule has made them, and LLVM need not look for more."""
        return re.search(r"<\d+ x ", self.text) is not None


def emit_llvm(module: ModuleOp, *, triple: str = "", constants: Constants = "embedded") -> LLVMText:
    """
    The LLVM IR of a level-5 module.

    Raises StepwellError, naming it, for an operation that is not of level 5 or has no translation.
    """
    lines = [f'target triple = "{triple}"'] if triple else []
    functions: dict[str, llvm.FuncOp] = {}
    external: dict[str, np.ndarray] = {}
    for op in module.ops:
        match op:
            case llvm.GlobalOp():
                lines.append(_global(op, constants, external))
            case llvm.FuncOp():
                functions[op.sym_name.data] = op
            case _:
                raise untranslatable(op, "is not of level 5; run convert-core-to-llvm first")
    parts = ModuleParts(functions)
    for function in functions.values():
        lines += _function(function, parts)
    check_names(functions.values(), parts.intrinsics, parts.generated)
    lines += parts.intrinsics.values()
    lines += (f"!{number} = {node}" for number, node in enumerate(parts.metadata))
    defined = {name for name, function in functions.items() if function.body.blocks}
    imports = tuple(sorted(parts.called - defined))
    return LLVMText("\n".join((*lines, "")), external, imports)


def _global(op: llvm.GlobalOp, constants: Constants, external: dict[str, np.ndarray]) -> str:
    """A constant is a typed list when small, raw bytes or an external symbol, put into `external`, when large."""
    if op.body.blocks:
        raise untranslatable(op, "has an initializer region; give it a value")
    array = elements(op)
    alignment = op.alignment.value.data if op.alignment is not None else None
    if array is None or array.size <= INLINE_LIMIT:
        return global_line(op, None, is_bound=False, alignment=alignment)
    if op.constant is None or constants == "embedded":
        return global_line(op, array, is_bound=False, alignment=alignment)
    external[op.sym_name.data] = array
    if alignment is not None:
        alignment = min(alignment, EXTERNAL_ALIGNMENT)
    return global_line(op, None, is_bound=True, alignment=alignment)


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
    if not op.body.blocks:
        parameters = [f"{type_}{words}" for type_, words in zip(types, attributes, strict=True)]
        return [f"declare {_head(op, result, parameters)}"]
    writer = FunctionWriter(op, parts, HANDLERS)
    parameters = [
        f"{type_}{words} {name}"
        for type_, words, name in zip(types, attributes, writer.arguments(), strict=True)
    ]
    linkage = op.linkage.linkage.data
    words = "define" if linkage == "external" else f"define {linkage}"
    return [f"{words} {_head(op, result, parameters)} {{", *writer.lines(), "}"]


def _head(op: llvm.FuncOp, result: str, parameters: list[str]) -> str:
    variadic = ["..."] if op.function_type.is_variadic else []
    return f"{result} {symbol(op.sym_name.data)}({', '.join(parameters + variadic)}) nounwind"


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
