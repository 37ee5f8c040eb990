"""`memref` loads, stores, allocation, globals and copies to `llvm`. Views are in memref_views.py."""

from __future__ import annotations

from typing import cast

import numpy as np
from xdsl.dialects import llvm, memref
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    TensorType,
    UnitAttr,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.traits import IsTerminator

from ...analysis.operations import operands_of
from ...dialects.leaf_operations import leaf, word_attribute
from ...dialects.resources import (
    GLOBAL_VALUE,
    ElementsAttr,
    elements_to_numpy,
    numpy_to_elements,
    retyped,
)
from ...dialects.upstream.memref import PrefetchOp
from ...errors import StepwellError
from .advancing import advancing_address
from .arith import dense_vector
from .emitter import Emitter, Handler, unsupported
from .properties import NSW, integer
from .types import (
    POINTER,
    AnyMemRef,
    Index,
    MemRefValue,
    checked,
    element_bytes,
    is_vector,
    layout_of,
    memory_type,
    scalar_type,
    static_bytes,
)

BUFFER_ALIGNMENT = 64
"""Bytes: a cache line, and the widest vector there is. Of every buffer that lowering makes."""

_ALLOCATE = llvm.LLVMFunctionType((i64, i64), POINTER)
_FREE = llvm.LLVMFunctionType((POINTER,))

MAX_STACK_BYTES = 1 << 20
"""Bytes of `memref.alloca` in one function; a thread's whole stack is 8 MiB on Linux."""


def load_element(e: Emitter, source: MemRefValue, indices: list[Index]) -> SSAValue:
    return load_at(e, e.element_pointer(source, indices), source.type.element_type)


def load_at(e: Emitter, pointer: SSAValue, element: Attribute) -> SSAValue:
    value = e.load(pointer, memory_type(element), element_bytes(element))
    return as_register(e, value, scalar_type(element))


def as_register(e: Emitter, value: SSAValue, register: Attribute) -> SSAValue:
    """What was loaded, as its type is outside of memory. Of the byte of an i1 any number but 0 is true, as in NumPy."""
    if value.type == register:
        return value
    if is_vector(value.type):
        zeros = e.emit(llvm.ConstantOp, (), value.type, {"value": dense_vector(value.type, (0,))})
    else:
        zeros = e.constant(0, value.type)
    return e.compare("ne", value, zeros, register)


def store_element(e: Emitter, value: SSAValue, target: MemRefValue, indices: list[Index]) -> None:
    element = target.type.element_type
    stored = memory_type(element)
    if stored != scalar_type(element):
        value = e.emit(llvm.ZExtOp, (value,), stored)
    e.store(value, e.element_pointer(target, indices), element_bytes(element))


def _convert_load(e: Emitter, op: Operation) -> None:
    assert isinstance(op, memref.LoadOp)
    buffer, *indices = operands_of(op)
    (result,) = op.results
    source, pointer = e.memref(buffer), advancing_address(e, op)
    if pointer is None:
        pointer = e.element_pointer(source, e.indices(indices))
    e.bind(result, load_at(e, pointer, source.type.element_type))


def _convert_store(e: Emitter, op: Operation) -> None:
    assert isinstance(op, memref.StoreOp)
    value, buffer, *indices = operands_of(op)
    store_element(e, e.value(value), e.memref(buffer), e.indices(indices))


def _allocated(e: Emitter, op: memref.AllocOp | memref.AllocaOp) -> tuple[AnyMemRef, list[Index]]:
    """The type and sizes of a new buffer of identity layout."""
    type_ = op.memref.type
    checked(type_, op)
    layout = layout_of(type_)
    if not layout.is_identity or op.symbol_operands:
        raise unsupported(op, f"of type {type_}, whose layout is not the identity")
    dynamic = iter(e.indices(op.dynamic_sizes))
    return type_, [next(dynamic) if size is None else size for size in layout.sizes]


def _alignment(op: memref.AllocOp | memref.AllocaOp) -> int:
    asked = op.alignment.value.data if op.alignment is not None else 0
    return max(BUFFER_ALIGNMENT, asked)


def _bind_buffer(
    e: Emitter, op: memref.AllocOp | memref.AllocaOp, sizes: list[Index], pointer: SSAValue
) -> None:
    type_ = op.memref.type
    strides = tuple(e.row_major(sizes))
    e.bind_memref(op.memref, MemRefValue(type_, pointer, tuple(sizes), strides))


def _number_of_elements(e: Emitter, sizes: list[Index]) -> Index:
    count: Index = 1
    for size in sizes:
        count = e.mul(count, size)
    return count


def _convert_alloc(e: Emitter, op: Operation) -> None:
    """`aligned_alloc`, whose size must be a multiple of the alignment."""
    assert isinstance(op, memref.AllocOp)
    if op in e.hoisted:
        return
    type_, sizes = _allocated(e, op)
    alignment = _alignment(op)
    size = e.mul(_number_of_elements(e, sizes), element_bytes(type_.element_type))
    if isinstance(size, int):
        padded: Index = max(1, -(-size // alignment)) * alignment
    else:
        mask = e.constant(-alignment)
        padded = e.emit(llvm.AndOp, (e.ssa(e.add(size, alignment - 1)), mask), i64)
    e.symbols.declare("aligned_alloc", _ALLOCATE, op)
    pointer = e.call("aligned_alloc", (e.constant(alignment), e.ssa(padded)), POINTER)
    assert pointer is not None
    _bind_buffer(e, op, sizes, pointer)


def _convert_dealloc(e: Emitter, op: Operation) -> None:
    assert isinstance(op, memref.DeallocOp)
    if op in e.hoisted:
        return
    e.symbols.declare("free", _FREE, op)
    e.call("free", (e.memref(op.memref).pointer,), None)


def _convert_alloca(e: Emitter, op: Operation) -> None:
    """
    A stack buffer: of the whole function where its size is static, so that a loop around it does not
    grow the stack.
    """
    assert isinstance(op, memref.AllocaOp)
    type_, sizes = _allocated(e, op)
    properties: dict[str, Attribute] = {
        "elem_type": memory_type(type_.element_type),
        "alignment": word_attribute(_alignment(op)),
    }
    count = _number_of_elements(e, sizes)
    outlives_iteration = any(
        use.operation.next_op is None and use.operation.has_trait(IsTerminator)
        for use in op.memref.uses
    )
    if isinstance(count, int) and not outlives_iteration:
        e.stack_bytes += count * element_bytes(type_.element_type)
        if e.stack_bytes > MAX_STACK_BYTES:
            raise StepwellError(
                f"found {e.stack_bytes} bytes of memref.alloca in one function, expected at most "
                f"{MAX_STACK_BYTES}; use memref.alloc or a smaller buffer",
                op=op,
            )
        # LLVM keeps an array in registers where its subscripts are known, but not so many elements.
        properties["elem_type"] = llvm.LLVMArrayType(count, properties["elem_type"])
        new = leaf(llvm.AllocaOp, (e.constant(1),), (POINTER,), properties)
        e.prologue(new)
        pointer = new.results[0]
    else:
        pointer = e.emit(llvm.AllocaOp, (e.ssa(count),), POINTER, properties)
    _bind_buffer(e, op, sizes, pointer)


def _convert_get_global(e: Emitter, op: Operation) -> None:
    assert isinstance(op, memref.GetGlobalOp)
    type_ = op.memref.type
    checked(type_, op)
    layout = layout_of(type_)
    if not layout.is_identity or None in layout.sizes:
        raise unsupported(op, f"of type {type_}, which is not static with identity layout")
    pointer = e.emit(llvm.AddressOfOp, (), POINTER, {"global_name": op.name_})
    sizes = cast("tuple[int, ...]", layout.sizes)
    strides = cast("tuple[int, ...]", layout.strides)
    e.bind_memref(op.memref, MemRefValue(type_, pointer, sizes, strides))


def convert_global(op: memref.GlobalOp) -> llvm.GlobalOp:
    """The `llvm.mlir.global` for a `memref.global`: a flat array, aligned to a cache line."""
    type_ = op.type
    checked(type_, op)
    size = static_bytes(type_)
    if size is None:
        raise unsupported(op, f"of type {type_}, which is not static with identity layout")
    stored = memory_type(type_.element_type)
    count = size // element_bytes(type_.element_type)
    value = _initial_value(op, stored, count)
    public = op.sym_visibility.data != "private"
    alignment = op.alignment.value.data if op.alignment is not None else 0
    properties: dict[str, Attribute] = {
        "global_type": llvm.LLVMArrayType(count, stored),
        "sym_name": op.sym_name,
        "linkage": llvm.LinkageAttr("external" if public else "internal"),
        "addr_space": integer(0, i32),
    }
    if op.constant is not None:
        properties["constant"] = UnitAttr()
    if value is not None:
        properties["value"] = value
    properties["alignment"] = integer(max(BUFFER_ALIGNMENT, alignment), i64)
    return llvm.GlobalOp.create(properties=properties, regions=[Region()])


def _initial_value(op: memref.GlobalOp, stored: Attribute, count: int) -> Attribute | None:
    value: Attribute = op.properties["initial_value"]
    if isinstance(value, UnitAttr):
        value = op.attributes.get(GLOBAL_VALUE, value)
    if isinstance(value, UnitAttr):
        return None  # uninitialized
    if not isinstance(value, DenseIntOrFPElementsAttr | DenseResourceAttr):
        raise unsupported(op, f"with initial value {value}")
    elements = cast(ElementsAttr, value)
    flat = TensorType(stored, (count,))
    if op.type.element_type == i1:
        array = elements_to_numpy(elements).reshape(-1)
        # xDSL keeps true as a byte of ones; in memory it is 1.
        ones = np.not_equal(array.view(np.uint8), 0).astype(np.int8)
        return numpy_to_elements(ones, flat, op.sym_name.data)
    return retyped(elements, flat)


def _convert_copy(e: Emitter, op: Operation) -> None:
    """One `memcpy` between contiguous buffers, a loop nest otherwise."""
    assert isinstance(op, memref.CopyOp)
    source, target = e.memref(op.source), e.memref(op.destination)
    sizes = [
        have if isinstance(have, int) else want
        for have, want in zip(source.sizes, target.sizes, strict=True)
    ]
    if layout_of(source.type).is_identity and layout_of(target.type).is_identity:
        size = e.mul(_number_of_elements(e, sizes), element_bytes(source.type.element_type))
        operands = (target.pointer, source.pointer, e.ssa(size), e.constant(0, i1))
        e.call_intrinsic("llvm.memcpy.p0.p0.i64", operands, None)
    else:
        _copy_elements(e, source, target, sizes, [])


def _copy_elements(
    e: Emitter, source: MemRefValue, target: MemRefValue, sizes: list[Index], indices: list[Index]
) -> None:
    if len(indices) == len(sizes):
        store_element(e, load_element(e, source, indices), target, indices)
        return
    header, inside, after = Block(arg_types=(i64,)), Block(), Block()
    e.branch(header, (e.constant(0),))
    e.start(header)
    counter = header.args[0]
    e.branch_if(e.compare("slt", counter, e.ssa(sizes[len(indices)]), i1), inside, after)
    e.start(inside)
    with e.scope():
        _copy_elements(e, source, target, sizes, [*indices, counter])
    following = e.emit(llvm.AddOp, (counter, e.constant(1)), i64, {"overflowFlags": NSW})
    e.branch(header, (following,))
    e.start(after)


def _convert_prefetch(e: Emitter, op: Operation) -> None:
    """`llvm.prefetch` of an address that may be outside of the buffer."""
    assert isinstance(op, PrefetchOp)
    buffer, *indices = operands_of(op)
    pointer = e.element_pointer(e.memref(buffer), e.indices(indices), inbounds=False)
    hints = (
        bool(op.isWrite.value.data),
        op.localityHint.value.data,
        bool(op.isDataCache.value.data),
    )
    operands = (pointer, *(e.constant(int(hint), i32) for hint in hints))
    e.call_intrinsic("llvm.prefetch.p0", operands, None)


MEMREF: dict[type[Operation], Handler] = {
    memref.AllocOp: _convert_alloc,
    memref.AllocaOp: _convert_alloca,
    memref.CopyOp: _convert_copy,
    memref.DeallocOp: _convert_dealloc,
    memref.GetGlobalOp: _convert_get_global,
    PrefetchOp: _convert_prefetch,
    memref.LoadOp: _convert_load,
    memref.StoreOp: _convert_store,
}
