"""The pass `convert-core-to-llvm`: every function and global of level 4 as one of level 5, in one walk."""

from __future__ import annotations

from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects import func, llvm, memref
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ...analysis.levels import Level
from ...transforms.stepwell_pass import StepwellPass
from .arith import ARITH
from .cf import CF
from .division import DIVISION
from .emitter import Handler, Symbols, unsupported
from .func import FUNC, convert_function
from .math import MATH
from .memref import MEMREF, convert_global
from .memref_views import MEMREF_VIEWS
from .scf import SCF
from .vector import VECTOR

HANDLERS: dict[type[Operation], Handler] = {
    **ARITH,
    **DIVISION,
    **CF,
    **FUNC,
    **MATH,
    **MEMREF,
    **MEMREF_VIEWS,
    **SCF,
    **VECTOR,
}
"""What every operation of level 4 becomes; one that is not here is refused."""


class ConvertCoreToLLVMPass(StepwellPass):
    """
    Lower scf, cf, arith, math, memref, vector and func to the llvm dialect.

    Raises StepwellError for an operation or type without a rule, and leaves the module as it was.
    """

    name = "convert-core-to-llvm"
    level_in: ClassVar[Level] = Level.CORE
    level_out: ClassVar[Level] = Level.LLVM

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        lowered = lowered_to_llvm(op)
        op.detach_region(op.body)
        op.add_region(lowered.detach_region(lowered.body))


def lowered_to_llvm(module: ModuleOp) -> ModuleOp:
    """
    The level-5 module for a level-4 one, which is left as it is.

    Raises StepwellError for an operation or type without a rule.
    """
    functions = [op for op in module.ops if isinstance(op, func.FuncOp)]
    symbols = Symbols({function.sym_name.data: function.function_type for function in functions})
    converted = [_convert_symbol(op, symbols) for op in module.ops]
    return ModuleOp([*symbols.declared.values(), *converted], attributes=dict(module.attributes))


def _convert_symbol(op: Operation, symbols: Symbols) -> Operation:
    match op:
        case func.FuncOp():
            return convert_function(op, HANDLERS, symbols)
        case memref.GlobalOp():
            return convert_global(op)
        case llvm.FuncOp() | llvm.GlobalOp():
            return op.clone()
        case _:
            raise unsupported(op)
