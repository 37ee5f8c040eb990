"""What a program does once, when it is loaded: functions that fill buffers from constants, and the globals they fill."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.builder import Builder
from xdsl.dialects import func, memref
from xdsl.dialects.builtin import MemRefType, ModuleOp, StringAttr, UnitAttr
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ...analysis.constants import constant_global, globals_of
from ...analysis.operations import operations_in
from ...dialects import loop
from ...dialects.shaped import memref_type

LOAD_FUNCTION = "load.constants"
"""With a dot in it, so that it is not the name of a C function."""


class LoadTime:
    """The load function of a module, which is made when it is needed, and the globals that it fills."""

    def __init__(self, module: ModuleOp):
        self._module = module
        found = (op.properties.get("sym_name") for op in module.ops)
        self._names = {name.data for name in found if isinstance(name, StringAttr)}
        self._globals = globals_of(module)
        functions = (op for op in module.ops if isinstance(op, func.FuncOp))
        self._load = next((op for op in functions if loop.LOAD in op.attributes), None)
        self._read_before = _symbols_read(module)
        first = module.body.block.first_op
        assert first is not None
        self._first = first
        self._filled: dict[tuple[str, tuple[str, ...]], str] = {}
        """What a function has filled from these globals"""

    def unique(self, wanted: str) -> str:
        """A symbol that the module does not have yet; it is taken from now on."""
        name, number = wanted, 0
        while name in self._names:
            number += 1
            name = f"{wanted}_{number}"
        self._names.add(name)
        return name

    def symbol(self, value: SSAValue) -> str | None:
        """The global that a value is the memory of, where its contents are known at load."""
        get = value.owner
        if not isinstance(get, memref.GetGlobalOp):
            return None
        is_constant = constant_global(value, self._globals) is not None
        return get.name_.string_value() if is_constant else None

    def filled(
        self,
        packer: str,
        symbols: Sequence[str],
        sources: Sequence[SSAValue],
        type_: MemRefType,
        name: str,
    ) -> memref.GetGlobalOp:
        """
        The memory that a function fills at load from the globals `symbols`, which `sources` are: one for equal ones.

        The operation is to be inserted where the memory is read.
        """
        key = packer, tuple(symbols)
        if key not in self._filled:
            self._filled[key] = self._fill(packer, symbols, sources, type_, name)
        get = memref.GetGlobalOp(self._filled[key], type_)
        get.memref.name_hint = name
        return get

    def _fill(
        self,
        packer: str,
        symbols: Sequence[str],
        sources: Sequence[SSAValue],
        type_: MemRefType,
        name: str,
    ) -> str:
        """A new global, which the load function lets `packer` fill."""
        symbol = self.unique(f"{symbols[0]}_{name}")
        new = memref.GlobalOp.get(StringAttr(symbol), type_, UnitAttr(), StringAttr("private"))
        new.attributes[loop.LOAD] = loop.MARK
        self._globals[symbol] = new
        Rewriter.insert_op(new, InsertPoint.before(self._first))
        end = self._load_function().body.block.last_op
        assert end is not None
        builder = Builder(InsertPoint.before(end))
        arguments: list[SSAValue] = []
        types = [memref_type(source) for source in sources]
        hints = [loop.buffer_name(source) for source in sources]
        for read, of, hint in zip((*symbols, symbol), (*types, type_), (*hints, name), strict=True):
            arguments.append(builder.insert(memref.GetGlobalOp(read, of)).memref)
            arguments[-1].name_hint = hint
        builder.insert(func.CallOp(packer, arguments, []))
        return symbol

    def _load_function(self) -> func.FuncOp:
        if self._load is None:
            name = self.unique(LOAD_FUNCTION)
            self._load = func.FuncOp(name, ((), ()), visibility="private")
            self._load.body.block.add_op(func.ReturnOp())
            self._load.attributes[loop.LOAD] = loop.MARK
            self._module.body.block.add_op(self._load)
        return self._load

    def remove_unused(self) -> None:
        """Remove the globals that were read once and are not any more."""
        gone = self._read_before - _symbols_read(self._module)
        for op in list(self._module.ops):
            if (
                isinstance(op, memref.GlobalOp)
                and op.sym_visibility.data == "private"
                and op.sym_name.data in gone
            ):
                Rewriter.erase_op(op)


def erase_unused(buffer: SSAValue) -> None:
    """Erase the operation that gives the memory of a global, where nothing uses it any more."""
    if isinstance(buffer.owner, memref.GetGlobalOp) and not buffer.uses:
        Rewriter.erase_op(buffer.owner)


def _symbols_read(module: ModuleOp) -> set[str]:
    found = operations_in(module)
    return {op.name_.string_value() for op in found if type(op) is memref.GetGlobalOp}
