"""
Level 5 to LLVM IR, as text: a program in one module, or with its kernels in modules of their own.

Written as text directly, from a table (emit_operations.py). xDSL's LLVM backend makes objects of llvmlite, which then
print themselves: that took seven times as long, a tenth of what compiling a kernel took outside of LLVM. Types are
translated with the backend still.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any

from xdsl.dialects import llvm
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ..dialects.loop import LOAD
from ..dialects.resources import aligned_copy
from ..frozen import frozen
from .c_names import check_names
from .emit_function import ModuleParts
from .emit_module import Constants, Outside, module_lines
from .kernel_parts import KernelPart, Symbol, kernel_parts
from .llvm_text import LLVMText

_KERNEL = "stepwell.kernel"
"""What a kernel in a module of its own is called until its digest is known, which then follows."""

_DIGEST = 32
"""Hexadecimal digits of it: 128 bits."""


_PRIORITY = 65535
"""Of constructors: the usual one, as C++ compilers give to those of globals."""


@frozen
class EmittedKernels:
    """Kernels in modules of their own."""

    texts: Mapping[str, str] = field(default_factory=dict[str, str])
    """by the name of the function that each defines; equal names mean equal text"""
    imports: frozenset[str] = frozenset()
    """functions that they call and do not define"""
    intrinsics: frozenset[str] = frozenset()
    generated: frozenset[str] = frozenset()
    """C functions that instructions become calls of"""

    @staticmethod
    def of(said: Mapping[str, Any]) -> EmittedKernels:
        """What `dataclasses.asdict` says, or JSON of that."""
        names = (frozenset(said[which]) for which in ("imports", "intrinsics", "generated"))
        return EmittedKernels(said["texts"], *names)

    @staticmethod
    def joined(kernels: Iterable[EmittedKernels]) -> EmittedKernels:
        """All kernels of several."""
        found = tuple(kernels)
        return EmittedKernels(
            {name: text for one in found for name, text in one.texts.items()},
            frozenset[str]().union(*(one.imports for one in found)),
            frozenset[str]().union(*(one.intrinsics for one in found)),
            frozenset[str]().union(*(one.generated for one in found)),
        )


def emit_llvm(
    module: ModuleOp,
    *,
    triple: str = "",
    constants: Constants = "embedded",
    kernels_apart: bool = False,
    compiled: EmittedKernels | None = None,
) -> LLVMText:
    """
    The LLVM IR of a level-5 module.

    With `kernels_apart`, kernels stand in modules of their own (see kernel_parts.py), which have no names of the
    program in them: kernels that are equal but for names are one, in this program and among programs. `compiled` are
    kernels that the module declares, and that are emitted already.

    Raises StepwellError, naming it, for an operation that is not of level 5 or has no translation.
    """
    head = _head(triple)
    functions = {op.sym_name.data: op for op in module.ops if isinstance(op, llvm.FuncOp)}
    load = [op for op in functions.values() if LOAD in op.attributes]
    is_bound = constants == "external"
    program = ModuleParts(functions, exported=frozenset(load if is_bound else ()))
    emitted = [program]
    compiled = compiled or EmittedKernels()
    kernels = dict(compiled.texts)
    left_out: set[Operation] = set()
    for part in kernel_parts(module) if kernels_apart else ():
        name, text, parts = _kernel(part, head)
        emitted.append(parts)
        # Of those that are equal, the first is declared.
        (left_out if name in kernels else program.elsewhere).add(part.kernel)
        left_out.update(set(part.local).difference(part.shared))
        kernels[name] = text
        program.renamed[part.kernel.sym_name.data] = name
    outside = Outside()
    operations = (op for op in module.ops if op not in left_out)
    lines = module_lines(operations, program, constants, outside)
    names = tuple(op.sym_name.data for op in load)
    if load and not is_bound:
        lines.append(_constructors([program.symbol(name) for name in names]))
    text = head + "\n".join((*lines, ""))
    for parts in (*emitted, compiled):
        check_names(functions.values(), parts.intrinsics, parts.generated)
    imports = compiled.imports.union(*(parts.imports for parts in emitted))
    until_loaded = {n for n in outside.constants if program.addressed.get(n, set()) <= set(names)}
    for name in outside.lent - until_loaded:
        outside.constants[name] = aligned_copy(outside.constants[name])
    return LLVMText(
        text,
        outside.constants,
        tuple(sorted(imports - kernels.keys())),
        kernels,
        outside.buffers,
        names if is_bound else (),
        frozenset(until_loaded),
        frozenset(outside.lent & until_loaded),
    )


def _head(triple: str) -> str:
    return f'target triple = "{triple}"\n' if triple else ""


def emit_kernels(
    module: ModuleOp, names: Collection[str], triple: str
) -> tuple[EmittedKernels, dict[str, str]]:
    """
    Functions of a level-5 module that stand in modules of their own, and what each is called there.

    Those of `names` that cannot be apart are left out. Raises StepwellError as `emit_llvm` does.
    """
    head = _head(triple)
    texts: dict[str, str] = {}
    called: dict[str, str] = {}
    imports, intrinsics, generated = set[str](), set[str](), set[str]()
    for part in kernel_parts(module):
        if part.kernel.sym_name.data not in names:
            continue
        name, text, parts = _kernel(part, head)
        texts[name], called[part.kernel.sym_name.data] = text, name
        imports |= parts.imports
        intrinsics.update(parts.intrinsics)
        generated |= parts.generated
    sets = (frozenset(found) for found in (imports, intrinsics, generated))
    return EmittedKernels(texts, *sets), called


def _constructors(functions: Sequence[str]) -> str:
    """Functions that the system's loader runs, in order, before anything can call the code."""
    type_ = f"[{len(functions)} x {{ i32, ptr, ptr }}]"
    items = (f"{{ i32, ptr, ptr }} {{ i32 {_PRIORITY}, ptr {f}, ptr null }}" for f in functions)
    return f"@llvm.global_ctors = appending global {type_} [{', '.join(items)}]"


def _kernel(part: KernelPart, head: str) -> tuple[str, str, ModuleParts]:
    """The name that a kernel has from its text, and its module, in which names are numbers."""
    renamed = {op.sym_name.data: f"{_KERNEL}.{number}" for number, op in enumerate(part.local)}
    renamed |= {part.kernel.sym_name.data: _KERNEL}
    operations: tuple[Symbol, ...] = (*part.declared, *part.local, part.kernel)
    functions = {op.sym_name.data: op for op in operations if isinstance(op, llvm.FuncOp)}
    parts = ModuleParts(
        functions, renamed=renamed, has_hints=False, exported=frozenset((part.kernel,))
    )
    lines = module_lines(operations, parts, "embedded", Outside())
    text = head + "\n".join((*lines, ""))
    name = f"{_KERNEL}.{hashlib.sha256(text.encode()).hexdigest()[:_DIGEST]}"
    return name, text.replace(f"@{_KERNEL}", f"@{name}"), parts
