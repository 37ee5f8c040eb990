"""
Level 5 to LLVM IR, as text: a program in one module, or with its kernels in modules of their own.

Written as text directly, from a table (emit_operations.py). xDSL's LLVM backend makes objects of llvmlite, which then
print themselves: that took seven times as long, a tenth of what compiling a kernel took outside of LLVM. Types are
translated with the backend still.
"""

from __future__ import annotations

import hashlib

import numpy as np
from xdsl.dialects import llvm
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from .c_names import check_names
from .emit_function import ModuleParts
from .emit_module import Constants, module_lines
from .kernel_parts import KernelPart, Symbol, kernel_parts
from .llvm_text import LLVMText

_KERNEL = "stepwell.kernel"
"""What a kernel in a module of its own is called until its digest is known, which then follows."""

_DIGEST = 32
"""Hexadecimal digits of it: 128 bits."""


def emit_llvm(
    module: ModuleOp,
    *,
    triple: str = "",
    constants: Constants = "embedded",
    kernels_apart: bool = False,
) -> LLVMText:
    """
    The LLVM IR of a level-5 module.

    With `kernels_apart`, kernels stand in modules of their own (see kernel_parts.py), which have no names of the
    program in them: kernels that are equal but for names are one, in this program and among programs.

    Raises StepwellError, naming it, for an operation that is not of level 5 or has no translation.
    """
    head = f'target triple = "{triple}"\n' if triple else ""
    functions = {op.sym_name.data: op for op in module.ops if isinstance(op, llvm.FuncOp)}
    program = ModuleParts(functions)
    emitted = [program]
    kernels: dict[str, str] = {}
    left_out: set[Operation] = set()
    for part in kernel_parts(module) if kernels_apart else ():
        name, text, parts = _kernel(part, head)
        emitted.append(parts)
        # Of those that are equal, the first is declared.
        (left_out if name in kernels else program.elsewhere).add(part.kernel)
        left_out.update(set(part.local).difference(part.shared))
        kernels[name] = text
        program.renamed[part.kernel.sym_name.data] = name
    external: dict[str, np.ndarray] = {}
    operations = (op for op in module.ops if op not in left_out)
    text = head + "\n".join((*module_lines(operations, program, constants, external), ""))
    for parts in emitted:
        check_names(functions.values(), parts.intrinsics, parts.generated)
    imports = sorted(set[str]().union(*(parts.imports for parts in emitted)))
    return LLVMText(text, external, tuple(imports), kernels)


def _kernel(part: KernelPart, head: str) -> tuple[str, str, ModuleParts]:
    """The name that a kernel has from its text, and its module, in which names are numbers."""
    renamed = {op.sym_name.data: f"{_KERNEL}.{number}" for number, op in enumerate(part.local)}
    renamed |= {part.kernel.sym_name.data: _KERNEL}
    operations: tuple[Symbol, ...] = (*part.declared, *part.local, part.kernel)
    functions = {op.sym_name.data: op for op in operations if isinstance(op, llvm.FuncOp)}
    parts = ModuleParts(functions, renamed=renamed, has_hints=False, exported=part.kernel)
    lines = module_lines(operations, parts, "embedded", {})
    text = head + "\n".join((*lines, ""))
    name = f"{_KERNEL}.{hashlib.sha256(text.encode()).hexdigest()[:_DIGEST]}"
    return name, text.replace(f"@{_KERNEL}", f"@{name}"), parts
