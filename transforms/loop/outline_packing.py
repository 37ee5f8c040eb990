"""Copies of constants made when the program is loaded: each by a function that fills a buffer which is kept."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith, func, memref
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    ModuleOp,
    NoneAttr,
)
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import is_side_effect_free

from ...analysis.calls import calls_in, only_called
from ...analysis.constants import constant_global, is_constant_argument
from ...analysis.levels import Level
from ...analysis.operations import operands_of, operations_in, operations_of
from ...analysis.structure import Structure, structure
from ...dialects import loop
from ...dialects.leaf_operations import copy_of, function_type
from ...dialects.resources import INLINE_LIMIT
from ...dialects.shaped import memref_type
from ...frozen import frozen
from ..remarks import remark
from ..step_support.load_time import LoadTime, erase_unused
from ..stepwell_pass import StepwellPass

MOST_GROWTH = 2
"""How many times the elements of the constants a kept buffer may have: padding less than doubles them."""


@frozen
class Packing:
    """A buffer, the nests that fill it, and the constants these read, in the order of their first loads."""

    alloc: loop.AllocOp
    nests: tuple[Operation, ...]
    sources: tuple[SSAValue, ...]

    @property
    def name(self) -> str:
        return loop.buffer_name(self.alloc.buffer) or "buffer"


# Sets of kinds: their classes are abstract, and take long to ask.
_ACCESSES = frozenset((loop.StoreOp, loop.LoadOp, loop.PrefetchOp))
_OF_NESTS = frozenset((loop.ForOp, loop.IfOp, loop.YieldOp, loop.LoadOp, loop.StoreOp))


def plan_packing(alloc: loop.AllocOp) -> Packing | str | None:
    """
    How a buffer is filled from constants; why it is not filled at load though it is; None when it is not.

    It is when the only nests that store to it, in the block that makes it, read nothing but constants and
    run before everything else that reads it.
    """
    type_ = alloc.buffer.type
    uses = [use.operation for use in alloc.buffer.uses]
    stores = [op for op in uses if type(op) is loop.StoreOp]
    is_plain = type_.has_static_shape() and isinstance(type_.layout, NoneAttr)
    if not stores or not is_plain or alloc.scope.data is loop.Scope.REGISTER:
        return None
    if not _ACCESSES.issuperset(map(type, uses)):
        return None
    block = alloc.parent
    assert block is not None
    found = dict.fromkeys(block.find_ancestor_op_in_block(op) for op in stores)
    nests = tuple(op for op in operations_of(block) if op in found)
    sources = _constants_read(nests, alloc.buffer)
    if not sources:
        return None
    users = {block.find_ancestor_op_in_block(op) for op in uses} - set(nests)
    if any(op is not None and op.is_before_in_block(nests[-1]) for op in users):
        return "it is read before all of it is stored"
    count = prod(type_.get_shape())
    total = sum(prod(memref_type(buffer).get_shape()) for buffer in sources)
    if count > max(MOST_GROWTH * total, INLINE_LIMIT):
        return f"it would make {count} elements of {total}"
    return Packing(alloc, nests, tuple(sources))


def _constants_read(nests: Sequence[Operation], buffer: SSAValue) -> list[SSAValue]:
    """The constants that the nests load from; none when they do anything else but store to the buffer."""
    operations = [(op, nest) for nest in nests for op in (nest, *operations_in(nest))]
    loads = [op for op, _ in operations if type(op) is loop.LoadOp]
    sources = dict.fromkeys(load.buffer for load in loads if load.buffer is not buffer)
    if not all(map(_is_constant, sources)):
        return []
    used = {buffer, *sources}
    return list(sources) if all(_is_apart(op, nest, used) for op, nest in operations) else []


def _is_apart(op: Operation, nest: Operation, buffers: set[SSAValue]) -> bool:
    """Whether an operation of a nest could stand in another function that has the buffers."""
    if type(op) is loop.StoreOp and _is_constant(op.buffer):
        return False
    return (type(op) in _OF_NESTS or is_side_effect_free(op)) and all(
        value in buffers or _is_inside(value, nest) or type(value.owner) is arith.ConstantOp
        for value in operands_of(op)
    )


def _is_inside(value: SSAValue, nest: Operation) -> bool:
    owner = value.owner
    inside = owner.parent_op() if isinstance(owner, Block) else owner
    return inside is not None and nest.is_ancestor(inside)


def _is_constant(buffer: SSAValue) -> bool:
    """Whether the contents are known at load: a constant, or an argument for which constants are passed."""
    return is_constant_argument(buffer) or constant_global(buffer) is not None


@frozen
class LoopOutlinePackingPass(StepwellPass):
    """
    Fill buffers that are copies of constants once, when the program is loaded.

    Before: a kernel with an argument `%w {stepwell.constant}` runs `for c0: for c1: %packed[c1 floordiv 16, c0,
    c1 mod 16] = %w[c0, c1]` in each call. After: the nest is a function of its own, which `@load.constants`
    calls for each constant that is passed for `%w`, to fill a global; the kernel's argument is `%packed`. Equal
    functions are one, and fill one global from the same constant. The loops must read and write nothing else,
    and the buffer have at most twice as many elements as the constants. Globals that nothing reads any more
    are removed.
    """

    name = "loop-outline-packing"
    level_in = Level.LOOP
    level_out = Level.LOOP

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if any(isinstance(o, memref.GlobalOp) and o.constant is not None for o in op.ops):
            outline_packing(op)


def outline_packing(module: ModuleOp) -> None:
    """Outline what can be outlined in all functions; a buffer filled at load is a constant to the next."""
    outliner = _Outliner(module)
    functions = [op for op in module.ops if isinstance(op, func.FuncOp) and op.body.blocks]
    for function in functions:
        for alloc in [op for op in operations_in(function) if type(op) is loop.AllocOp]:
            planned = plan_packing(alloc)
            if isinstance(planned, Packing):
                planned = outliner.refusal(function, planned) or planned
            if isinstance(planned, Packing):
                outliner.outline(function, planned)
            elif planned is not None:
                name = loop.buffer_name(alloc.buffer) or "buffer"
                remark(alloc, f"'{name}' is not filled at load: {planned}", missed=True)
    outliner.remove_unused()


class _Outliner:
    """The functions of a module, those that pack, and what is done at load."""

    def __init__(self, module: ModuleOp):
        self._calls = calls_in(module)
        self._private = only_called(module, self._calls)
        self._load = LoadTime(module)
        self._functions: dict[Structure, str] = {}

    def remove_unused(self) -> None:
        """Remove the globals that were read once and are not any more."""
        self._load.remove_unused()

    def refusal(self, function: func.FuncOp, packing: Packing) -> str | None:
        """Why what is passed for the constants is not known at load, or None."""
        if not any(isinstance(source, BlockArgument) for source in packing.sources):
            return None
        if function not in self._private:
            return f"'{function.sym_name.data}' is not called by this module alone"
        for call in self._calls[function.sym_name.data]:
            if any(self._symbol(source, call) is None for source in packing.sources):
                return f"'{function.sym_name.data}' is called with what is no constant"
        return None

    def _symbol(self, source: SSAValue, call: func.CallOp | None) -> str | None:
        """The global that a constant of a function is, in a call of it."""
        if isinstance(source, BlockArgument):
            assert call is not None
            source = call.arguments[source.index]
        return self._load.symbol(source)

    def outline(self, function: func.FuncOp, packing: Packing) -> None:
        """Move the nests to a function that is called at load, and read what it has filled."""
        packer = self._function_for(function, packing)
        remark(packing.alloc, f"'{packing.name}' is filled once, at load, by '{packer}'")
        given = [source for source in packing.sources if isinstance(source, BlockArgument)]
        if given:
            place = max(source.index for source in given) + 1
            for call in list(self._calls[function.sym_name.data]):
                get = self._filled(packer, packing, call)
                Rewriter.insert_op(get, InsertPoint.before(call))
                call.operands = [*call.arguments[:place], get.memref, *call.arguments[place:]]
            buffer = _add_argument(function, place, packing)
        else:
            get = self._filled(packer, packing, None)
            Rewriter.insert_op(get, InsertPoint.before(packing.alloc))
            buffer = get.memref
        packing.alloc.buffer.replace_all_uses_with(buffer)
        loop.set_buffer_name(buffer, packing.name)
        Rewriter.erase_op(packing.alloc)
        for source in sorted(given, key=lambda source: -source.index):
            if not source.uses:
                self._drop_argument(function, source)
        for source in packing.sources:
            erase_unused(source)

    def _filled(
        self, packer: str, packing: Packing, call: func.CallOp | None
    ) -> memref.GetGlobalOp:
        """What is filled from the constants of a call, yet to be inserted where it is read."""
        symbols = [self._symbol(source, call) or "" for source in packing.sources]
        type_ = packing.alloc.buffer.type
        return self._load.filled(packer, symbols, packing.sources, type_, packing.name)

    def _function_for(self, function: func.FuncOp, packing: Packing) -> str:
        """The function with the nests, which are taken out of theirs; a known one when it is equal."""
        buffers = (*packing.sources, packing.alloc.buffer)
        block = Block(arg_types=[buffer.type for buffer in buffers])
        builder = Builder(InsertPoint.at_end(block))
        values: dict[SSAValue, SSAValue] = dict(zip(buffers, block.args, strict=True))
        for old, new in values.items():
            new.name_hint = old.name_hint
        for constant in _constants_outside(packing.nests):
            builder.insert(copy_of(constant, values))
        for nest in packing.nests:
            builder.insert(copy_of(nest, values))
            nest.detach()
            nest.erase()
        builder.insert(func.ReturnOp())
        marks = [loop.CONSTANT] * len(packing.sources) + [loop.RESULT]
        new = func.FuncOp(
            self._load.unique(f"{function.sym_name.data}.{packing.name}"),
            function_type(block.arg_types, []),
            Region(block),
            visibility="private",
            arg_attrs=ArrayAttr(DictionaryAttr({mark: loop.MARK}) for mark in marks),
        )
        new.location = packing.alloc.location
        known = structure(new, loop_names=False)
        if known not in self._functions:
            self._functions[known] = new.sym_name.data
            Rewriter.insert_op(new, InsertPoint.after(function))
        return self._functions[known]

    def _drop_argument(self, function: func.FuncOp, argument: BlockArgument) -> None:
        """Take away an argument that the function does not use any more."""
        number = argument.index
        for call in self._calls[function.sym_name.data]:
            passed = call.arguments[number]
            call.operands = [*call.arguments[:number], *call.arguments[number + 1 :]]
            erase_unused(passed)
        function.body.block.erase_arg(argument)
        assert function.arg_attrs is not None
        _set_arguments(
            function, [*function.arg_attrs.data[:number], *function.arg_attrs.data[number + 1 :]]
        )


def _constants_outside(nests: Sequence[Operation]) -> list[arith.ConstantOp]:
    """The numbers that nests use and do not define."""
    operations = [op for nest in nests for op in (nest, *operations_in(nest))]
    owners = [value.owner for op in operations for value in operands_of(op)]
    used = dict.fromkeys(owner for owner in owners if type(owner) is arith.ConstantOp)
    return [owner for owner in used if not any(nest.is_ancestor(owner) for nest in nests)]


def _add_argument(function: func.FuncOp, place: int, packing: Packing) -> SSAValue:
    argument = function.body.block.insert_arg(packing.alloc.buffer.type, place)
    assert function.arg_attrs is not None
    marks, own = function.arg_attrs.data, DictionaryAttr({loop.CONSTANT: loop.MARK})
    _set_arguments(function, [*marks[:place], own, *marks[place:]])
    return argument


def _set_arguments(function: func.FuncOp, marks: Sequence[DictionaryAttr]) -> None:
    """Let the function's type and attributes say what its block takes."""
    types, results = function.body.block.arg_types, function.function_type.outputs.data
    function.function_type = function_type(types, results)
    function.arg_attrs = ArrayAttr(marks)
