"""
1-D `vector` operations to `llvm`.

xDSL's llvm dialect lacks some of LLVM's vector instructions; each place that goes around one says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import cast

from xdsl.dialects import llvm, vector
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    Float16Type,
    Float32Type,
    Float64Type,
    IntegerType,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...analysis.masks import known_lanes, lanes_that_may_hold
from ...analysis.operations import operands_of
from ...dialects.leaf_operations import vector_of
from ...dialects.type_memo import remembered
from ...dialects.upstream.llvm import ExtractElementOp
from ...targets.core import LINE_BYTES
from .advancing import ALL_LANES_BITS, advancing_address, second_user
from .arith import dense_vector, extract_lane, float_constant, mangled, result_type, shuffle
from .emitter import Emitter, Handler, unsupported
from .memref import as_register, load_at
from .properties import NO_FASTMATH, NO_OVERFLOW, fastmath_of
from .types import AnyVector, checked, element_bytes, is_vector, memory_type

_Floats = Float16Type | Float32Type | Float64Type


@remembered
def _lanes(type_: Attribute) -> int:
    return cast(AnyVector, type_).get_shape()[0]


def splat(e: Emitter, value: SSAValue, type_: Attribute) -> SSAValue:
    """A vector with `value` in every lane."""
    undefined = e.undefined(type_)
    first = e.emit(llvm.InsertElementOp, (undefined, value, e.constant(0, i32)), type_)
    return shuffle(e, first, undefined, (0,) * _lanes(type_))


# Memory.


def _convert_load(e: Emitter, op: Operation) -> None:
    """The alignment is one element's: nothing says that the vector's address is a multiple of its size."""
    assert isinstance(op, vector.LoadOp)
    (result,) = op.results
    type_ = result_type(op)
    stored = memory_type(result.type)
    base, *indices = operands_of(op)
    source = e.memref(base)
    pointer = e.element_pointer(source, e.indices(indices))
    value = e.load(pointer, stored, element_bytes(source.type.element_type))
    e.bind(result, as_register(e, value, type_))


def _convert_store(e: Emitter, op: Operation) -> None:
    assert isinstance(op, vector.StoreOp)
    vector_, base, *indices = operands_of(op)
    target = e.memref(base)
    stored = memory_type(checked(vector_.type, op)[0])
    value = _as_stored(e, vector_, stored)
    pointer = e.element_pointer(target, e.indices(indices))
    alignment = element_bytes(target.type.element_type)
    size = _lanes(value.type) * alignment
    if size % LINE_BYTES or not op.nontemporal.value.data:
        _store_registers(e, value, pointer, alignment)
    else:
        _store_lines(e, value, pointer, alignment)


def _store_registers(e: Emitter, value: SSAValue, pointer: SSAValue, alignment: int) -> None:
    """Stores of a vector register each, from the first lane on."""
    for start, part in _registers(e, value.type, pointer):
        e.store(_part_of(e, value, part), start, alignment)


def _registers(e: Emitter, type_: Attribute, pointer: SSAValue) -> Iterator[tuple[SSAValue, range]]:
    """
    Where each vector register of a vector goes in memory, and which lanes it has. A core writes in the order of its stores, and a line
    that two of them share at once where they follow each other: the pieces to which LLVM takes a longer vector begin at its end.
    """
    element, lanes = cast(AnyVector, type_).element_type, _lanes(type_)
    each = e.symbols.vector_bits // 8 // element_bytes(element) or lanes
    for first in range(0, lanes, each):
        start = e.pointer_at(pointer, (first,), element, inbounds=False) if first else pointer
        yield start, range(first, min(first + each, lanes))


def _part_of(e: Emitter, value: SSAValue, part: range) -> SSAValue:
    return value if len(part) == _lanes(value.type) else shuffle(e, value, value, part)


def _store_lines(e: Emitter, value: SSAValue, pointer: SSAValue, alignment: int) -> None:
    """
    A nontemporal store where the address is a cache line's, as the instructions for it want, else a plain one.

    Less than a line at a time would be slower than a store that goes through the caches.
    """
    address = e.emit(llvm.PtrToIntOp, (pointer,), i64)
    low_bits = e.emit(llvm.AndOp, (address, e.constant(LINE_BYTES - 1)), i64)
    lines, others, after = Block(), Block(), Block()
    e.branch_if(e.equals(low_bits, 0), lines, others)
    e.start(lines)
    e.store(value, pointer, LINE_BYTES, nontemporal=True)
    e.branch(after)
    e.start(others)
    _store_registers(e, value, pointer, alignment)
    e.branch(after)
    e.start(after)


def _convert_masked_load(e: Emitter, op: Operation) -> None:
    assert isinstance(op, vector.MaskedLoadOp)
    type_, stored = result_type(op), memory_type(op.result.type)
    pointer = e.element_pointer(e.memref(op.base), e.indices(op.indices))
    asked = lanes_that_may_hold(op.mask, _lanes(stored))
    otherwise = _as_stored(e, op.pass_thru, stored)
    result = _masked_load(e, pointer, e.value(op.mask), otherwise, asked)
    e.bind(op.result, as_register(e, result, type_))


def _masked_load(
    e: Emitter, pointer: SSAValue, mask: SSAValue, otherwise: SSAValue, asked: Sequence[bool]
) -> SSAValue:
    """
    Loads of at most a vector register each, of those that have a lane in `asked`.

    LLVM 22.1 forgets the mask of a register of AVX2, and reads beyond the end of arrays, where it finds on its way to instructions
    that no lane of it can be asked for: so it is not given such loads.
    """
    type_, lanes = otherwise.type, _lanes(otherwise.type)
    element = cast(AnyVector, type_).element_type
    if not any(asked):
        return otherwise
    if not 0 < e.symbols.vector_bits < 8 * lanes * element_bytes(element):
        name = f"llvm.masked.load.{mangled(type_)}.p0"
        result = e.call_intrinsic(name, (pointer, mask, otherwise), type_)
        assert result is not None
        return result
    half = 1 << (lanes - 1).bit_length() - 1
    upper_pointer = e.pointer_at(pointer, (half,), element, inbounds=False)
    lower, upper = (
        _masked_load(
            e,
            start,
            shuffle(e, mask, mask, part),
            shuffle(e, otherwise, otherwise, part),
            asked[part.start : part.stop],
        )
        for start, part in ((pointer, range(half)), (upper_pointer, range(half, lanes)))
    )
    if lanes < 2 * half:
        upper = shuffle(e, upper, upper, [min(lane, lanes - half - 1) for lane in range(half)])
    return shuffle(e, lower, upper, range(lanes))


def _convert_masked_store(e: Emitter, op: Operation) -> None:
    assert isinstance(op, vector.MaskedStoreOp)
    stored = memory_type(checked(op.value_to_store.type, op)[0])
    pointer = e.element_pointer(e.memref(op.base), e.indices(op.indices))
    value, mask = _as_stored(e, op.value_to_store, stored), e.value(op.mask)
    known = known_lanes(op.mask)
    for start, part in _registers(e, stored, pointer):
        piece = _part_of(e, value, part)
        lanes = known[part.start : part.stop] if known is not None else ()
        if sum(lanes) == 1:
            _store_lane(e, piece, start, lanes.index(True))
            continue
        asked = _part_of(e, mask, part)
        if known is None and _may_be_truncated(e, stored):
            asked = _hidden(e, asked, len(part))
        e.call_intrinsic(f"llvm.masked.store.{mangled(piece.type)}.p0", (piece, start, asked), None)


def _may_be_truncated(e: Emitter, stored: Attribute) -> bool:
    """Whether a store may take its elements from wider ones, as stores of AVX-512 take those of integers."""
    element: Attribute = cast(AnyVector, stored).element_type
    size = element_bytes(element)
    return e.symbols.vector_bits >= 512 and size <= (4 if isinstance(element, IntegerType) else 2)


def _hidden(e: Emitter, mask: SSAValue, lanes: int) -> SSAValue:
    """
    The mask, of which LLVM knows nothing: it may find that it is of one lane where we do not, as of a loop's only iteration, and
    then does as of `_store_lane`.
    """
    bits, number = IntegerType(lanes), IntegerType(max(32, lanes))
    value = e.emit(llvm.BitcastOp, (mask,), bits)
    value = value if bits == number else e.emit(llvm.ZExtOp, (value,), number)
    value = e.hidden(value)
    value = value if bits == number else e.emit(llvm.TruncOp, (value,), bits)
    return e.emit(llvm.BitcastOp, (value,), mask.type)


def _store_lane(e: Emitter, value: SSAValue, pointer: SSAValue, lane: int) -> None:
    """
    Store one element of a vector where it belongs. Of a masked store of one lane whose value was truncated LLVM 22.1
    makes, with AVX-512, a store of the element before that, which writes over what follows.
    """
    element = cast(AnyVector, value.type).element_type
    place = e.pointer_at(pointer, (lane,), element) if lane else pointer
    e.store(extract_lane(e, value, lane), place, element_bytes(element))


def _as_stored(e: Emitter, vector_: SSAValue, stored: Attribute) -> SSAValue:
    """The vector as it is in memory, where an i1 takes a byte."""
    value = e.value(vector_)
    return value if stored == value.type else e.emit(llvm.ZExtOp, (value,), stored)


# Lanes.


def _of_two(e: Emitter, first: SSAValue, second: SSAValue, type_: AnyVector) -> SSAValue:
    """A vector with one scalar in all lanes of its first half, and another in those of the second."""
    lanes = _lanes(type_)
    half = vector_of(type_.element_type, lanes // 2)
    return shuffle(e, splat(e, first, half), splat(e, second, half), range(lanes))


def _convert_broadcast(e: Emitter, op: Operation) -> None:
    assert isinstance(op, vector.BroadcastOp)
    type_ = result_type(op)
    (scalar,), (result,) = operands_of(op), op.results
    source, owner = e.value(scalar), scalar.owner
    pointer = advancing_address(e, owner, 1) if isinstance(owner, Operation) else None
    if pointer is not None:
        second = load_at(e, pointer, scalar.type)
        if _lanes(type_) * element_bytes(scalar.type) * 8 > ALL_LANES_BITS:
            e.bind(result, _of_two(e, source, second, cast(AnyVector, type_)))
        else:
            e.bind(result, splat(e, source, type_))
            e.rebinding[second_user(op)] = result, splat(e, second, type_)
    elif not is_vector(source.type):
        e.bind(result, splat(e, source, type_))
    elif _lanes(source.type) == _lanes(type_):
        e.bind(result, source)
    else:
        e.bind(result, shuffle(e, source, source, (0,) * _lanes(type_)))


def _convert_shuffle(e: Emitter, op: Operation) -> None:
    assert isinstance(op, vector.ShuffleOp)
    (result,) = op.results
    checked(result.type, op)
    v1, v2 = operands_of(op)
    a, b = e.value(v1), e.value(v2)
    if a.type is not b.type and a.type != b.type:
        raise unsupported(op, f"of {v1.type} and {v2.type}")
    e.bind(result, shuffle(e, a, b, _numbered_lanes(op.mask)))


@remembered
def _numbered_lanes(mask: DenseArrayBase[IntegerType]) -> tuple[int, ...]:
    """The lanes that a mask of `vector.shuffle` numbers."""
    return mask.get_values()


def _convert_extract(e: Emitter, op: Operation) -> None:
    assert isinstance(op, vector.ExtractOp)
    checked(op.vector.type, op)
    lane = op.static_position.get_values()[0] if op.static_position.get_values() else None
    if lane is None:
        e.bind(op.result, e.value(op.vector))
    elif lane == DYNAMIC_INDEX:
        operands = (e.value(op.vector), e.value(op.dynamic_position[0]))
        e.bind(op.result, e.emit(ExtractElementOp, operands, result_type(op)))
    else:
        e.bind(op.result, extract_lane(e, e.value(op.vector), lane))


def _convert_insert(e: Emitter, op: Operation) -> None:
    assert isinstance(op, vector.InsertOp)
    type_ = result_type(op)
    position = op.static_position.get_values()
    source = op.source.type
    if not position or is_vector(source):
        raise unsupported(op, f"of {source} into {op.dest.type}")
    dynamic = position[0] == DYNAMIC_INDEX
    lane = e.value(op.dynamic_position[0]) if dynamic else e.constant(position[0])
    operands = (e.value(op.dest), e.value(op.source), lane)
    e.bind(op.result, e.emit(llvm.InsertElementOp, operands, type_))


def _convert_create_mask(e: Emitter, op: Operation) -> None:
    """Lane i is set where i is below the size."""
    assert isinstance(op, vector.CreateMaskOp)
    type_ = result_type(op)
    lanes = _lanes(type_)
    # In 32 bits, of which a register holds as many as of f32: below 0 and beyond the lanes all is said.
    counted = vector_of(i32, lanes)
    iota = e.emit(llvm.ConstantOp, (), counted, {"value": _numbers_of_lanes(lanes)})
    size = e.value(op.mask_dim_sizes[0])
    for name, limit in (("llvm.smax.i64", 0), ("llvm.smin.i64", lanes)):
        limited = e.call_intrinsic(name, (size, e.constant(limit)), i64)
        assert limited is not None
        size = limited
    bound = splat(e, e.emit(llvm.TruncOp, (size,), i32), counted)
    e.bind(op.mask_vector, e.compare("slt", iota, bound, type_))


@lru_cache(maxsize=64)
def _numbers_of_lanes(lanes: int) -> Attribute:
    """0, 1, 2 …, in 32 bits each."""
    return dense_vector(vector_of(i32, lanes), range(lanes))


# Arithmetic.


def _convert_fma(e: Emitter, op: Operation) -> None:
    properties = {"fastmathFlags": NO_FASTMATH}
    e.bind(op.results[0], e.emit(llvm.FMAOp, e.values(op.operands), result_type(op), properties))


def _convert_bitcast(e: Emitter, op: Operation) -> None:
    e.bind(op.results[0], e.emit(llvm.BitcastOp, (e.value(op.operands[0]),), result_type(op)))


_REDUCTIONS = {
    "minui": "umin",
    "minsi": "smin",
    "maxui": "umax",
    "maxsi": "smax",
    "minnumf": "fmin",
    "maxnumf": "fmax",
    "minimumf": "fminimum",
    "maximumf": "fmaximum",
}
"""The intrinsic `llvm.vector.reduce.*` of a kind, where it is called otherwise."""

_COMBINERS: dict[str, type[Operation]] = {
    "add": llvm.AddOp,
    "mul": llvm.MulOp,
    "and": llvm.AndOp,
    "or": llvm.OrOp,
    "xor": llvm.XOrOp,
}
_COMBINING_INTRINSICS = {
    "minui": "llvm.umin",
    "minsi": "llvm.smin",
    "maxui": "llvm.umax",
    "maxsi": "llvm.smax",
    "minnumf": "llvm.minnum",
    "maxnumf": "llvm.maxnum",
    "minimumf": "llvm.minimum",
    "maximumf": "llvm.maximum",
}


def _convert_reduction(e: Emitter, op: Operation) -> None:
    assert isinstance(op, vector.ReductionOp)
    type_ = result_type(op)
    kind = op.kind.data.value
    value = e.value(op.vector)
    start = e.value(op.acc) if op.acc is not None else None
    flags = fastmath_of(op)
    if isinstance(type_, _Floats) and kind in ("add", "mul"):
        reduction = llvm.VectorReduceFAddOp if kind == "add" else llvm.VectorReduceFMulOp
        if start is None:
            start = float_constant(e, -0.0 if kind == "add" else 1.0, type_)
        result = e.emit(reduction, (start, value), type_, {"fastmathFlags": flags})
    else:
        name = f"llvm.vector.reduce.{_REDUCTIONS.get(kind, kind)}.{mangled(value.type)}"
        reduced = e.call_intrinsic(name, (value,), type_, flags)
        assert reduced is not None
        result = reduced if start is None else _combine(e, kind, reduced, start, flags)
    e.bind(op.dest, result)


def _combine(e: Emitter, kind: str, a: SSAValue, b: SSAValue, flags: llvm.FastMathAttr) -> SSAValue:
    """One step of a reduction."""
    if kind in _COMBINING_INTRINSICS:
        name = f"{_COMBINING_INTRINSICS[kind]}.{mangled(a.type)}"
        result = e.call_intrinsic(name, (a, b), a.type, flags)
        assert result is not None
        return result
    wraps = kind in ("add", "mul")
    properties = {"overflowFlags": NO_OVERFLOW} if wraps else {}
    return e.emit(_COMBINERS[kind], (a, b), a.type, properties)


VECTOR: dict[type[Operation], Handler] = {
    vector.BitcastOp: _convert_bitcast,
    vector.BroadcastOp: _convert_broadcast,
    vector.CreateMaskOp: _convert_create_mask,
    vector.ExtractOp: _convert_extract,
    vector.FMAOp: _convert_fma,
    vector.InsertOp: _convert_insert,
    vector.LoadOp: _convert_load,
    vector.MaskedLoadOp: _convert_masked_load,
    vector.MaskedStoreOp: _convert_masked_store,
    vector.ReductionOp: _convert_reduction,
    vector.ShuffleOp: _convert_shuffle,
    vector.StoreOp: _convert_store,
}
