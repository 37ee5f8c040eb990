"""Which calls a module has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import get_args

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr
from xdsl.ir import Block

from .operations import blocks_of, operations_in, operations_of

BETWEEN_KERNELS = scf.ForOp | scf.WhileOp | scf.IfOp
"""Control flow of programs between calls of kernels, whose iterations run one after another."""

_BETWEEN_KERNELS = frozenset(get_args(BETWEEN_KERNELS))


def calls_in(module: ModuleOp) -> dict[str, list[func.CallOp]]:
    """The calls of each function that is called, by its name, in textual order."""
    calls: dict[str, list[func.CallOp]] = {}
    for op in operations_in(module):
        if type(op) is func.CallOp:
            calls.setdefault(op.callee.root_reference.data, []).append(op)
    return calls


def calls_of_kernels(block: Block) -> Iterator[func.CallOp]:
    """The calls of a block of a program, in the loops and branches between kernels too."""
    for op in operations_of(block):
        if type(op) is func.CallOp:
            yield op
        elif op.regions and type(op) in _BETWEEN_KERNELS:
            for inner in blocks_of(op):
                yield from calls_of_kernels(inner)


def calls_in_program(function: func.FuncOp) -> Iterator[func.CallOp]:
    """The calls of kernels that a program makes, in the order of its text; it may have several blocks, or none."""
    for block in function.body.blocks:
        yield from calls_of_kernels(block)


def is_private(function: func.FuncOp) -> bool:
    """Whether only the functions of its module can call it."""
    return function.sym_visibility is not None and function.sym_visibility.data == "private"


def only_called(module: ModuleOp, calls: Mapping[str, object]) -> list[func.FuncOp]:
    """The private functions of one block that are called, and not used otherwise: what they take can be changed."""
    used = {
        attribute.root_reference.data
        for op in operations_in(module)
        if type(op) is not func.CallOp
        for attribute in (*op.properties.values(), *op.attributes.values())
        if type(attribute) is SymbolRefAttr
    }
    return [
        op
        for op in module.ops
        if isinstance(op, func.FuncOp)
        and is_private(op)
        and len(op.body.blocks) == 1
        and op.sym_name.data in calls
        and op.sym_name.data not in used
    ]


def functions_by_name(module: ModuleOp) -> dict[str, func.FuncOp]:
    """The functions of a module by name, in textual order."""
    return {op.sym_name.data: op for op in module.ops if isinstance(op, func.FuncOp)}
