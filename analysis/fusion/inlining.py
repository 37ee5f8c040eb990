"""Whether a producer is evaluated where its elements are read, instead of being stored."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import lru_cache
from math import prod

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap

from ...dialects import te
from ...dialects.affine_bounds import linear_form
from ...dialects.dtypes import bit_width
from ...dialects.shaped import tensor_type
from ...targets.core import LINE_BYTES
from ..cost import CHEAP, is_data_movement, only_selects
from ..interleaved import MOST_APART
from ..operations import may_trap
from ..strided_views import Placing, view_behind
from .nests import Nest, leaves_operand_with

MAX_READS = 16
"""
A nest that reads more streams than this is not given further operands: registers run out. Elements that are always as far
from one another are one stream, as those of a stencil, or of a few weights: one register has where it is.
"""

MOST_TESTS = 4
"""As often it is tested in which part of a join an element is, as where borders are joined to what a stencil reads."""

LONG_ROWS = 16
"""Cache lines of a row from which it matters that the row begins with a line."""

MOST_BORDER = 1.25
"""Elements that there are with a narrow border, for each of what is inside."""

MAX_RESULTS = 16
"""As many results are stored side by side: every one is a stream of its own to memory."""

MAX_BODY_OPS = 96
"""Bodies do not grow beyond this by what is evaluated at several points."""

MAX_OPERATIONS = 2048
"""No body grows beyond this: LLVM's time for a block of straight-line code grows faster than the block."""


def why_stored(consumer: Nest, producer: Nest, read: te.Read, readers: int) -> str | None:
    """
    Why the producer is not evaluated where the consumer reads it; None when it is.

    `readers` is how many nests read the producer.
    """
    map_ = read.map
    if consumer.is_reshape:
        return "the consumer is a view of it"
    if is_slice(consumer) and _is_join_of_computed(producer):
        return "the consumer is a view of it, as what computes its parts writes them there"
    if producer.is_reduction:
        return "the producer is a reduction; recomputing it at each read would multiply its work"
    reads = consumer.reads_of(producer.results)
    if map_ is None or any(each.map is None for each in reads):
        return "the consumer reads it at computed indices"
    if read.pad is not None:
        reason = _why_padded(consumer, producer, map_)
        if reason is not None:
            return reason
    if _is_transposition(consumer) and any(r.pad is not None for r in producer.reads):
        return "a transposition tests no condition for each element, as of which part of a join it is in"
    if any(r.map is None for r in producer.reads) and consumer.is_reduction:
        return "the producer reads at computed indices, inside a reduction"
    if len(producer.reads) > 1 and producer.is_join and len(reads) * readers > MOST_TESTS:
        return f"which of its parts an element is in would be tested {len(reads) * readers} times"
    if _has_too_many_streams(consumer, producer, reads):
        return f"the consumer would have more than {MAX_READS} operands"
    is_once = consumer.is_whole(read) and len(reads) == 1
    most = MAX_OPERATIONS if is_once or producer.is_movement else MAX_BODY_OPS
    if consumer.operations + producer.operations > most:
        return f"the body would have more than {most} operations"
    if producer.is_movement:
        return (
            _why_not_padded(consumer, producer, map_)
            or _why_bordered(consumer, producer, readers)
            or _why_not_moved(consumer, producer, map_)
            or _why_taken_first(consumer, producer, map_)
        )
    return _recomputation(consumer, producer, reads, readers)


def _has_too_many_streams(consumer: Nest, producer: Nest, reads: list[te.Read]) -> bool:
    """Whether a nest would have too many operands if it computed what it reads so of a producer."""
    if len(consumer.reads) - len(reads) + len(producer.reads) * len(reads) <= MAX_READS:
        return False
    streams = {_stream(read) for read in consumer.reads if read not in reads}
    for read in reads:
        _, operands = producer.seen_through(read, consumer.space.numbers)
        streams |= {_stream(each) for each in operands}
    return len(streams) > MAX_READS


def _stream(read: te.Read) -> Hashable:
    """What is equal for reads of elements that are always as far from one another; each that may be outside is one."""
    forms = None if read.map is None or read.pad is not None else _coefficients(read.map)
    return read if forms is None else (read.source, forms)


@lru_cache(maxsize=1 << 12)
def _coefficients(map_: AffineMap) -> tuple[tuple[int, ...], ...] | None:
    """How far each subscript goes with each iterator; None where one is not linear."""
    forms = [linear_form(expr, map_.num_dims) for expr in map_.results]
    known = tuple(tuple(form[0]) for form in forms if form is not None)
    return known if len(known) == len(forms) else None


def is_slice(nest: Nest) -> bool:
    """Whether a nest has the elements of a box of its operand, in their order."""
    if nest.points or not nest.is_movement or len(nest.reads) != 1:
        return False
    (read,) = nest.reads
    if read.map is None or read.pad is not None or len(read.map.results) != read.map.num_dims:
        return False
    linear = [linear_form(expr, read.map.num_dims) for expr in read.map.results]
    own = [[int(axis == n) for axis in range(len(linear))] for n in range(len(linear))]
    return [None if one is None else list(one[0]) for one in linear] == own


def is_one_of_equal_slices(nest: Nest) -> bool:
    """
    Whether a nest is a slice of a tensor of which there are others of the same shape, none cut along the innermost axis:
    kernels that read such slices as views are one kernel, which is compiled once.
    """
    if not nest.space.numbers or not is_slice(nest):
        return False  # of no axes, it has no innermost one
    (read,) = nest.reads
    type_ = nest.root.result.type
    if nest.space.numbers[-1] != tensor_type(read.source).get_shape()[-1]:
        return False
    equal = (
        isinstance(use.operation, te.ComputeOp)
        and use.operation.result.type == type_
        and is_data_movement(use.operation)
        for use in read.source.uses
    )
    return sum(equal) > 1


def is_written_in_place(nest: Nest) -> bool:
    """
    Whether a nest only moves a tensor that nothing else needs, such that what makes this can write to where the elements
    go, row by row: the heads of attention, which are the middle axis of its result. Apart it costs nothing, and what
    makes the tensor keeps the order of its loops.
    """
    if not nest.is_movement or nest.points or DYNAMIC_INDEX in nest.space.numbers:
        return False
    (read,) = nest.reads
    if (
        read.map is None
        or not read.source.has_one_use()
        or not isinstance(read.source.owner, te.ComputeOp)
    ):
        return False
    shape, extents = tensor_type(read.source).get_shape(), nest.space.numbers
    placing = view_behind(read.map, extents, Placing.contiguous(extents), shape)
    return placing is not None and placing.has_unit_rows(shape)


def _is_join_of_computed(nest: Nest) -> bool:
    """Whether a nest joins tensors, without arithmetic, that are computed for nothing else."""
    reads = list(nest.reads)
    if nest.is_reduction or nest.points or len(nest.roots) != 1 or len(reads) < 2:
        return False
    sources = [read.source for read in reads]
    is_computed = all(
        isinstance(source.owner, te.ComputeOp) and source.has_one_use() for source in sources
    )
    return is_computed and only_selects(nest.root)


def _why_padded(consumer: Nest, producer: Nest, map_: AffineMap) -> str | None:
    """Why what is read outside of it too is stored: else it selects its pad where that is outside."""
    if producer.is_movement:
        if consumer.is_movement and _is_transposition(producer):
            return "a transposition tests no condition for each element: it is written inside of the border"
        (read,) = producer.reads
        if leaves_operand_with(read, producer.space.numbers, map_, consumer.space.numbers):
            return None
    if consumer.is_reduction:
        return "a reduction reads outside of it"
    if (
        consumer.is_join
        and not _is_joined_side_by_side(consumer, producer)
        and not _is_bordered(consumer, producer, map_)
    ):
        return "the consumer only moves data: it is written to its place there"
    return _why_not_anywhere(producer)


def _is_joined_side_by_side(consumer: Nest, producer: Nest) -> bool:
    """
    Whether the consumer joins parts along a short innermost axis, as colours to pixels: written to its place there each
    part would be stored element by element. The axis is written out, so that nothing is tested.
    """
    extents, shape = consumer.space.numbers, producer.space.numbers
    if DYNAMIC_INDEX in extents or not extents or consumer.is_reduction:
        return False
    *outer, last = extents
    is_short = last <= MOST_APART < max(outer, default=0)
    return is_short and list(shape[:-1]) == outer and 0 < shape[-1] < last


def _is_bordered(consumer: Nest, producer: Nest, map_: AffineMap) -> bool:
    """
    Whether the consumer joins what is nearly all of it with a narrow border, as the ends of a string that are held, such
    that rows would be written from amid a cache line on: each vector then lies across two, which takes as long as two.
    """
    extents, shape = consumer.space.numbers, producer.space.numbers
    if consumer.is_reduction or len(consumer.reads) < 2 or len(extents) != len(shape):
        return False
    if DYNAMIC_INDEX in (*extents, *shape) or not extents:
        return False
    form = linear_form(map_.results[-1], map_.num_dims)
    line = LINE_BYTES // max(bit_width(producer.root.result.type.get_element_type()) // 8, 1)
    is_amid = form is not None and form[1] % line != 0
    is_long = shape[-1] >= LONG_ROWS * line and extents[-1] - shape[-1] <= line
    return is_amid and is_long and prod(extents) <= MOST_BORDER * prod(shape)


def _why_not_anywhere(producer: Nest) -> str | None:
    """Why a nest is not to be evaluated where its operands have any elements."""
    if any(read.map is None for read in producer.reads):
        return "outside of it the producer would read at any indices"
    for compute in producer.computes:
        for op in compute.body.block.ops:
            if op.regions or may_trap(op):
                return f"outside of it '{op.name}' might divide by 0, or not end"
    return None


def _is_transposition(nest: Nest) -> bool:
    """Whether a nest only moves data, all of one operand with its axes in another order."""
    if not nest.is_movement or len(nest.reads) != 1:
        return False
    (read,) = nest.reads
    if read.map is None or read.pad is not None:
        return False
    axes = [expr.position for expr in read.map.results if isinstance(expr, AffineDimExpr)]
    return axes != sorted(axes)


def _why_not_padded(consumer: Nest, producer: Nest, map_: AffineMap) -> str | None:
    """A product of matrices reads a padded operand as any other that is computed: its kernel pads it while it packs."""
    is_padded = any(read.pad is not None for read in producer.reads)
    is_whole = all(isinstance(expr, AffineDimExpr) for expr in map_.results)
    if is_padded and is_whole and consumer.is_matrix_product:
        return "a product of matrices tests no condition for each of its terms"
    return None


def _why_bordered(consumer: Nest, producer: Nest, readers: int) -> str | None:
    """
    What a convolution reads with a border is written inside of it by what computes it, if nothing else needs that: the
    convolution's kernel would copy it there. Rows begin where vectors do, as there is no border along the innermost axis.
    """
    if not consumer.is_contraction or len(producer.reads) != 1 or readers != 1:
        return None
    (read,) = producer.reads
    if read.pad is None or read.map is None or not read.source.has_one_use():
        return None
    if not isinstance(read.source.owner, te.ComputeOp) or DYNAMIC_INDEX in producer.space.numbers:
        return None
    shape, extents = tensor_type(read.source).get_shape(), producer.space.numbers
    forms = [linear_form(expr, read.map.num_dims) for expr in read.map.results]
    known = [form for form in forms if form is not None]
    own = [[int(axis == n) for axis in range(len(extents))] for n in range(len(extents))]
    if [list(moves) for moves, _ in known] != own or len(known) != len(forms):
        return None
    if shape[-1] != extents[-1] or known[-1][1] != 0:
        return None
    return "what computes it writes it inside of its border"


def _why_not_moved(consumer: Nest, producer: Nest, map_: AffineMap) -> str | None:
    """What only moves data is read through, but with no division in the subscripts of a reduction."""
    (read,) = producer.reads
    if not consumer.is_reduction or read.map is None:
        return None
    if all(
        linear_form(expr, each.num_dims) is not None
        for each in (map_, read.map)
        for expr in each.results
    ):
        return None
    return "the copy's subscripts are not linear, inside a reduction"


def _why_taken_first(consumer: Nest, producer: Nest, map_: AffineMap) -> str | None:
    """
    Why a product reads a copy of every so many elements of rows: else it would use a part of each line, more often than elements of it are
    copied.
    """
    (read,) = producer.reads
    if not consumer.is_matrix_product or read.map is None or not read.map.results:
        return None
    form = linear_form(read.map.results[-1], read.map.num_dims)
    extents = consumer.space.numbers
    if form is None or max(map(abs, form[0]), default=0) <= 1 or DYNAMIC_INDEX in extents:
        return None
    uses = prod(extent for n, extent in enumerate(extents) if n not in map_.used_dims())
    bits = max(bit_width(producer.root.result.type.get_element_type()), 8)
    if uses * bits < 8 * LINE_BYTES:
        return None
    return "a product would use every so many elements of its lines, again and again"


def _recomputation(
    consumer: Nest, producer: Nest, reads: list[te.Read], readers: int
) -> str | None:
    """Why the extra work of computing each element at each of its reads is too much, or None."""
    if producer.is_extension and consumer.is_contraction:
        return None  # its plan extends elements while it packs them
    if not producer.reads and producer.cost <= CHEAP and not consumer.is_reduction:
        return None  # it takes no longer to make than to load
    found = {read.map: _reads_per_element(consumer, producer, read) for read in reads}
    per_element = max(found.values())
    times = per_element * len(found) * readers
    if times <= 1 or _times_written_out(consumer, producer, reads) * readers <= 1:
        return None
    is_light = not consumer.is_reduction or _is_lighter_than_its_result(consumer, producer)
    # What costs no more than to load it may be repeated as often.
    again = 1 if consumer.is_reduction else CHEAP // max(producer.cost, 1)
    is_few = per_element <= again or all(_is_repeated_side_by_side(consumer, r) for r in reads)
    if producer.cost <= CHEAP and is_light and is_few:
        return None
    return f"each of its elements, costing {producer.cost:g} additions, would be computed {times:g} times"


def _times_written_out(consumer: Nest, producer: Nest, reads: list[te.Read]) -> float:
    """How often each element would be computed where what neighbours along a short innermost axis share is so once."""
    times = 0.0
    for read in {read.map: read for read in reads}.values():
        is_shared = _is_repeated_side_by_side(consumer, read)
        shared = consumer.space.numbers[-1] if is_shared else 1
        times += _reads_per_element(consumer, producer, read) / shared
    return times


def _is_repeated_side_by_side(consumer: Nest, read: te.Read) -> bool:
    """
    Whether only neighbours along a short innermost axis read the same element, as the colours of a pixel do its weight:
    where the axis is written out it is computed once for all of them.
    """
    if read.map is None or consumer.is_reduction or not consumer.space.numbers:
        return False
    *outer, last = consumer.space.numbers
    used = read.map.used_dims()
    own = {axis for axis, extent in enumerate(outer) if extent != 1}
    return 0 < last <= MOST_APART and used == own


def _is_lighter_than_its_result(consumer: Nest, producer: Nest) -> bool:
    """
    Whether a reduction that computes what it reads loads no more bytes than it would of the stored result, which then is
    neither written nor has a place. A contraction reads its operands in tiles, again and again.
    """
    sources = {read.source for read in producer.reads}
    sizes = [_bytes(value) for value in (*sources, *producer.root.outputs[:1])]
    if consumer.is_contraction or None in sizes:
        return False
    *loaded, stored = (size for size in sizes if size is not None)
    return sum(loaded) <= stored


def _bytes(value: SSAValue) -> int | None:
    """The bytes of a tensor; None where an extent is a value."""
    type_ = tensor_type(value)
    if not type_.has_static_shape():
        return None
    return prod(type_.get_shape()) * max(8, bit_width(type_.get_element_type())) // 8


def _reads_per_element(consumer: Nest, producer: Nest, read: te.Read) -> float:
    extents, shape = consumer.space.numbers, producer.space.numbers
    if DYNAMIC_INDEX in extents or DYNAMIC_INDEX in shape:
        return 1.0 if len(extents) <= len(shape) else float("inf")
    if read.pad is not None and read.map is not None:
        extents = _inside(read.map, extents, shape)
    return prod(extents) / max(1, prod(shape))


def _inside(map_: AffineMap, extents: Sequence[int], shape: Sequence[int]) -> Sequence[int]:
    """Over how many iterations of each loop a read may be inside of a tensor: a loop is cut where its guards change."""
    found = list(extents)
    for expr, size in zip(map_.results, shape, strict=True):
        linear = linear_form(expr, map_.num_dims)
        if linear is None or sorted(linear[0])[-1:] != [1] or sum(map(abs, linear[0])) != 1:
            continue
        axis, start = linear[0].index(1), max(0, -linear[1])
        found[axis] = max(0, min(found[axis], min(extents[axis], size - linear[1]) - start))
    return found


def why_not_one(one: Nest, other: Nest) -> str | None:
    """
    Why two nests over one space are not evaluated in the same loops, as far as they themselves say; None when they
    are.
    """
    if one.space != other.space:
        return "they are over different iterators"
    if one.is_movement or other.is_movement:
        return "one only moves elements, for which a view may do"
    if one.is_matrix_product or other.is_matrix_product:
        return "one is a product of matrices, which has a schedule of its own"
    between = [*one.reads_of(other.results), *other.reads_of(one.results)]
    if between and one.is_reduction:
        return "the one needs what the other reduces"
    if not all(one.is_whole(read) for read in between):
        return "the one reads elements of the other that are not of the same iteration"
    operands = len({*one.reads, *other.reads}) - len(between)
    if operands > MAX_READS:
        return f"together they would have {operands} operands, more than {MAX_READS}"
    if one.operations + other.operations > MAX_OPERATIONS:
        return f"the body would have more than {MAX_OPERATIONS} operations"
    return None
