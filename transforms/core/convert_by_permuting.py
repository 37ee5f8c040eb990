"""Narrow integers become floats where a permutation of bytes puts them: in the significand of a power of two."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import ClassVar, NamedTuple, cast

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith, math, memref, vector
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    VectorType,
    i1,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import is_side_effect_free

from ...analysis.levels import Level
from ...analysis.operations import operations_of, operations_of_kinds
from ...analysis.splats import number_in_all_lanes
from ...dialects.dtypes import bit_width, significand_bits
from ...dialects.scalar import BETWEEN
from ...dialects.upstream.arith_casts import VectorSIToFPOp, VectorUIToFPOp
from ...frozen import frozen
from ...targets.target import Target
from ..stepwell_pass import StepwellPass
from ..unused import erase_unused


@frozen
class CoreConvertByPermutingPass(StepwellPass):
    """
    Convert narrow integers that were just loaded to floats by permuting their bytes into significands.

    Before: `arith.uitofp` to f64 of a `vector.shuffle` of `vector.load`s, such as the red of pixels of three bytes. After:
    one load of the bytes of several vectors of floats, behind them the bytes of 2^52; for each vector one permutation that
    puts the integers at the low ends of the elements and the exponent at the high ends, and a subtraction of 2^52. A
    significand's lowest bit then counts ones, so this is exact (H. S. Warren, "Hacker's Delight", chapter 17). The
    permutation deals out the pixels as well. A conversion by way of 32 bits takes, besides, two instructions to widen and
    two to convert, most of them where permutations go, too. Signed integers have their highest bit inverted first, and half
    their range taken away at the end.

    Only for a target with one instruction for any permutation of a register's bytes (VBMI). Neighbours that become f32
    stay, as instructions widen them as fast; so do vectors that something may have been stored to between their loads,
    and those where a vector of floats is of more than a register of integers.
    """

    name = "core-convert-by-permuting"
    level_in: ClassVar[Level] = Level.CORE
    level_out: ClassVar[Level] = Level.CORE

    target: str | Target = "host"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        found = cast(list[_Conversion], operations_of_kinds(op, _CONVERSIONS))
        target = Target.of(self.target) if found else None
        if target is None or not target.permutes_bytes:
            return
        loads = _Loads()
        for conversion in found:
            plan = _planned(conversion, target, loads)
            if plan is not None:
                _rewrite(conversion, plan, loads)


_Conversion = VectorUIToFPOp | VectorSIToFPOp
_CONVERSIONS = frozenset((VectorUIToFPOp, VectorSIToFPOp))
_STORES = (vector.StoreOp, vector.MaskedStoreOp, vector.TransferWriteOp)


class _Place(NamedTuple):
    """Where an element is in memory, but for how many elements further."""

    block: Block
    written: int
    """the operations of the block before it that may have stored to memory"""
    buffer: SSAValue
    outer: tuple[SSAValue, ...]
    base: SSAValue | None
    """what the last subscript is, but for a constant"""


@frozen
class _Plan:
    """How one conversion is done: `loads` of integers, and for each vector of floats which one it is from."""

    place: _Place
    before: vector.LoadOp
    """the last one of the loads that were there, for where the others go and their subscripts"""
    shift: int
    """elements from the first subscript of `before` to the first of all that were loaded"""
    starts: tuple[int, ...]
    """of each load the first element, counted from the first of all that were loaded"""
    counts: tuple[int, ...]
    """of each load how many elements"""
    pieces: tuple[tuple[int, tuple[int, ...]], ...]
    """for each vector of floats the number of the load, and the elements there"""
    form: _Form


@frozen
class _Form:
    """An integer as the lowest of the `units` that a float is made of, of as many bits as the integer."""

    source: IntegerType
    to: Attribute
    is_signed: bool
    register_bits: int

    @property
    def units(self) -> int:
        return bit_width(self.to) // self.source.bitwidth

    @property
    def lanes(self) -> int:
        """Floats of a register."""
        return self.register_bits // bit_width(self.to)

    @property
    def size(self) -> int:
        """Integers of a register."""
        return self.register_bits // self.source.bitwidth

    @property
    def upper(self) -> tuple[int, ...]:
        """The units above the integer, from the lowest one on: those of the power of two whose significand counts ones."""
        digits = significand_bits(self.to) - 1
        bias = {32: 127, 64: 1023}[bit_width(self.to)]
        bits = (bias + digits) << digits
        width = self.source.bitwidth
        return tuple(bits >> (width * n) & ((1 << width) - 1) for n in range(1, self.units))

    @property
    def appended(self) -> tuple[int, ...]:
        """The different ones among `upper`, which stand behind the integers."""
        return tuple(dict.fromkeys(self.upper))

    @property
    def taken_away(self) -> float:
        """What a float is too great by, after the permutation."""
        half = 1 << (self.source.bitwidth - 1) if self.is_signed else 0
        return float((1 << (significand_bits(self.to) - 1)) + half)


# What may be converted so.


class _Loads:
    """Where loads are, and those that were made."""

    def __init__(self) -> None:
        self.order: dict[Operation, int] = {}
        self._written: dict[Operation, int] = {}
        self._known: set[Block] = set()
        self.made: dict[tuple[_Place, int, int, _Form], SSAValue] = {}

    def place(self, load: vector.LoadOp) -> tuple[_Place, int]:
        """Where the first element of a load is, and by how many elements it is further than the place says."""
        block = load.parent_block()
        assert block is not None
        if block not in self._known:
            self._known.add(block)
            count = 0
            for number, op in enumerate(operations_of(block)):
                self.order[op], self._written[op] = number, count
                count += _may_write(op)
        *outer, last = load.indices
        base, offset = _base_and_offset(last)
        return _Place(block, self._written[load], load.base, tuple(outer), base), offset


def _may_write(op: Operation) -> bool:
    if op.dialect_name() in ("arith", "math", "vector"):
        return isinstance(op, _STORES)
    return not isinstance(op, memref.LoadOp) and not is_side_effect_free(op)


def _base_and_offset(value: SSAValue) -> tuple[SSAValue | None, int]:
    offset = 0
    while isinstance(op := value.owner, arith.AddiOp):
        number = _number(op.rhs)
        if number is None:
            break
        offset, value = offset + number, op.lhs
    number = _number(value)
    return (value, offset) if number is None else (None, offset + number)


def _number(value: SSAValue) -> int | None:
    owner = value.owner
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr):
        return owner.value.value.data
    return None


def _planned(op: Operation, target: Target, loads: _Loads) -> _Plan | None:
    """How a conversion is done; None where it stays as it is."""
    source, to = (cast("VectorType[Attribute]", v.type) for v in (op.operands[0], op.results[0]))
    element, lanes = source.element_type, to.get_shape()[0]
    bits, is_signed = bit_width(element), isinstance(op, VectorSIToFPOp)
    if bits not in (8, 16) or bit_width(to.element_type) not in (32, 64):
        return None
    form = _Form(IntegerType(bits), to.element_type, is_signed, target.core.vector_bits)
    count = lanes // form.lanes
    if lanes % form.lanes or count & (count - 1):
        return None
    lane_sources = [_source(op.operands[0], lane) for lane in range(lanes)]
    found = dict.fromkeys(load for load, _ in lane_sources if load is not None)
    if not found or any(load is None for load, _ in lane_sources):
        return None
    places = {load: loads.place(load) for load in found}
    place = next(iter(places.values()))[0]
    if any(other != place for other, _ in places.values()):
        return None
    first = min(offset for _, offset in places.values())
    elements = [places[load][1] - first + at for load, at in lane_sources if load is not None]
    if bit_width(form.to) == 32 and all(b - a == 1 for a, b in pairwise(elements)):
        return None
    before = max(found, key=lambda load: loads.order[load])
    known = _known_elements(places, first)
    return _grouped(elements, known, place, before, first - places[before][1], form)


def _source(value: SSAValue, lane: int) -> tuple[vector.LoadOp | None, int]:
    """The load, and the lane there, that a lane's element is from, through shuffles; None where there is none."""
    while isinstance(op := value.owner, vector.ShuffleOp):
        chosen = op.mask.get_values()[lane]
        size = cast("VectorType[Attribute]", op.v1.type).get_shape()[0]
        value, lane = (op.v1, chosen) if chosen < size else (op.v2, chosen - size)
    if isinstance(op, vector.LoadOp) and len(op.result.type.get_shape()) == 1:
        return op, lane
    return None, lane


def _known_elements(places: dict[vector.LoadOp, tuple[_Place, int]], first: int) -> frozenset[int]:
    """The elements that are loaded anyway, so that they exist."""
    return frozenset(
        offset - first + n
        for load, (_, offset) in places.items()
        for n in range(load.result.type.get_shape()[0])
    )


def _grouped(
    elements: Sequence[int],
    known: frozenset[int],
    place: _Place,
    before: vector.LoadOp,
    shift: int,
    form: _Form,
) -> _Plan | None:
    """As few loads as hold the elements of all vectors of floats, at places that other phases of the elements share."""
    vectors = [elements[n : n + form.lanes] for n in range(0, len(elements), form.lanes)]
    room = form.size - len(form.appended)
    spans = [max(v) - min(v) + 1 for v in vectors]
    if max(spans) > room:
        return None
    span = min(vectors[1]) - min(vectors[0]) if len(vectors) > 1 else max(spans)
    if not 0 < span <= room:
        return None
    each = room // span * span
    numbers: dict[int, int] = {}
    pieces: list[tuple[int, tuple[int, ...]]] = []
    for vector_ in vectors:
        start = min(vector_) // each * each
        if max(vector_) - start >= room:
            return None
        number = numbers.setdefault(start, len(numbers))
        pieces.append((number, tuple(n - start for n in vector_)))
    counts: list[int] = []
    for start in numbers:
        most = next((n for n in range(room) if start + n not in known), room)
        counts.append(min(each, most))
    if any(max(at) >= counts[number] for number, at in pieces):
        return None
    return _Plan(place, before, shift, tuple(numbers), tuple(counts), tuple(pieces), form)


# The rewrite.


def _rewrite(op: Operation, plan: _Plan, loads: _Loads) -> None:
    form = plan.form
    sources = [
        _integers(plan, start, count, loads)
        for start, count in zip(plan.starts, plan.counts, strict=True)
    ]
    builder = Builder(InsertPoint.before(op))
    parts: list[SSAValue] = []
    for number, at in plan.pieces:
        lanes: list[int] = []
        for n in at:
            lanes += [n, *(form.size - 1 - form.appended.index(unit) for unit in form.upper)]
        units = _shuffled(builder, sources[number], sources[number], lanes)
        type_ = VectorType(form.to, (form.lanes,))
        parts.append(builder.insert(vector.BitcastOp(units, type_)).result)
    while len(parts) > 1:
        size = 2 * cast("VectorType[Attribute]", parts[0].type).get_shape()[0]
        parts = [
            _shuffled(builder, a, b, range(size))
            for a, b in zip(parts[::2], parts[1::2], strict=True)
        ]
    for product, factor in _products(op, form):
        _fuse(product, factor, parts[0], form)
    source = op.operands[0]
    if op.results[0].uses:
        _subtract(op, parts[0], form)
    else:
        Rewriter.erase_op(op)
    erase_unused([source])


def _subtract(op: Operation, shifted: SSAValue, form: _Form) -> None:
    """Take away from all lanes what they are too great by."""
    builder = Builder(InsertPoint.before(op))
    whole = _filled(builder, form.taken_away, shifted.type)
    difference = builder.insert(arith.SubfOp(shifted, whole))
    half = 1 << (form.source.bitwidth - 1)
    low = -half if form.is_signed else 0
    _bound(difference, low, low + 2 * half - 1, form)
    difference.result.name_hint = op.results[0].name_hint
    Rewriter.replace_op(op, [], [difference.result])


def _products(op: Operation, form: _Form) -> list[tuple[arith.MulfOp, float]]:
    """
    Products of the floats with constants, which a fused multiply-add gives of what is not subtracted from yet: it is
    rounded once. A zero must not be negative then, nor its power of two too great.
    """
    found: list[tuple[arith.MulfOp, float]] = []
    for use in op.results[0].uses:
        product = use.operation
        if not isinstance(product, arith.MulfOp) or form.is_signed:
            return []
        number = number_in_all_lanes(product.operands[1 - use.index])
        if not isinstance(number, float) or not 2.0**-60 < number < 2.0**60:
            return []
        found.append((product, number))
    return found


def _fuse(product: arith.MulfOp, factor: float, shifted: SSAValue, form: _Form) -> None:
    """
    Before: `(%shifted - 2^52) * 0.5`. After: `fma(%shifted, 0.5, -0.5 * 2^52)`.
    """
    builder = Builder(InsertPoint.before(product))
    by, less = (
        _filled(builder, number, shifted.type) for number in (factor, -factor * form.taken_away)
    )
    fused = builder.insert(math.FmaOp(shifted, by, less))
    # A little more, as the product is rounded.
    _bound(fused, 0, factor * ((1 << form.source.bitwidth) - 1) * (1 + 2.0**-20), form)
    fused.result.name_hint = product.result.name_hint
    Rewriter.replace_op(product, [], [fused.result])


def _bound(op: Operation, low: float, high: float, form: _Form) -> None:
    """Say between which numbers the result is: the permutation does not tell."""
    ends = (FloatAttr(float(end), form.to) for end in (low, high))  # pyright: ignore[reportArgumentType, reportCallIssue]
    op.attributes[BETWEEN] = ArrayAttr(ends)


def _filled(builder: Builder, number: float, type_: Attribute) -> SSAValue:
    vector_type = cast("VectorType[Attribute]", type_)
    attr = FloatAttr(number, vector_type.element_type)  # pyright: ignore[reportArgumentType, reportCallIssue]
    constant = builder.insert(arith.ConstantOp(attr)).result
    return builder.insert(vector.BroadcastOp(constant, vector_type)).vector


def _integers(plan: _Plan, start: int, count: int, loads: _Loads) -> SSAValue:
    """A register of so many integers from a place on, with the units of the power of two at its end, the first one last."""
    form = plan.form
    offset = plan.shift + start
    last = plan.before.indices[-1]
    key = (plan.place, _base_and_offset(last)[1] + offset, count, form)
    if key in loads.made:
        return loads.made[key]
    builder = Builder(InsertPoint.before(plan.before))
    if offset:
        by = builder.insert(arith.ConstantOp(IntegerAttr(offset, IndexType()))).result
        last = builder.insert(arith.AddiOp(last, by)).result
    type_ = VectorType(form.source, (form.size,))
    tail = form.appended[::-1]
    units = _dense(builder, type_, [0] * (form.size - len(tail)) + [*tail])
    runs = _dense(builder, VectorType(i1, (form.size,)), [n < count for n in range(form.size)])
    indices = [*plan.before.indices[:-1], last]
    load = vector.MaskedLoadOp(plan.before.base, indices, runs, units, type_)
    result = builder.insert(load).result
    if form.is_signed:
        sign = 1 << (form.source.bitwidth - 1)
        signs = _dense(builder, type_, [sign if n < count else 0 for n in range(form.size)])
        result = builder.insert(arith.XOrIOp(result, signs)).result
    loads.made[key] = result
    return result


def _dense(builder: Builder, type_: VectorType[Attribute], values: Sequence[int]) -> SSAValue:
    width = bit_width(type_.element_type)
    signed = [v - (1 << width) if width > 1 and v >> (width - 1) else int(v) for v in values]
    elements = DenseIntOrFPElementsAttr.from_list(cast("VectorType[IntegerType]", type_), signed)
    return builder.insert(arith.ConstantOp(elements, type_)).result


def _shuffled(builder: Builder, a: SSAValue, b: SSAValue, lanes: Sequence[int]) -> SSAValue:
    element = cast("VectorType[Attribute]", a.type).element_type
    mask = DenseArrayBase.from_list(i64, [*lanes])
    type_ = VectorType(element, (len(lanes),))
    shuffle = vector.ShuffleOp.build(
        operands=[a, b], result_types=[type_], properties={"mask": mask}
    )
    return builder.insert(shuffle).result
