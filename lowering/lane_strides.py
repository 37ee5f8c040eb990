"""
Accesses whose lanes are the same distance apart in memory: whole vectors, and shuffles between them and the lanes.

A load of every s-th element is s vectors of neighbours, of which the shuffles take what the lanes want: two loads of the
same elements at other phases, such as the red, the green and the blue of pixels, are of the same vectors, so that each
of these is loaded once. Stores of all phases are put together and are s vectors as well. (Nuzman, Rosen and
Zaks, "Auto-Vectorization of Interleaved Data for SIMD", PLDI 2006.)
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import memref, vector
from xdsl.dialects.builtin import (
    ArrayAttr,
    IntegerAttr,
    MemRefType,
    NoneAttr,
    StridedLayoutAttr,
    VectorType,
    i1,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineExpr

from ..analysis.interleaved import MOST_APART
from ..analysis.masks import known_lanes
from ..dialects import loop
from ..dialects.affine_bounds import Range
from ..dialects.dtypes import bit_width, is_float
from ..dialects.leaf_operations import vector_of
from ..dialects.shaped import memref_type
from ..frozen import frozen
from .core_builder import CoreBuilder, Properties
from .lane_grids import Grid, load_from_grid
from .lane_subscripts import phase_of, reach, row_major, varying_part
from .lane_values import LaneValues, shuffled

REGISTER_BYTES = 64
"""Of the widest vectors that are shuffled at once: LLVM takes shuffles of several registers to pieces element by element."""


@frozen
class StridedPlace:
    """Where the lanes' elements are, in a buffer whose last dimension they move along alone."""

    buffer: SSAValue
    outer: tuple[AffineExpr, ...]
    """the subscripts before the last one"""
    varying: AffineExpr
    """what varies of the last subscript, of the lane whose element comes first in memory"""
    constant: int
    """what is added to it, the numbers that written out loops give among it: equal places are to be equal expressions"""
    operands: tuple[SSAValue, ...]
    apart: int
    is_reversed: bool
    """whether the last lane's element is the one that comes first"""
    phase: int | None
    """the remainder of the last subscript by `apart`, where that is known"""
    is_whole: bool
    """whether the neighbours from phase 0 on, `apart` for each lane, all exist"""
    block: int | None
    """the remainder of the last subscript by `apart` times the lanes that are shuffled at once, where that is known"""
    range: Range
    """of the last subscript"""
    size: int
    """of the last dimension"""
    overlaps: bool
    """whether loops that are written out make several accesses of this one, some of which have the same phase"""


def strided_place(
    op: loop.LoadOp | loop.StoreOp, values: LaneValues, builder: CoreBuilder
) -> StridedPlace | None:
    """Where the lanes of an access find their elements; None when these are not evenly apart, or too far."""
    operands = tuple(op.operands_)
    subscripts = op.map.data.results
    steps = [values.stride(e, operands) for e in subscripts]
    first = next((n for n, step in enumerate(steps) if step), None)
    type_ = memref_type(op.buffer)
    strides = type_.get_strides()
    if first is None or strides is None:
        return None
    weights = row_major(type_.get_shape()[first:], strides[first:])
    if weights is None or None in steps:
        return None
    apart = sum((step or 0) * by for step, by in zip(steps[first:], weights, strict=True))
    if not 0 < abs(apart) <= MOST_APART:
        return None
    flat = sum(
        (e * by for e, by in zip(subscripts[first:], weights, strict=True)), AffineExpr.constant(0)
    )
    if apart < 0:
        flat += apart * (values.lanes - 1)
    buffer = _flattened(values.scalar.values[op.buffer], first, builder)
    phase = phase_of(flat, operands, values, abs(apart))
    width = _width(type_.element_type, values.lanes)
    block = phase_of(flat, operands, values, abs(apart) * width)
    low, high = values.scalar.expander.range_of(flat, [values.scalar.values[v] for v in operands])
    size = memref_type(buffer).get_shape()[-1]
    is_whole = (
        phase is not None
        and low is not None
        and high is not None
        and low >= phase
        and high - phase + abs(apart) * values.lanes <= size
    )
    outer = tuple(subscripts[:first])
    varying, constant = varying_part(flat, operands, values)
    overlaps = reach(flat, operands) >= abs(apart)
    return StridedPlace(
        buffer,
        outer,
        varying,
        constant,
        operands,
        abs(apart),
        apart < 0,
        phase,
        is_whole,
        block,
        (low, high),
        size,
        overlaps,
    )


def _flattened(buffer: SSAValue, first: int, builder: CoreBuilder) -> SSAValue:
    """The buffer with its dimensions from one on as one."""
    type_ = memref_type(buffer)
    shape = type_.get_shape()
    if first == len(shape) - 1:
        return buffer
    size = 1
    for extent in shape[first:]:
        size *= extent
    layout = type_.layout
    if not isinstance(layout, NoneAttr):
        strides, offset = type_.get_strides(), type_.get_offset()
        assert strides is not None
        layout = StridedLayoutAttr([*strides[:first], 1], offset)
    new = MemRefType(type_.element_type, (*shape[:first], size), layout, type_.memory_space)
    groups = [[n] for n in range(first)] + [list(range(first, len(shape)))]
    return builder.shared(
        memref.CollapseShapeOp, (buffer,), new, {"reassociation": _groups(groups)}, mark=first
    )


def _groups(groups: Sequence[Sequence[int]]) -> ArrayAttr[ArrayAttr[IntegerAttr]]:
    return ArrayAttr([ArrayAttr([IntegerAttr(n, i64) for n in group]) for group in groups])


# Loads.


def load_strided(
    place: StridedPlace, values: LaneValues, builder: CoreBuilder
) -> tuple[SSAValue, bool]:
    """
    The elements of the lanes that run, and whether the others are zero; nothing beyond what `place` says exists is touched.
    """
    element = memref_type(place.buffer).element_type
    width = _width(element, values.lanes)
    parts: list[SSAValue] = []
    is_zero = True
    for start in range(0, values.lanes, width):
        mask = _lanes_of(values, builder, start, width, place.is_reversed)
        found = _from_grid(place, start, width, mask, values, builder)
        if found is not None:
            parts.append(found[0])
            is_zero = is_zero and found[1]
        elif mask is None and place.is_whole and place.apart > 1:
            parts.append(_dealt_out(place, start, width, values, builder))
        else:
            parts.append(_picked(place, start, width, mask, values, builder))
    whole = _joined(builder, parts)
    return (_reversed(builder, whole) if place.is_reversed else whole), is_zero


def _from_grid(
    place: StridedPlace,
    start: int,
    width: int,
    mask: SSAValue | None,
    values: LaneValues,
    builder: CoreBuilder,
) -> tuple[SSAValue, bool] | None:
    """
    The same of vectors of a grid, and whether lanes that do not run are zero. None where it is not known where in the grid
    lanes are or which of them run, or where other vectors would do that are not loaded anyway.
    """
    runs = (True,) * width if mask is None else known_lanes(mask)
    is_shared = place.block is not None and (place.block < place.apart or place.overlaps)
    if runs is None or place.block is None or not is_shared or place.apart == 1:
        return None
    first = start * place.apart - place.block
    type_ = vector_of(memref_type(place.buffer).element_type, width)

    def load(number: int, there: tuple[bool, ...]) -> SSAValue:
        if not any(there):
            return zeros()
        part = None if all(there) else values.dense(vector_of(i1, width), there)
        return _load(place, first + number * width, width, part, values, builder)

    def zeros() -> SSAValue:
        return values.dense(type_, [0.0 if is_float(type_.element_type) else 0])

    def deal_out(vectors: list[SSAValue], phase: int) -> SSAValue:
        return _every(vectors, place.apart, phase, builder)

    exist = tuple(_exist(place, first + n * width, width) for n in range(2 * place.apart))
    if mask is None:  # whole vectors that overlap need no masks
        exist = tuple(there if there and all(there) else None for there in exist)
    grid = Grid(place.apart, width, place.block, exist, load, zeros, deal_out)
    return load_from_grid(grid, runs, builder)


def _exist(place: StridedPlace, offset: int, width: int) -> tuple[bool, ...] | None:
    """Which of so many neighbours exist, from an offset behind the first lane's element on; None where that varies."""
    low, high = place.range
    if low is None or high is None:
        return None
    if low + offset >= 0 and high + offset + width <= place.size:
        return (True,) * width
    if low != high:
        return None
    return tuple(0 <= low + offset + n < place.size for n in range(width))


def _dealt_out(
    place: StridedPlace, start: int, width: int, values: LaneValues, builder: CoreBuilder
) -> SSAValue:
    """Of `apart` whole vectors, the elements at the phase."""
    phase = place.phase
    assert phase is not None
    first = start * place.apart - phase
    vectors = [
        _load(place, first + n * width, width, None, values, builder) for n in range(place.apart)
    ]
    return _every(vectors, place.apart, phase, builder)


def _every(vectors: Sequence[SSAValue], apart: int, phase: int, builder: CoreBuilder) -> SSAValue:
    """Of `apart` vectors of neighbours, those at a phase."""
    width = len_of(vectors[0])
    while apart % 2 == 0:
        # Every other element of two vectors is one: other phases use half of these results too.
        chosen = [2 * n + phase % 2 for n in range(width)]
        vectors = [
            shuffled(builder, a, b, chosen)
            for a, b in zip(vectors[::2], vectors[1::2], strict=True)
        ]
        apart, phase = apart // 2, phase // 2
    at = [apart * lane + phase for lane in range(width)]
    return _gathered(builder, vectors, [(n // width, n % width) for n in at])


def _picked(
    place: StridedPlace,
    start: int,
    width: int,
    mask: SSAValue | None,
    values: LaneValues,
    builder: CoreBuilder,
) -> SSAValue:
    """
    The same of vectors that begin with the first lane's element and end with the last lane's, the last of which
    overlap. With lanes that do not run, only the elements of those that run are loaded.
    """
    apart = place.apart
    last = (apart - 1) * (width - 1)
    starts = [*(n * width for n in range(apart - 1) if n * width < last), last]
    vectors = [
        _load(
            place,
            start * apart + at,
            width,
            _spread_mask(mask, at, apart, width, values, builder),
            values,
            builder,
        )
        for at in starts
    ]
    chosen: list[tuple[int, int]] = []
    for lane in range(width):
        at = apart * lane
        number = min(at // width, len(starts) - 1)
        chosen.append((number, at - starts[number]))
    return _gathered(builder, vectors, chosen)


def _load(
    place: StridedPlace,
    offset: int,
    width: int,
    mask: SSAValue | None,
    values: LaneValues,
    builder: CoreBuilder,
) -> SSAValue:
    """So many neighbours, from an offset behind the first lane's element on."""
    element = memref_type(place.buffer).element_type
    type_ = vector_of(element, width)
    operands = (place.buffer, *_indices(place, offset, values, builder))
    if mask is None:
        return builder.read(vector.LoadOp, operands, type_, mark=width)
    zeros = values.dense(type_, [0.0 if is_float(element) else 0])
    return builder.read(vector.MaskedLoadOp, (*operands, mask, zeros), type_)


def _indices(
    place: StridedPlace, offset: int, values: LaneValues, builder: CoreBuilder
) -> list[SSAValue]:
    constant = place.constant + offset
    last = place.varying + constant if constant else place.varying
    return [values.expand(builder, e, place.operands) for e in (*place.outer, last)]


def _gathered(
    builder: CoreBuilder, vectors: Sequence[SSAValue], chosen: Sequence[tuple[int, int]]
) -> SSAValue:
    """The vector of elements, each of which is given as the number of a vector and the lane there."""
    width = len(chosen)
    result = vectors[0]
    if len(vectors) == 1 and chosen != [(0, n) for n in range(width)]:
        return shuffled(builder, result, result, [at for _, at in chosen])
    for number in range(1, len(vectors)):
        kept = [at for _, at in chosen] if number == 1 else list(range(width))
        lanes = [
            width + at if n == number else kept[lane] if n < number else 0
            for lane, (n, at) in enumerate(chosen)
        ]
        result = shuffled(builder, result, vectors[number], lanes)
    return result


# Stores.


def store_interleaved(
    place: StridedPlace,
    stored: Sequence[SSAValue],
    values: LaneValues,
    builder: CoreBuilder,
    hint: Properties,
) -> None:
    """Store vectors of lanes side by side: what each lane has of all of them is neighbours."""
    element = memref_type(place.buffer).element_type
    width = _width(element, values.lanes)
    for start in range(0, values.lanes, width):
        lanes = list(range(start, start + width))
        parts = [
            value if width == values.lanes else shuffled(builder, value, value, lanes)
            for value in stored
        ]
        mask = _lanes_of(values, builder, start, width, False)
        for number, whole in enumerate(_put_together(builder, parts)):
            indices = _indices(place, start * place.apart + number * width, values, builder)
            if mask is None:
                builder.append(vector.StoreOp, (whole, place.buffer, *indices), hint)
                continue
            chosen = [(number * width + n) // place.apart for n in range(width)]
            runs = shuffled(builder, mask, mask, chosen)
            builder.append(vector.MaskedStoreOp, (place.buffer, *indices, runs, whole))


def _put_together(builder: CoreBuilder, vectors: Sequence[SSAValue]) -> list[SSAValue]:
    """As many vectors, in which the first element of each comes first, then the second of each."""
    count, width = len(vectors), len_of(vectors[0])
    if count == 1 or width == 1:
        return list(vectors)
    if count % 2 == 0:
        even = _put_together(builder, vectors[::2])
        odd = _put_together(builder, vectors[1::2])
        return [
            shuffled(builder, a, b, [n // 2 + half + n % 2 * width for n in range(width)])
            for a, b in zip(even, odd, strict=True)
            for half in (0, width // 2)
        ]
    places = ([divmod(number * width + n, count) for n in range(width)] for number in range(count))
    return [
        _gathered(builder, vectors, [(which, lane) for lane, which in place]) for place in places
    ]


# Parts of vectors.


def _width(element: Attribute, lanes: int) -> int:
    """Lanes of the vectors that are shuffled at once."""
    return min(lanes, REGISTER_BYTES * 8 // max(bit_width(element), 8))


def len_of(vector_value: SSAValue) -> int:
    """The lanes of a vector."""
    type_ = vector_value.type
    assert isinstance(type_, VectorType)
    return type_.get_shape()[0]


def _lanes_of(
    values: LaneValues, builder: CoreBuilder, start: int, width: int, is_reversed: bool
) -> SSAValue | None:
    """Which of some lanes run, in the order of their elements in memory; None when all do."""
    mask = values.mask
    if mask is None:
        return None
    lanes = list(range(start, start + width))
    if is_reversed:
        lanes = [values.lanes - 1 - lane for lane in lanes]
    if lanes == list(range(values.lanes)):
        return mask
    known = known_lanes(mask)
    if known is not None:
        return values.dense(vector_of(i1, width), [known[lane] for lane in lanes])
    return shuffled(builder, mask, mask, lanes)


def _spread_mask(
    mask: SSAValue | None,
    offset: int,
    apart: int,
    width: int,
    values: LaneValues,
    builder: CoreBuilder,
) -> SSAValue | None:
    """Of so many neighbours, an offset behind the first lane's element, those that lanes that run read."""
    if mask is None or apart == 1:
        return mask
    none = values.dense(vector_of(i1, width), [0])
    elements = range(offset, offset + width)
    return shuffled(builder, mask, none, [width if n % apart else n // apart for n in elements])


def _joined(builder: CoreBuilder, parts: Sequence[SSAValue]) -> SSAValue:
    """One vector of several of the same length, whose number is a power of two."""
    while len(parts) > 1:
        lanes = list(range(2 * len_of(parts[0])))
        parts = [
            shuffled(builder, a, b, lanes) for a, b in zip(parts[::2], parts[1::2], strict=True)
        ]
    return parts[0]


def _reversed(builder: CoreBuilder, whole: SSAValue) -> SSAValue:
    return shuffled(builder, whole, whole, list(reversed(range(len_of(whole)))))
