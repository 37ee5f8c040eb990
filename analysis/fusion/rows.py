"""
Whether computes that work row by row are better one kernel than several.

Computes share their rows when each reads of the others only what belongs to its own row: a softmax, a layer
norm, attention. One kernel then does block after block of rows, and what the computes hand on to
each other stays in the cache. The price: an operand that is the same for all rows (the weights of a
matrix product, the keys and values of attention) is read again for every block. `Traffic` counts both
in bytes, and `refusal` weighs the one against the other.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from collections.abc import Set as AbstractSet
from math import prod

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr, AffineMap

from ...dialects import te
from ...dialects.affine_bounds import bounds, box
from ...dialects.dtypes import bit_width
from ...dialects.shaped import tensor_type
from ...frozen import frozen
from .inlining import is_one_of_equal_slices, is_written_in_place
from .nests import Nest

CACHE_SPEEDUP = 4.0
"""How much faster the last-level cache is than memory: about 4 times on recent x86 cores."""


@frozen
class Part:
    """
    What is read of a tensor: the first and the last index along each dimension; all of it where there are none.

    Queries, keys and values that one product has made are three parts of its result.
    """

    value: SSAValue
    ranges: tuple[tuple[int, int], ...] = ()

    @staticmethod
    def of(read: te.Read, extents: Sequence[int]) -> Part:
        if read.map is None:
            return Part(read.source)
        ranges: list[tuple[int, int]] = []
        shape = tensor_type(read.source).get_shape()
        for expr, size in zip(read.map.results, shape, strict=True):
            low, high = bounds(expr, box(extents))
            if low is None or high is None:
                return Part(read.source)
            ranges.append((max(low, 0), min(high, size - 1)))
        is_whole = all(r == (0, n - 1) for r, n in zip(ranges, shape, strict=True))
        return Part(read.source, () if is_whole else tuple(ranges))


Unit = tuple[Nest, ...]
"""A nest, or a reduction and its epilogue. Only the last one's tensors are stored."""


class Tensors:
    """What is asked of nests and of their tensors, each once: it is asked for all chains that they may be in."""

    def __init__(self, is_needed: Callable[[SSAValue, Collection[Nest]], bool]):
        """`is_needed` says whether something else than some nests needs a tensor."""
        self.is_needed = is_needed
        self._bytes: dict[Part, int] = {}
        self._static: dict[Nest, bool] = {}
        self._read: dict[Nest, list[tuple[Part, AbstractSet[int]]]] = {}
        self._rows: dict[tuple[Nest, ...], tuple[int, ...]] = {}
        self._loses_tiles: dict[tuple[Nest, int], bool] = {}
        self._traffic: dict[tuple[Caches, tuple[Unit, ...]], Traffic] = {}

    def bytes(self, part: Part) -> int:
        if part not in self._bytes:
            type_ = tensor_type(part.value)
            bits = max(8, bit_width(type_.get_element_type()))
            sizes = [max(0, last - first + 1) for first, last in part.ranges]
            self._bytes[part] = prod(sizes if part.ranges else type_.get_shape()) * bits // 8
        return self._bytes[part]

    def is_static(self, nest: Nest) -> bool:
        """Whether all extents and shapes are numbers."""
        if nest not in self._static:
            types = (tensor_type(read.source) for read in nest.reads)
            self._static[nest] = DYNAMIC_INDEX not in nest.space.numbers and all(
                type_.has_static_shape() for type_ in types
            )
        return self._static[nest]

    def read(self, nest: Nest) -> list[tuple[Part, AbstractSet[int]]]:
        """What is read of each operand, and the iterators on which that depends."""
        if nest not in self._read:
            self._read[nest] = [
                (Part.of(read, nest.space.numbers), read.map.used_dims() if read.map else set())
                for read in nest.reads
            ]
        return self._read[nest]

    def shared_rows(self, nests: Sequence[Nest]) -> tuple[int, ...]:
        """
        The extents of the leading parallel iterators that all nests share.

        They are the same in each, and every access of one to another's tensor is the identity on them. Empty
        when there are none, or when an extent is a value.
        """
        key = tuple(nests)
        if key not in self._rows:
            self._rows[key] = _shared_rows(nests) if all(map(self.is_static, nests)) else ()
        return self._rows[key]

    def loses_tiles(self, anchor: Nest, rows: int) -> bool:
        """Whether blocks of so many axes of rows have no tiles for a reduction."""
        key = anchor, rows
        if key not in self._loses_tiles:
            self._loses_tiles[key] = _loses_tiles(anchor, rows)
        return self._loses_tiles[key]

    def traffic(self, units: Sequence[Unit], caches: Caches) -> Traffic:
        """What is saved and paid when the units, which share rows, are one kernel."""
        key = caches, tuple(units)
        if key not in self._traffic:
            self._traffic[key] = _traffic(units, caches, self)
        return self._traffic[key]


@frozen
class Caches:
    """Bytes: what a block of rows may take, and what is still read faster than memory."""

    block: int = 512 << 10
    last_level: int = 8 << 20


DEFAULT_CACHES = Caches()


@frozen
class Traffic:
    """
    What one kernel moves less and more than one kernel for each unit.

    Bytes, those of the last-level cache counted for less by `CACHE_SPEEDUP`; `row` is the working set of
    one row.
    """

    saved: float
    read_again: float
    row: int


def _shared_rows(nests: Sequence[Nest]) -> tuple[int, ...]:
    shapes = [[n for n in nest.space.parallel if isinstance(n, int)] for nest in nests]
    count = 0
    while all(len(shape) > count and shape[count] == shapes[0][count] for shape in shapes):
        count += 1
    own = {value for nest in nests for value in nest.stored}
    for nest in nests:
        for read in nest.reads:
            if read.source in own:
                count = min(count, _identical(read.map, nest.space.numbers))
    return tuple(shapes[0][:count])


def _identical(map_: AffineMap | None, extents: Sequence[int]) -> int:
    """How many leading subscripts are the leading iterators."""
    if map_ is None:
        return 0
    count = 0
    for dim, expr in enumerate(map_.results):
        if not _is_iterator(expr, dim, extents):
            break
        count += 1
    return count


def _is_iterator(expr: AffineExpr, dim: int, extents: Sequence[int]) -> bool:
    if isinstance(expr, AffineDimExpr):
        return expr.position == dim
    return dim < len(extents) and extents[dim] == 1 and expr == AffineConstantExpr(0)


def _traffic(units: Sequence[Unit], caches: Caches, tensors: Tensors) -> Traffic:
    rows = tensors.shared_rows([nest for unit in units for nest in unit])
    made = {value for unit in units for value in unit[-1].stored}
    accesses = [_Accesses.of(unit, rows, tensors, made) for unit in units]
    row = max(access.row_bytes for access in accesses)
    block = max(1, caches.block // max(1, row))

    def cost(moved: float, size: float) -> float:
        return moved if size > caches.last_level else moved / CACHE_SPEEDUP

    saved = sum(
        cost(tensors.bytes(value) * times, tensors.bytes(value))
        for value, times in _fewer_transfers(units, accesses, caches, tensors).items()
    )
    read_again = 0.0
    for unit, access in zip(units, accesses, strict=True):
        if any(nest.is_reduction for nest in unit):
            for value, repeats in access.shared.items():
                size = tensors.bytes(value)
                slice_ = size * repeats / prod(rows)
                read_again += cost(size * -(-repeats // block), slice_)
    return Traffic(saved, read_again, row)


def _fewer_transfers(
    units: Sequence[Unit], accesses: Sequence[_Accesses], caches: Caches, tensors: Tensors
) -> dict[Part, int]:
    """
    How many readings and writings of each tensor one kernel does not do.

    A contraction takes its operands from the second-level cache as fast as it can use them, so that what
    it reads or writes costs it nothing while it fits there: two products of matrices are not worth joining
    unless what is between them is larger.
    """
    writers = {
        Part(value): number for number, unit in enumerate(units) for value in unit[-1].stored
    }
    nests = {nest for unit in units for nest in unit}
    contracting = [any(nest.uses_again for nest in unit) for unit in units]
    fewer: dict[Part, int] = {}
    for value in dict.fromkeys(value for access in accesses for value in access.rows):
        users = [number for number, access in enumerate(accesses) if value in access.rows]
        free = tensors.bytes(value) <= caches.block
        counted = [number for number in users if not (free and contracting[number])]
        if value not in writers:
            fewer[value] = max(0, len(counted) - 1)
        elif not tensors.is_needed(value.value, nests):
            fewer[value] = len(counted)
        else:
            fewer[value] = len(counted) - (writers[value] in counted)
    return fewer


@frozen
class _Accesses:
    """
    The parts of tensors that a unit reads and writes; what one of the units has `made` is read as a whole.

    `rows` have rows of their own, with the bytes of one. `shared` are the same for several rows, with how many.
    """

    rows: dict[Part, int]
    shared: dict[Part, int]

    @property
    def row_bytes(self) -> int:
        return sum(self.rows.values())

    @staticmethod
    def of(
        unit: Unit, extents: Sequence[int], tensors: Tensors, made: Collection[SSAValue]
    ) -> _Accesses:
        own = {value for nest in unit for value in nest.results}
        count = max(1, prod(extents))
        stored = (Part(value) for value in unit[-1].stored)
        rows: dict[Part, int] = {part: tensors.bytes(part) // count for part in stored}
        shared: dict[Part, int] = {}
        for nest in unit:
            for part, used in tensors.read(nest):
                if part.value in own:
                    continue
                if part.value in made:
                    part = Part(part.value)
                repeats = prod(n for dim, n in enumerate(extents) if dim not in used)
                if repeats == 1:
                    rows[part] = tensors.bytes(part) // count
                else:
                    shared[part] = max(repeats, shared.get(part, 0))
        return _Accesses(rows, shared)


def _loses_tiles(anchor: Nest, rows: int) -> bool:
    """
    Blocks of rows have no tiles for a reduction where a product, in a row, goes along several axes of one
    operand, where its rows are along axes of both, so that a row has none to tile, or where there is a window.
    """
    extents, parallel = anchor.space.numbers, len(anchor.space.parallel)
    sides = [[dim for dim in side if extents[dim] > 1] for side in anchor.sides]
    if any(sum(dim >= rows for dim in side) > 1 for side in sides):
        return True
    if all(any(dim < rows for dim in side) for side in sides):
        return True
    subscripts = (expr for read in anchor.reads if read.map for expr in read.map.results)
    return any(_has_window(expr, extents, parallel) for expr in subscripts)


def _has_window(subscript: AffineExpr, extents: Sequence[int], parallel: int) -> bool:
    """Whether what summed iterators reach from one element overlaps with what they reach from the next."""
    origin = [0] * len(extents)
    start = subscript.eval(origin, [])
    steps = {
        dim: abs(subscript.eval([*origin[:dim], 1, *origin[dim + 1 :]], []) - start)
        for dim in subscript.used_dims()
    }
    reach = sum(step * (extents[dim] - 1) for dim, step in steps.items() if dim >= parallel)
    return any(step <= reach for dim, step in steps.items() if dim < parallel and extents[dim] > 1)


MAX_NESTS = 16
"""More than these in one kernel make its schedule hard to read, and to find."""


def refusal(
    one: Sequence[Unit],
    other: Sequence[Unit],
    caches: Caches,
    tensors: Tensors,
    *,
    contractions: bool = True,
) -> str | None:
    """
    Why two lists of units are not better one kernel; None when they are.

    Without `contractions` those that have one stay apart.
    """
    units = (*one, *other)
    nests = [nest for unit in units for nest in unit]
    anchors = [nest for nest in nests if nest.is_reduction]
    if not anchors:
        return "neither has a reduction"
    if any(combiner.is_arg for anchor in anchors for combiner in anchor.combiners):
        return "an arg-reduction has a kernel of its own"
    if any(anchor.uses_again for anchor in anchors):
        if not contractions:
            return "one has a contraction"
        if any(len(nest.stored) > 1 for nest in nests):
            return "one has a contraction, and one several results in one nest"
        if any(is_one_of_equal_slices(nest) for nest in nests):
            return "one has a contraction, and one is a view, as other slices of its shape"
        if any(is_written_in_place(nest) for unit in other for nest in unit):
            return "one has a contraction, whose chain writes straight to where the other would move it"
    if len(nests) > MAX_NESTS:
        return f"together they would be {len(nests)} nests, more than {MAX_NESTS}"
    if not all(map(tensors.is_static, nests)):
        return "their extents are not all numbers"
    rows = tensors.shared_rows(nests)
    if prod(rows) <= 1:
        return "they share no leading parallel iterator"
    if any(tensors.loses_tiles(anchor, len(rows)) for anchor in anchors):
        return "row by row, a window, or a product of several axes in a row or of none, would lose its register tiles"
    together = tensors.traffic(units, caches)
    if together.row > caches.block:
        return f"a row takes {together.row} bytes, more than the {caches.block} of a block of rows"
    apart = [tensors.traffic(part, caches) for part in (one, other) if len(part) > 1]
    saved = together.saved - sum(part.saved for part in apart)
    read_again = together.read_again - sum(part.read_again for part in apart)
    if saved <= read_again:
        return (
            f"one kernel would save {saved:.0f} bytes of traffic and read {read_again:.0f} again for "
            "its blocks of rows"
        )
    return None
