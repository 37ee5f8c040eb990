"""
A kernel apart from its program, and back: as a module of its own, that is lowered and compiled by itself, and as a
declaration, which the program calls in the way that the lowered kernel takes its arguments.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, TypeVar, cast

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import func, memref
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    MemRefType,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    i8,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.parser import Parser
from xdsl.rewriter import InsertPoint, Rewriter

from ..analysis.calls import calls_in, only_called
from ..analysis.constants import constant_global, globals_of
from ..analysis.operations import operations_in
from ..analysis.signature import is_argument_of_program, is_own
from ..analysis.structure import structure
from ..dialects import loop
from ..dialects.shaped import memref_type
from ..frozen import frozen
from ..transforms.loop.plan_memory import is_on_threads
from ..transforms.step_support.load_time import LoadTime, erase_unused

T = TypeVar("T")

_KERNEL, _PROGRAM = "kernel", "program"
_CONSTANT = "argument."
"""What the constant that stands for an argument is called; its number follows."""


@frozen
class Filled:
    """
    A buffer that a function fills at load, and the kernel reads: `packer(*sources, buffer)`.

    `sources` are numbers: of the kernel's first arguments, and `~k` of the buffer filled as number k.
    """

    name: str
    packer: str
    sources: tuple[int, ...]
    type: str


@frozen
class Interface:
    """
    How a lowered kernel is called: what it takes in the place of the arguments that it had at first.

    `arguments` are numbers as in `Filled`. After them comes scratch memory of `arena` bytes, where it is not None.
    """

    kernel: str
    filled: tuple[Filled, ...]
    arguments: tuple[int, ...]
    arena: int | None

    @property
    def functions(self) -> set[str]:
        """The kernel, and what fills its buffers."""
        return {self.kernel, *(one.packer for one in self.filled)}

    @staticmethod
    def of(said: Mapping[str, Any]) -> Interface:
        """What `dataclasses.asdict` says, or JSON of that."""
        filled = tuple(
            Filled(one["name"], one["packer"], tuple(one["sources"]), one["type"])
            for one in said["filled"]
        )
        return Interface(said["kernel"], filled, tuple(said["arguments"]), said["arena"])

    def renamed(self, names: Mapping[str, str]) -> Interface:
        """The same with other names of functions."""
        filled = tuple(
            Filled(one.name, names[one.packer], one.sources, one.type) for one in self.filled
        )
        return Interface(names[self.kernel], filled, self.arguments, self.arena)


def units_of(module: ModuleOp) -> dict[func.FuncOp, ModuleOp]:
    """
    The kernels of a module at the loop level that can be compiled apart from it, each in a module of its own: there
    a function calls it with constants where the program does.

    Such a kernel is private, called and not used otherwise, never from inside of a loop on threads, and refers to no
    symbol.
    """
    calls, known = calls_in(module), globals_of(module)
    units: dict[func.FuncOp, ModuleOp] = {}
    for function in only_called(module, calls):
        callers = calls[function.sym_name.data]
        if not any(map(is_on_threads, callers)) and not _refers_to_symbols(function):
            units[function] = _unit(function, callers, known)
    return units


def _refers_to_symbols(function: func.FuncOp) -> bool:
    return any(
        isinstance(attribute, SymbolRefAttr)
        for op in operations_in(function)
        for attribute in op.properties.values()
    )


def _unit(
    function: func.FuncOp, calls: Sequence[func.CallOp], known: Mapping[str, memref.GlobalOp]
) -> ModuleOp:
    kernel = function.clone()
    kernel.sym_name = StringAttr(_KERNEL)
    types = function.function_type.inputs.data
    marks = function.arg_attrs.data if function.arg_attrs else (DictionaryAttr({}),) * len(types)
    constants = [
        n
        for n, mark in enumerate(marks)
        if loop.CONSTANT in mark.data
        and all(constant_global(call.arguments[n], known) is not None for call in calls)
    ]
    passed = [n for n in range(len(types)) if n not in constants]
    block = Block(arg_types=[types[n] for n in passed])
    builder = Builder(InsertPoint.at_end(block))
    values: dict[int, SSAValue] = dict(zip(passed, block.args, strict=True))
    globals_: list[Operation] = []
    for n in constants:
        name, type_ = f"{_CONSTANT}{n}", cast(MemRefType, types[n])
        given = memref.GlobalOp.get(StringAttr(name), type_, UnitAttr(), constant=UnitAttr())
        globals_.append(given)
        values[n] = builder.insert(memref.GetGlobalOp(name, type_)).memref
    builder.insert(func.CallOp(_KERNEL, [values[n] for n in range(len(types))], []))
    builder.insert(func.ReturnOp())
    program = func.FuncOp(
        _PROGRAM,
        FunctionType.from_lists(block.arg_types, []),
        Region(block),
        arg_attrs=ArrayAttr(
            _marks(loop.RESULT in marks[n].data, [call.arguments[n] for call in calls])
            for n in passed
        ),
    )
    unit = ModuleOp([*globals_, kernel, program])
    around = function.parent_op()
    if constants and around is not None and loop.CONSTANT_BYTES in around.attributes:
        unit.attributes[loop.CONSTANT_BYTES] = around.attributes[loop.CONSTANT_BYTES]
    return unit


def _marks(is_result: bool, given: Sequence[SSAValue]) -> DictionaryAttr:
    """
    What is known of an argument of the calling function: whether it is a result, and whether it stands for a buffer of the
    program's own. A result does where it does in one of the calls, what is read where none passes the program's argument.
    """
    is_programs = (
        any(map(is_own, given)) if is_result else not any(map(is_argument_of_program, given))
    )
    names = [loop.RESULT] * is_result + [loop.OWN] * is_programs
    return DictionaryAttr(dict.fromkeys(names, loop.MARK))


def identity_of(unit: ModuleOp) -> str:
    """What a module that `units_of` made says without the names of values, buffers and loops: the same of equal kernels."""
    said = cache(str)
    return repr(
        [
            said(unit.attributes.get(loop.CONSTANT_BYTES)),
            *(
                structure(op, loop_names=False, said=said)
                if isinstance(op, func.FuncOp)
                else sorted((name, said(value)) for name, value in op.properties.items())
                for op in unit.ops
            ),
        ]
    )


def passed_numbers(unit: ModuleOp) -> list[int]:
    """For each argument of the calling function of a module that `units_of` made: which of the kernel's it is."""
    program = _function(unit, _PROGRAM)
    (call,) = (op for op in program.body.block.ops if isinstance(op, func.CallOp))
    numbers = {value: n for n, value in enumerate(call.arguments)}
    return [numbers[argument] for argument in program.body.block.args]


def interface_of(unit: ModuleOp, passed: Sequence[int]) -> Interface:
    """
    How the kernel of such a module is called once it is at the core level: its packing is outlined, and its memory
    planned.

    `passed` are the numbers that `passed_numbers` gave before.
    """
    numbers: dict[str, int] = {}
    filled: list[Filled] = []
    for fill in _calls_at_load(unit):
        *sources, target = fill.arguments
        read = tuple(_number_of(source, numbers) for source in sources)
        name, symbol = target.name_hint or "buffer", _symbol(target)
        filled.append(Filled(name, fill.callee.string_value(), read, str(target.type)))
        numbers[symbol] = ~len(numbers)
    program = _function(unit, _PROGRAM)
    (call,) = (op for op in program.body.block.ops if isinstance(op, func.CallOp))
    arguments: list[int] = []
    arena: int | None = None
    for value in call.arguments:
        if isinstance(value, BlockArgument):
            arguments.append(passed[value.index])
        elif isinstance(value.owner, memref.GetGlobalOp):
            arguments.append(_number_of(value, numbers))
        else:
            (arena,) = memref_type(value).get_shape()  # comes last; see plan_memory.py
    return Interface(_KERNEL, tuple(filled), tuple(arguments), arena)


def _calls_at_load(unit: ModuleOp) -> list[func.CallOp]:
    functions = (op for op in unit.ops if isinstance(op, func.FuncOp))
    load = next((op for op in functions if loop.LOAD in op.attributes), None)
    ops = () if load is None else load.body.block.ops
    return [op for op in ops if isinstance(op, func.CallOp)]


def _number_of(value: SSAValue, filled: Mapping[str, int]) -> int:
    symbol = _symbol(value)
    return filled[symbol] if symbol in filled else int(symbol.removeprefix(_CONSTANT))


def _symbol(value: SSAValue) -> str:
    get = value.owner
    assert isinstance(get, memref.GetGlobalOp)
    return get.name_.string_value()


def _function(module: ModuleOp, name: str) -> func.FuncOp:
    (found,) = (op for op in module.ops if isinstance(op, func.FuncOp) and op.sym_name.data == name)
    return found


def declare_kernels(
    ctx: Context, module: ModuleOp, compiled: Mapping[func.FuncOp, Interface]
) -> None:
    """
    Put declarations of compiled kernels in the place of the kernels of a module at the loop level, and call them.

    What they read from buffers that are filled at load, the module's load function fills.
    """
    calls, at_load = calls_in(module), LoadTime(module)
    declared: set[str] = set()
    for function, interface in compiled.items():
        types = [Parser(ctx, filled.type).parse_type() for filled in interface.filled]
        for call in calls[function.sym_name.data]:
            _call_compiled(call, interface, cast("list[MemRefType]", types), at_load)
        for new in _declarations(function, interface, types):
            if new.sym_name.data not in declared:
                declared.add(new.sym_name.data)
                Rewriter.insert_op(new, InsertPoint.before(function))
        Rewriter.erase_op(function)
    at_load.remove_unused()


def _call_compiled(
    call: func.CallOp, interface: Interface, types: Sequence[MemRefType], at_load: LoadTime
) -> None:
    first: list[SSAValue] = list(call.arguments)
    made: list[SSAValue] = []
    builder = Builder(InsertPoint.before(call))
    for filled, type_ in zip(interface.filled, types, strict=True):
        sources = [_numbered(n, first, made) for n in filled.sources]
        symbols = [at_load.symbol(source) or "" for source in sources]
        get = at_load.filled(filled.packer, symbols, sources, type_, filled.name)
        made.append(builder.insert(get).memref)
    arguments = [_numbered(n, first, made) for n in interface.arguments]
    if interface.arena is not None:
        arena = MemRefType(i8, (interface.arena,))
        part = builder.insert(loop.AllocOp(loop.Scope.ARENA, arena)).buffer
        part.name_hint = "arena"
        arguments.append(part)
    call.operands = arguments
    call.callee = SymbolRefAttr(interface.kernel)
    for value in dict.fromkeys((*first, *made)):
        erase_unused(value)


def _declarations(
    function: func.FuncOp, interface: Interface, filled: Sequence[Attribute]
) -> Iterable[func.FuncOp]:
    first = function.function_type.inputs.data
    for one, type_ in zip(interface.filled, filled, strict=True):
        sources = [_numbered(n, first, filled) for n in one.sources]
        yield func.FuncOp.external(one.packer, [*sources, type_], [])
    arguments = [_numbered(n, first, filled) for n in interface.arguments]
    arena = [] if interface.arena is None else [MemRefType(i8, (interface.arena,))]
    yield func.FuncOp.external(interface.kernel, [*arguments, *arena], [])


def _numbered(number: int, first: Sequence[T], filled: Sequence[T]) -> T:
    return first[number] if number >= 0 else filled[~number]
