"""Copies of constants made at compile time: a packed weight becomes a constant of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from xdsl.context import Context
from xdsl.dialects import func, memref
from xdsl.dialects.builtin import ModuleOp, NoneAttr, StringAttr, TensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ...analysis.constants import constant_global, contents_of
from ...analysis.levels import Level
from ...dialects import loop
from ...dialects.dtypes import numpy_dtype
from ...dialects.resources import (
    INLINE_LIMIT,
    ElementsAttr,
    constant_global_op,
    elements_to_numpy,
    numpy_to_elements,
)
from ...dialects.shaped import memref_type
from ...interpreters.nests import OutOfBounds, is_closed, run_nest
from ..remarks import remark
from ..stepwell_pass import StepwellPass

MOST_GROWTH = 2
"""How many times the elements of the constants a folded buffer may have: padding less than doubles them."""


@dataclass(frozen=True)
class Fold:
    """A buffer, the nests that fill it, and the constants they read."""

    alloc: loop.AllocOp
    nests: tuple[Operation, ...]
    sources: dict[SSAValue, memref.GlobalOp]

    def contents(self) -> np.ndarray | None:
        """What the nests leave in the buffer, zero where they store nothing; None if they run outside of one."""
        type_ = self.alloc.buffer.type
        into = np.zeros(type_.get_shape(), numpy_dtype(type_.get_element_type()))
        known: dict[SSAValue, np.ndarray] = {}
        for buffer, source in self.sources.items():
            value = contents_of(source)
            assert value is not None
            known[buffer] = elements_to_numpy(value)
        try:
            for nest in self.nests:
                run_nest(nest, known, into)
        except OutOfBounds:
            return None
        return into


def plan_fold(alloc: loop.AllocOp) -> Fold | str | None:
    """
    How a buffer is filled from constants; why it is not folded though it is; None when it is not.

    It is when the only nests that store to it, in the block that makes it, read nothing but constants and
    run before everything that loads from it.
    """
    type_ = alloc.buffer.type
    uses = [use.operation for use in alloc.buffer.uses]
    stores = [op for op in uses if isinstance(op, loop.StoreOp)]
    is_plain = type_.has_static_shape() and isinstance(type_.layout, NoneAttr)
    if not stores or not is_plain or alloc.scope.data is loop.Scope.REGISTER:
        return None
    if not all(isinstance(op, loop.StoreOp | loop.LoadOp | loop.PrefetchOp) for op in uses):
        return None
    block = alloc.parent
    assert block is not None
    found = dict.fromkeys(block.find_ancestor_op_in_block(op) for op in stores)
    nests = [op for op in block.ops if op in found]
    sources = _constants_read(nests, alloc.buffer)
    if not sources:
        return None
    last = nests[-1]
    users = {block.find_ancestor_op_in_block(op) for op in uses} - set(nests)
    if any(op is not None and op.is_before_in_block(last) for op in users):
        return "it is read before all of it is stored"
    count = prod(type_.get_shape())
    total = sum(prod(memref_type(buffer).get_shape()) for buffer in sources)
    if count > max(MOST_GROWTH * total, INLINE_LIMIT):
        return f"it would make {count} elements of {total}"
    return Fold(alloc, tuple(nests), sources)


def _constants_read(
    nests: Sequence[Operation], buffer: SSAValue
) -> dict[SSAValue, memref.GlobalOp] | None:
    """The constants that the nests load from; None when they do anything else but store to the buffer."""
    sources: dict[SSAValue, memref.GlobalOp] = {}
    for nest in nests:
        for op in nest.walk():
            if isinstance(op, loop.LoadOp) and op.buffer not in sources:
                source = constant_global(op.buffer)
                if source is None or contents_of(source) is None:
                    return None
                sources[op.buffer] = source
    return sources if all(is_closed(nest, buffer) for nest in nests) else None


@dataclass(frozen=True)
class LoopFoldConstantsPass(StepwellPass):
    """
    Makes copies of constants at compile time, in the layout and element type that they are copied to.

    Before: `%w = memref.get_global @w` and `for c0: for c1: %packed[c1 floordiv 16, c0, c1 mod 16] =
    %w[c0, c1]`. After: `%packed = memref.get_global @w_packed`. The loops must be parallel, the buffer
    must be stored to by them alone, and have at most twice as many elements as the constants. Constants
    that nothing reads any more are removed.
    """

    name = "loop-fold-constants"
    level_in = Level.LOOP
    level_out = Level.LOOP

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if any(isinstance(o, memref.GlobalOp) and o.constant is not None for o in op.ops):
            fold_constants(op)


def fold_constants(module: ModuleOp) -> None:
    """Fold what can be folded in all functions; constants made on the way are constants to the next."""
    globals_ = _Globals(module)
    for function in module.ops:
        if not isinstance(function, func.FuncOp) or not _reads_constants(function):
            continue
        for alloc in [op for op in function.walk() if isinstance(op, loop.AllocOp)]:
            _fold(alloc, globals_)
    globals_.remove_unused()


def _reads_constants(function: func.FuncOp) -> bool:
    return any(isinstance(op, memref.GetGlobalOp) for op in function.walk())


def _fold(alloc: loop.AllocOp, globals_: _Globals) -> None:
    name = loop.buffer_name(alloc.buffer) or "buffer"
    planned = plan_fold(alloc)
    if planned is None:
        return
    array = planned.contents() if isinstance(planned, Fold) else None
    if isinstance(planned, str) or array is None:
        reason = planned if isinstance(planned, str) else "a copy leaves its buffer"
        remark(alloc, f"'{name}' is not made at compile time: {reason}", missed=True)
        return
    type_ = alloc.buffer.type
    value = numpy_to_elements(array, TensorType(type_.get_element_type(), type_.get_shape()), name)
    first = next(iter(planned.sources.values())).sym_name.data
    symbol = globals_.symbol_for(value, f"{first}_{name}")
    remark(alloc, f"'{name}' is made at compile time: constant '{symbol}'")
    for nest in planned.nests:
        nest.detach()
        nest.erase()
    get = memref.GetGlobalOp(symbol, type_)
    Rewriter.replace_op(alloc, get)
    loop.set_buffer_name(get.memref, name)
    for buffer in planned.sources:
        owner = buffer.owner
        if isinstance(owner, Operation) and not buffer.uses:
            Rewriter.erase_op(owner)


class _Globals:
    """The constants of a module, and those that are added."""

    def __init__(self, module: ModuleOp):
        self._module = module
        found = (op.properties.get("sym_name") for op in module.ops)
        self._names = {name.data for name in found if isinstance(name, StringAttr)}
        self._known: dict[Attribute, str] = {}
        self._read_before = _symbols_read(module)
        self._first = module.body.block.first_op

    def symbol_for(self, value: ElementsAttr, wanted: str) -> str:
        """The name of a constant with the contents; equal ones that are added share one."""
        if value not in self._known:
            name, number = wanted, 0
            while name in self._names:
                number += 1
                name = f"{wanted}_{number}"
            self._names.add(name)
            self._known[value] = name
            assert self._first is not None
            op = constant_global_op(name, value)
            Rewriter.insert_op(op, InsertPoint.before(self._first))
        return self._known[value]

    def remove_unused(self) -> None:
        """Remove the constants that were read once and are not any more."""
        gone = self._read_before.union(self._known.values()) - _symbols_read(self._module)
        for op in list(self._module.ops):
            if (
                isinstance(op, memref.GlobalOp)
                and op.sym_visibility.data == "private"
                and op.sym_name.data in gone
            ):
                Rewriter.erase_op(op)


def _symbols_read(module: ModuleOp) -> set[str]:
    return {op.name_.string_value() for op in module.walk() if isinstance(op, memref.GetGlobalOp)}
