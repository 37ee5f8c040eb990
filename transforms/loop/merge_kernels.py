"""loop-merge-kernels: kernels that are equal but for their names, as one."""

from __future__ import annotations

from collections import defaultdict

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr

from ...analysis.calls import calls_in, only_called
from ...analysis.levels import Level
from ...analysis.operations import operations_in
from ...analysis.structure import Numbered, Structure, structure
from ...frozen import frozen
from ..remarks import remark
from ..stepwell_pass import StepwellPass


@frozen
class LoopMergeKernelsPass(StepwellPass):
    """
    Merge kernels that are equal but for their names, so that each is scheduled and compiled once.

    Before: `@main` calls `@q(%x, %wq, %y)` and `@k(%x, %wk, %z)`, which compute the same of what they are given.
    After: it calls `@q` twice. Only private functions that are called and not used otherwise are merged: those
    that te → loop makes.
    """

    name = "loop-merge-kernels"
    level_in = Level.LOOP
    level_out = Level.LOOP

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        calls = calls_in(op)
        functions = only_called(op, calls) if len(calls) > 1 else []
        alike: defaultdict[object, list[func.FuncOp]] = defaultdict(list)
        for function in functions:
            alike[function.function_type, len(operations_in(function))].append(function)
        groups: defaultdict[Structure, list[func.FuncOp]] = defaultdict(list)
        said = Numbered()
        # Of a kernel whose size or types no other has, the structure need not be read.
        for function in (one for same in alike.values() if len(same) > 1 for one in same):
            groups[structure(function, loop_names=False, said=said)].append(function)
        for first, *others in groups.values():
            for other in others:
                for call in calls[other.sym_name.data]:
                    call.callee = SymbolRefAttr(first.sym_name)
                remark(first, f"'{other.sym_name.data}' is the same kernel, and is compiled once")
                other.detach()
                other.erase()
