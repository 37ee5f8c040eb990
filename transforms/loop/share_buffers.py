"""loop-share-buffers: by which of their dimensions the threads of a program share the buffers between its kernels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, MemRefType, ModuleOp, i64
from xdsl.ir import Attribute, SSAValue

from ...analysis.alias import Aliases
from ...analysis.calls import calls_in, calls_in_program, only_called
from ...analysis.facts import facts_of_loops
from ...analysis.levels import Level
from ...analysis.sharing import Call, Kernel, choose, left_alone, shared
from ...dialects import loop
from ...frozen import frozen
from ...targets.target import Target
from ..remarks import remark
from ..stepwell_pass import StepwellPass


@frozen
class LoopShareBuffersPass(StepwellPass):
    """
    Note along which of their dimensions the program's threads share the buffers between kernels.

    Before: `@dense` writes rows of `%y`, and `@depthwise`, which reads it, could be dealt out by channels too.
    After: both have `{stepwell.shared = 1}` at that argument, and their schedules deal out what threads share so, where that
    is predicted to take less time than lines that go from core to core. Where one thread is predicted to take no longer for all kernels, they
    are `attributes {stepwell.alone}`. With one thread, and where a kernel may not be dealt out, nothing is said.
    """

    name = "loop-share-buffers"
    level_in: ClassVar[Level] = Level.LOOP
    level_out: ClassVar[Level] = Level.LOOP

    target: str | Target = "host"
    opt: str = "full"
    zero_has_meaning = frozenset({"threads"})

    threads: int = 0

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.opt == "quick" or self.threads == 1:
            return
        target = Target.of(self.target)
        threads = self.threads or target.cores
        if threads > 1:
            _share(op, target, threads)


def _share(module: ModuleOp, target: Target, threads: int) -> None:
    calls = calls_in(module)
    able = {function.sym_name.data: function for function in only_called(module, calls)}
    if sum(len(calls[name]) for name in able) < 2:
        return
    loops = {name: facts_of_loops(function) for name, function in able.items()}
    kernels = {name: Kernel.of(name, one.facts, target, threads) for name, one in loops.items()}
    found = [call for function in module.ops for call in _calls_of(function, kernels)]
    choose(found, target, threads)
    for name in left_alone(found):
        able[name].attributes[loop.ALONE] = loop.MARK
        remark(able[name], "one thread has all of it: others would wait for what is in its cache")
    for name, dimensions in shared(found, target, threads).items():
        if dimensions:
            buffers = loops[name].buffers
            _mark(able[name], {buffers[n]: dimension for n, dimension in dimensions.items()})


def _calls_of(function: object, kernels: Mapping[str, Kernel]) -> list[Call]:
    """The calls of kernels that a function of the program makes, in the order of its text."""
    if not isinstance(function, func.FuncOp) or not function.body.blocks:
        return []
    aliases = Aliases(function)
    return [
        Call(kernels[name], [aliases.root(one) for one in call.arguments if _is_buffer(one)])
        for call in calls_in_program(function)
        if (name := call.callee.root_reference.data) in kernels
    ]


def _is_buffer(argument: SSAValue) -> bool:
    """Whether facts number it among a kernel's buffers: an index that is given, as that of a step, is none."""
    return isinstance(argument.type, MemRefType)


def _mark(function: func.FuncOp, dimensions: Mapping[SSAValue, int]) -> None:
    arguments = function.body.block.args
    marks = (
        function.arg_attrs.data if function.arg_attrs else (DictionaryAttr({}),) * len(arguments)
    )
    new: list[dict[str, Attribute]] = [dict(mark.data) for mark in marks]
    words: list[str] = []
    for n, argument in enumerate(arguments):
        if argument in dimensions:
            new[n][loop.SHARED] = IntegerAttr(dimensions[argument], i64)
            words.append(f"argument {n} along dimension {dimensions[argument]}")
    function.arg_attrs = ArrayAttr(map(DictionaryAttr, new))
    remark(function, f"threads share {', '.join(words)}")
