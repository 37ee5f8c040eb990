"""Which functions of a level-5 module are compiled by themselves: kernels, with what only they use."""

from __future__ import annotations

from collections import defaultdict
from typing import TypeAlias

from xdsl.dialects import llvm
from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr

from ..analysis.operations import operations_of_kinds
from ..dialects.loop import LOAD
from ..dialects.resources import INLINE_LIMIT
from ..frozen import frozen
from .emit_globals import elements

Symbol: TypeAlias = llvm.FuncOp | llvm.GlobalOp


@frozen
class KernelPart:
    """A function that only the program around it calls, and what it reaches."""

    kernel: llvm.FuncOp
    local: tuple[Symbol, ...]
    """functions that nothing else uses, and constants in the text"""
    shared: tuple[llvm.GlobalOp, ...]
    """those of the constants that others use too"""
    declared: tuple[llvm.FuncOp, ...]
    """functions that are defined nowhere in the module"""


def kernel_parts(module: ModuleOp) -> list[KernelPart]:
    """
    The kernels of a module that can be compiled apart from it, in order.

    Such a kernel is local to the module, called by functions that are not or run at load, and otherwise unused. What it reaches is
    its own: functions and constants in the text that nothing else uses, and declarations. A kernel that
    reaches data from outside of the text is none, as that is bound by name to one program: it is to be an argument.
    """
    uses = _Uses(module)
    parts = [uses.part(op) for op in uses.symbols.values() if isinstance(op, llvm.FuncOp)]
    return [part for part in parts if part is not None]


_NAMING = frozenset((llvm.AddressOfOp, llvm.CallOp))
"""The operations with a translation to LLVM IR that name symbols."""


class _Uses:
    """The symbols of a module, and which uses which."""

    def __init__(self, module: ModuleOp):
        ops = [op for op in module.ops if isinstance(op, llvm.FuncOp | llvm.GlobalOp)]
        self.symbols: dict[str, Symbol] = {op.sym_name.data: op for op in ops}
        self._used: dict[str, set[str]] = {}
        self._users: defaultdict[str, set[str]] = defaultdict(set)
        self._passed: set[str] = set()
        """functions whose address is taken"""
        for op in ops:
            self._add_uses(op)

    def _add_uses(self, op: Symbol) -> None:
        used = self._used[op.sym_name.data] = set[str]()
        for inner in operations_of_kinds(op, _NAMING):
            for attribute in inner.properties.values():
                if type(attribute) is SymbolRefAttr:
                    used.add(attribute.root_reference.data)
                    if type(inner) is llvm.AddressOfOp:
                        self._passed.add(attribute.root_reference.data)
        used &= self.symbols.keys()
        for other in used:
            self._users[other].add(op.sym_name.data)

    def part(self, kernel: llvm.FuncOp) -> KernelPart | None:
        """A function as a kernel, with all it reaches, where it can be apart."""
        name = kernel.sym_name.data
        callers = [self.symbols[user] for user in self._users[name]]
        if not kernel.body.blocks or not _is_local(kernel) or name in self._passed:
            return None
        if not callers or any(_is_local(op) and LOAD not in op.attributes for op in callers):
            return None
        reached = self._reached(name)
        others = [op for other, op in self.symbols.items() if other in reached and other != name]
        declared = tuple(op for op in others if isinstance(op, llvm.FuncOp) and not op.body.blocks)
        local = tuple(op for op in others if op not in declared)
        if not all(map(_may_move, local)):
            return None
        shared = [op for op in local if not self._users[op.sym_name.data] <= reached]
        constants = tuple(op for op in shared if isinstance(op, llvm.GlobalOp))
        if len(constants) < len(shared):
            return None
        return KernelPart(kernel, local, constants, declared)

    def _reached(self, name: str) -> set[str]:
        reached, found = {name}, [name]
        while found:
            new = self._used[found.pop()] - reached
            reached |= new
            found += new
        return reached


def _is_local(op: Symbol) -> bool:
    return op.linkage.linkage.data in ("internal", "private")


def _may_move(op: Symbol) -> bool:
    """Whether it can stand in another module, where nothing outside of it changes it or is bound to it."""
    if isinstance(op, llvm.FuncOp) or op.value is None:
        return _is_local(op) and isinstance(op, llvm.FuncOp)
    array = elements(op)
    is_in_text = array is None or array.size <= INLINE_LIMIT
    return _is_local(op) and op.constant is not None and is_in_text
