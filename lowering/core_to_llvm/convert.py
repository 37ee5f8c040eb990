"""The pass `convert-core-to-llvm`: every function and global of level 4 as one of level 5, in one walk."""

from __future__ import annotations

from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects import func, llvm, memref
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ...analysis.levels import Level
from ...frozen import frozen
from ...transforms.stepwell_pass import StepwellPass
from .arith import ARITH
from .cf import CF
from .division import DIVISION
from .emitter import Handler, unsupported
from .float_to_integer import FLOAT_TO_INTEGER
from .func import FUNC, convert_function
from .math import MATH
from .memref import MEMREF, convert_global
from .memref_views import MEMREF_VIEWS
from .remainder import REMAINDER
from .scf import SCF
from .symbols import Symbols
from .vector import VECTOR

HANDLERS: dict[type[Operation], Handler] = {
    **ARITH,
    **DIVISION,
    **FLOAT_TO_INTEGER,
    **CF,
    **FUNC,
    **MATH,
    **MEMREF,
    **MEMREF_VIEWS,
    **REMAINDER,
    **SCF,
    **VECTOR,
}
"""What every operation of level 4 becomes; one that is not here is refused."""


@frozen
class ConvertCoreToLLVMPass(StepwellPass):
    """
    Lower scf, cf, arith, math, memref, vector and func to the llvm dialect.

    An scf.parallel runs on `threads` threads: its body becomes a private function that is passed to
    `GOMP_parallel`. 0 threads are as many as `omp_get_max_threads` says when the code runs; for 1 there is
    no call, but a loop. See parallel.py for what stays a loop in any case.

    `vector_bits` are those of a vector register: a masked load of more, and a store, is one for each register. For 0 it stays one.
    With `own_loads` an element that goes into all lanes of two registers is loaded for each of them: see advancing.py.

    Raises StepwellError for an operation or type without a rule, and leaves the module as it was.
    """

    name = "convert-core-to-llvm"
    level_in: ClassVar[Level] = Level.CORE
    level_out: ClassVar[Level] = Level.LLVM
    zero_has_meaning = frozenset({"threads", "vector_bits"})

    threads: int = 0
    vector_bits: int = 0
    own_loads: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        lowered = lowered_to_llvm(op, self.threads, self.vector_bits, own_loads=self.own_loads)
        op.detach_region(op.body)
        op.add_region(lowered.detach_region(lowered.body))


def lowered_to_llvm(
    module: ModuleOp, threads: int = 0, vector_bits: int = 0, *, own_loads: bool = False
) -> ModuleOp:
    """
    The level-5 module for a level-4 one, which is left as it is.

    `threads`, `vector_bits` and `own_loads` are what the pass says of them.

    Raises StepwellError for an operation or type without a rule.
    """
    functions = [op for op in module.ops if isinstance(op, func.FuncOp)]
    types = {function.sym_name.data: function.function_type for function in functions}
    symbols = Symbols(types, threads, vector_bits, own_loads=own_loads)
    converted = [_convert_symbol(op, symbols) for op in module.ops]
    added = (*symbols.declared.values(), *symbols.outlined)
    return ModuleOp([*added, *converted], attributes=dict(module.attributes))


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
