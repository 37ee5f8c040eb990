"""
What every conversion needs: the value map, the place where operations go, and integer arithmetic that
folds what is known.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias, cast

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    DictionaryAttr,
    LocationAttr,
    MemRefType,
    StringAttr,
    UnitAttr,
    i1,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ...analysis.float_ranges import FloatRanges
from ...analysis.operations import operations_of
from ...dialects.leaf_operations import append_leaf, block_with, jump, keep_name, leaf, set_name
from ...dialects.upstream.llvm import FenceOp
from ...errors import StepwellError
from ..by_address import ByAddress, UndefinedValue
from .indices import without_numbers
from .properties import (
    NSW,
    aligned,
    call_of,
    comparison,
    element_address,
    integer,
    intrinsic_call,
    segments,
)
from .symbols import Symbols
from .types import (
    POINTER,
    AnyMemRef,
    Index,
    MemRefValue,
    checked,
    element_bytes,
    layout_of,
    memory_type,
)

Handler: TypeAlias = "Callable[[Emitter, Operation], None]"

_INT32_RANGE = range(llvm.GEP_USE_SSA_VAL + 1, 2**31)


class Scope:
    """Operations that one after the other are lowered, until all are: what is computed here is known until then."""

    is_open = True


class Emitter:
    """Builds the body of one `llvm.func`: handlers read the old operations and append new ones."""

    def __init__(self, handlers: Mapping[type[Operation], Handler], symbols: Symbols):
        self.handlers = handlers
        self.symbols = symbols
        self.region = Region()
        self.entry = self.block = Block()
        self.region.add_block(self.entry)
        self.blocks: dict[Block, Block] = {}
        self.exits: list[Block] = []
        self.location: LocationAttr = UNKNOWN_LOC
        self.stack_bytes = 0
        self.in_parallel = False
        """Whether this is the body of an `scf.parallel`, which threads run."""
        self.has_nontemporal = False
        """Whether stores go past the caches, which x86 does not keep in order with other stores."""
        self.hoisted: set[Operation] = set()
        """Allocations, and their ends, that have been lowered already, around a loop that has them."""
        self.advancing: dict[Operation, tuple[list[SSAValue], tuple[dict[SSAValue, int], int]]] = {}
        """Of loads by pointers that advance with a loop, these and how many elements further they are: see advancing.py."""
        self.rebinding: dict[Operation, tuple[SSAValue, SSAValue]] = {}
        """Before which operations another value stands for one of the old function, and which."""
        self.promises: dict[SSAValue, DictionaryAttr] = {}
        """What is known of the pointers among the function's arguments, as parameter attributes."""
        self._numbers: dict[int, int] = {}
        """The integer constants among the values of the old function."""
        self.ranges = FloatRanges()
        """Between which numbers its floats are."""
        self._values = ByAddress[SSAValue]()
        self._memrefs = ByAddress[MemRefValue]()
        self._constants: dict[tuple[int, int], SSAValue] = {}
        """integer constants by the bits of their types, and by the numbers that they are"""
        self._undefined: dict[Attribute, SSAValue] = {}
        self._prologue: list[Operation] = []
        self._scope = Scope()
        self._addresses: dict[tuple[object, ...], tuple[SSAValue, Scope]] = {}
        """addresses of elements, and where these are computed"""

    # Values of the old function.

    def value(self, old: SSAValue) -> SSAValue:
        """What stands for a scalar or vector of the old function."""
        return self._values[id(old)]

    def values(self, old: Sequence[SSAValue]) -> list[SSAValue]:
        mapped = self._values
        return [mapped[id(value)] for value in old]

    def memref(self, old: SSAValue) -> MemRefValue:
        """What stands for a memref of the old function."""
        return self._memrefs[id(old)]

    def bind(self, old: SSAValue, new: SSAValue) -> None:
        """`new` stands for the scalar or vector `old` from here on, under its name."""
        self._values[id(old)] = new
        keep_name(old, new)

    def bind_memref(self, old: SSAValue, new: MemRefValue) -> None:
        self._memrefs[id(old)] = new
        keep_name(old, new.pointer)

    def set_number(self, old: SSAValue, number: int) -> None:
        """The integer constant that a value of the old function is."""
        self._numbers[id(old)] = number

    def index(self, old: SSAValue) -> Index:
        """An index operand: its value if it is a constant, what stands for it otherwise."""
        known = self._numbers.get(id(old))
        return self._values[id(old)] if known is None else known

    def indices(self, old: Sequence[SSAValue]) -> list[Index]:
        return [self.index(value) for value in old]

    def flatten(self, values: Sequence[SSAValue]) -> list[SSAValue]:
        """The LLVM values that stand for `values` across a call or branch."""
        flat: list[SSAValue] = []
        for value in values:
            known = self._memrefs.get(id(value))
            if known is None:
                flat.append(self._values[id(value)])
            else:
                flat.extend(self._parts(known))
        return flat

    def _parts(self, memref: MemRefValue) -> list[SSAValue]:
        layout = layout_of(memref.type)
        open_sizes = [
            value for value, size in zip(memref.sizes, layout.sizes, strict=True) if size is None
        ]
        open_strides = (
            []
            if layout.is_identity
            else [
                value
                for value, stride in zip(memref.strides, layout.strides, strict=True)
                if stride is None
            ]
        )
        return [memref.pointer, *map(self.ssa, open_sizes), *map(self.ssa, open_strides)]

    def unflatten(self, old: Sequence[SSAValue], flat: Sequence[SSAValue]) -> None:
        """Bind `old` to the LLVM values that `flatten` gives at the other side."""
        supply = iter(flat)
        for value in old:
            if type(value.type) is MemRefType:
                self._bind_parts(value, supply)
            else:
                self.bind(value, next(supply))

    def _bind_parts(self, value: SSAValue, supply: Iterator[SSAValue]) -> None:
        type_ = cast(AnyMemRef, value.type)
        layout = layout_of(type_)
        pointer = next(supply)
        name = value.name_hint or "memref"

        def part(what: str) -> SSAValue:
            found = next(supply)
            found.name_hint = f"{name}_{what}"
            return found

        sizes: list[Index] = [
            part(f"size{dim}") if size is None else size for dim, size in enumerate(layout.sizes)
        ]
        if layout.is_identity:
            strides = self.row_major(sizes)
        else:
            strides = [
                part(f"stride{dim}") if stride is None else stride
                for dim, stride in enumerate(layout.strides)
            ]
        self.bind_memref(value, MemRefValue(type_, pointer, tuple(sizes), tuple(strides)))

    # Operations of the new function.

    def emit(
        self,
        kind: type[Operation],
        operands: Sequence[SSAValue],
        result: Attribute,
        properties: Mapping[str, Attribute] = {},
    ) -> SSAValue:
        """Append an operation with one result."""
        op = leaf(kind, operands, (result,), properties, location=self.location)
        append_leaf(self.block, op)
        (value,) = op.results
        return value

    def hidden(self, value: SSAValue) -> SSAValue:
        """The value, of which LLVM no longer knows how it was computed: what an empty piece of assembly makes of it."""
        text = {"asm_string": StringAttr(""), "constraints": StringAttr("=r,0")}
        return self.emit(llvm.InlineAsmOp, (value,), value.type, text)

    def append(self, op: Operation) -> None:
        self.block.add_op(op)

    def prologue(self, op: Operation) -> None:
        """Put an operation at the top of the function."""
        self._prologue.append(op)

    def finish(self) -> Region:
        """The body, once every block has been lowered."""
        first = self.entry.first_op
        assert first is not None
        self.entry.insert_ops_before(self._prologue, first)
        if self.has_nontemporal:
            for block in self.region.blocks:
                if isinstance(last := block.last_op, llvm.ReturnOp):
                    block.insert_op_before(FenceOp(), last)
        return self.region

    def lower_block(self, block: Block) -> None:
        """Lower every operation of `block` at the current place."""
        with self.scope():
            self._lower_operations(block)

    @contextmanager
    def scope(self) -> Generator[None]:
        """Inside, addresses are computed that need not be known afterwards: control may go around."""
        around, self._scope = self._scope, Scope()
        yield
        self._scope.is_open = False
        self._scope = around

    def _lower_operations(self, block: Block) -> None:
        handlers = self.handlers
        for op in operations_of(block):
            handler = handlers.get(type(op))
            if handler is None:
                raise unsupported(op)
            self.location = op.location
            if self.rebinding and op in self.rebinding:
                self.bind(*self.rebinding.pop(op))
            try:
                handler(self, op)
            except UndefinedValue:
                raise StepwellError(
                    f"'{op.name}' uses a value that is not defined before it, expected valid IR; verify "
                    "the module",
                    op=op,
                ) from None

    def start(self, block: Block) -> None:
        """Put `block` at the end of the function and go on there."""
        self.region.add_block(block)
        self.block = block

    def block_for(self, old: Sequence[SSAValue], op: Operation) -> Block:
        """A block, not yet placed, whose arguments stand for `old`, but are not bound to it yet."""
        return block_with([flat for value in old for flat in checked(value.type, op)])

    def branch(self, to: Block, arguments: Sequence[SSAValue] = ()) -> None:
        append_leaf(self.block, jump(llvm.BrOp, arguments, (to,), location=self.location))

    def branch_if(
        self,
        condition: SSAValue,
        then: Block,
        otherwise: Block,
        then_arguments: Sequence[SSAValue] = (),
        else_arguments: Sequence[SSAValue] = (),
    ) -> None:
        operands = (condition, *then_arguments, *else_arguments)
        counts = segments(1, len(then_arguments), len(else_arguments))
        op = jump(llvm.CondBrOp, operands, (then, otherwise), counts, self.location)
        append_leaf(self.block, op)

    def call_intrinsic(
        self,
        name: str,
        operands: Sequence[SSAValue],
        result: Attribute | None,
        fastmath: llvm.FastMathAttr | None = None,
    ) -> SSAValue | None:
        """`llvm.call_intrinsic` of an intrinsic by its full, mangled name."""
        op = leaf(
            llvm.CallIntrinsicOp,
            operands,
            () if result is None else (result,),
            intrinsic_call(name, len(operands), fastmath),
            location=self.location,
        )
        append_leaf(self.block, op)
        return None if result is None else op.results[0]

    def call(
        self, name: str, operands: Sequence[SSAValue], result: Attribute | None
    ) -> SSAValue | None:
        results = () if result is None else (result,)
        op = leaf(
            llvm.CallOp, operands, results, call_of(name, len(operands)), location=self.location
        )
        append_leaf(self.block, op)
        return None if result is None else op.results[0]

    # Integers.

    def undefined(self, type_: Attribute) -> SSAValue:
        """A vector of which nothing is known yet."""
        found = self._undefined.get(type_)
        if found is None:
            op = llvm.UndefOp.create(result_types=(type_,))
            self._prologue.append(op)
            found = self._undefined[type_] = op.results[0]
        return found

    def constant(self, value: int, type_: Attribute = i64) -> SSAValue:
        """An integer constant, made once a function, at its top."""
        # A type's own hash takes five calls; this one is an IntegerType, and none has a sign here.
        integers: Any = type_
        bits: int = integers.width.data
        found = self._constants.get((bits, value))
        if found is None:
            attr = integer(value, type_)
            op = leaf(llvm.ConstantOp, (), (attr.type,), {"value": attr})
            (found,) = op.results
            set_name(found, f"c{value}" if value >= 0 else f"cm{-value}")
            self._prologue.append(op)
            self._constants[bits, value] = found
        return found

    def ssa(self, index: Index) -> SSAValue:
        return self.constant(index) if isinstance(index, int) else index

    def add(self, a: Index, b: Index) -> Index:
        """a + b on indices, which never wrap."""
        if isinstance(a, int):
            if isinstance(b, int):
                return a + b
            if a == 0:
                return b
            a = self.constant(a)
        elif isinstance(b, int):
            if b == 0:
                return a
            b = self.constant(b)
        return self.emit(llvm.AddOp, (a, b), i64, {"overflowFlags": NSW})

    def mul(self, a: Index, b: Index) -> Index:
        """a * b on indices, which never wrap."""
        if isinstance(a, int):
            if isinstance(b, int):
                return a * b
            if a in (0, 1):
                return b if a else 0
            a = self.constant(a)
        elif isinstance(b, int):
            if b in (0, 1):
                return a if b else 0
            b = self.constant(b)
        return self.emit(llvm.MulOp, (a, b), i64, {"overflowFlags": NSW})

    def compare(self, predicate: str, a: SSAValue, b: SSAValue, result: Attribute) -> SSAValue:
        return self.emit(llvm.ICmpOp, (a, b), result, comparison(predicate))

    def equals(self, value: SSAValue, constant: int) -> SSAValue:
        """Whether an integer is a constant, as an i1."""
        return self.compare("eq", value, self.constant(constant, value.type), i1)

    def row_major(self, sizes: Sequence[Index]) -> list[Index]:
        """The strides of a contiguous buffer of these sizes."""
        strides: list[Index] = []
        stride: Index = 1
        for position, size in enumerate(reversed(sizes)):
            strides.append(stride)
            if position + 1 < len(sizes):
                stride = self.mul(stride, size)
        strides.reverse()
        return strides

    # Memory.

    def pointer_at(
        self,
        pointer: SSAValue,
        indices: Sequence[Index],
        element: Attribute,
        *,
        inbounds: bool = True,
    ) -> SSAValue:
        """`getelementptr inbounds pointer[indices]` over `element`."""
        dynamic: list[SSAValue] = []
        raw: list[int] = []
        for index in indices:
            if isinstance(index, int) and index in _INT32_RANGE:
                raw.append(index)
            else:
                raw.append(llvm.GEP_USE_SSA_VAL)
                dynamic.append(self.ssa(index))
        properties = element_address(tuple(raw), element, inbounds=inbounds)
        return self.emit(llvm.GEPOp, (pointer, *dynamic), POINTER, properties)

    def element_pointer(
        self, memref: MemRefValue, indices: Sequence[Index], *, inbounds: bool = True
    ) -> SSAValue:
        """The address of an element, which is computed once where it is certain to be known later."""
        if inbounds and not any(indices):  # no value is 0
            return memref.pointer
        element = memref.type.element_type
        key = (memref.pointer, element_bytes(element), memref.strides, inbounds, *indices)
        known = self._addresses.get(key)
        if known is not None and known[1].is_open:
            return known[0]
        if memref.nested is not None and inbounds:
            pointer = self._nested(memref, indices, memref.nested)
        else:
            position: Index = 0
            for index, stride in zip(indices, memref.strides, strict=True):
                position = self.add(position, self.mul(index, stride))
            stored = memory_type(element)
            pointer = self.pointer_at(memref.pointer, (position,), stored, inbounds=inbounds)
        self._addresses[key] = pointer, self._scope
        return pointer

    def _nested(self, memref: MemRefValue, indices: Sequence[Index], nested: Attribute) -> SSAValue:
        """The address of an element of nested arrays, from one that others share where constants are added: that may be outside of the buffer."""
        bases, further = without_numbers(indices, memref.strides, self.block)
        if not further:
            return self.pointer_at(memref.pointer, indices, nested)
        known = self._addresses.get(key := (memref.pointer, nested, *bases))
        if known is None or not known[1].is_open:
            base = self.pointer_at(memref.pointer, bases, nested, inbounds=False)
            self._addresses[key] = known = base, self._scope
        element = memory_type(memref.type.element_type)
        return self.pointer_at(known[0], (further,), element, inbounds=False)

    def load(self, pointer: SSAValue, type_: Attribute, alignment: int) -> SSAValue:
        return self.emit(llvm.LoadOp, (pointer,), type_, aligned(alignment))

    def store(
        self, value: SSAValue, pointer: SSAValue, alignment: int, *, nontemporal: bool = False
    ) -> None:
        properties = aligned(alignment)
        if nontemporal:
            properties = {**properties, "nontemporal": UnitAttr()}
            self.has_nontemporal = True
        op = leaf(llvm.StoreOp, (value, pointer), (), properties, location=self.location)
        append_leaf(self.block, op)


def unsupported(op: Operation, why: str = "") -> StepwellError:
    """The refusal of an operation that convert-core-to-llvm has no rule for."""
    reason = f" {why}" if why else ""
    return StepwellError(
        f"found '{op.name}'{reason}, expected an operation that convert-core-to-llvm lowers; "
        "lower or rewrite it before that pass",
        op=op,
    )
