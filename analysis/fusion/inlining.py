"""Whether a producer is evaluated where its elements are read, instead of being stored."""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap

from ...dialects import te
from ...dialects.affine_bounds import is_within, linear_form
from ...dialects.dtypes import bit_width
from ...dialects.shaped import tensor_type
from ..cost import CHEAP
from .nests import Nest

MAX_READS = 16
"""A nest with more operands than this is not given further ones: registers run out."""

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
    if producer.is_reduction:
        return "the producer is a reduction; recomputing it at each read would multiply its work"
    if map_ is None:
        return "the consumer reads it at computed indices"
    if read.pad is not None:
        reason = _why_padded(consumer, producer, map_)
        if reason is not None:
            return reason
    if _is_transposition(consumer) and any(r.pad is not None for r in producer.reads):
        return "a transposition tests no condition for each element, as of which part of a join it is in"
    if any(r.map is None for r in producer.reads) and consumer.is_reduction:
        return "the producer reads at computed indices, inside a reduction"
    reads = consumer.reads_of(producer.results)
    if len(consumer.reads) - len(reads) + len(producer.reads) * len(reads) > MAX_READS:
        return f"the consumer would have more than {MAX_READS} operands"
    most = MAX_OPERATIONS if consumer.is_whole(read) and len(reads) == 1 else MAX_BODY_OPS
    if consumer.operations + producer.operations > most:
        return f"the body would have more than {most} operations"
    if producer.is_movement:
        return _why_not_padded(consumer, producer, map_) or _why_not_moved(consumer, producer, map_)
    return _recomputation(consumer, producer, reads, readers)


def _why_padded(consumer: Nest, producer: Nest, map_: AffineMap) -> str | None:
    if not producer.is_movement:
        return "the consumer reads outside of it"
    if any(r.pad is not None for r in producer.reads):
        return "producer and consumer both read outside of their operands"
    if consumer.is_movement and _is_transposition(producer):
        return "a transposition tests no condition for each element: it is written inside of the border"
    if not _leaves_operand_with(producer, map_, consumer):
        return "the consumer reads outside of it, which may be inside of the producer's operand"
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


def _leaves_operand_with(producer: Nest, map_: AffineMap, consumer: Nest) -> bool:
    """
    Whether the consumer's read through `map_` is outside of `producer`, which only moves data, exactly
    where the composed read is outside of the producer's operand.

    So it is when each index that may be outside is passed on as it is, to an axis of the same size.
    """
    extents = producer.space.numbers
    within = {
        dim
        for dim, (expr, extent) in enumerate(zip(map_.results, extents, strict=True))
        if is_within(expr, consumer.space.numbers, extent)
    }
    (read,) = producer.reads
    assert read.map is not None, "what only moves data reads elements"
    shape = tensor_type(read.source).get_shape()
    passed_on = {
        expr.position
        for expr, size in zip(read.map.results, shape, strict=True)
        if isinstance(expr, AffineDimExpr) and extents[expr.position] == size != DYNAMIC_INDEX
    }
    return len(within | passed_on) == len(extents)


def _why_not_padded(consumer: Nest, producer: Nest, map_: AffineMap) -> str | None:
    """A product of matrices reads a padded operand as any other that is computed: its kernel pads it while it packs."""
    is_padded = any(read.pad is not None for read in producer.reads)
    is_whole = all(isinstance(expr, AffineDimExpr) for expr in map_.results)
    if is_padded and is_whole and consumer.is_matrix_product:
        return "a product of matrices tests no condition for each of its terms"
    return None


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


def _recomputation(
    consumer: Nest, producer: Nest, reads: list[te.Read], readers: int
) -> str | None:
    """Why the extra work of computing each element at each of its reads is too much, or None."""
    if producer.is_extension and consumer.is_contraction:
        return None  # its plan extends elements while it packs them
    per_element = _reads_per_element(consumer, producer)
    times = per_element * len({read.map for read in reads}) * readers
    if times <= 1:
        return None
    is_light = not consumer.is_reduction or _is_lighter_than_its_result(consumer, producer)
    if producer.cost <= CHEAP and is_light and per_element <= 1:
        return None
    return f"each of its elements, costing {producer.cost:g} additions, would be computed {times:g} times"


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


def _reads_per_element(consumer: Nest, producer: Nest) -> float:
    extents, shape = consumer.space.numbers, producer.space.numbers
    if DYNAMIC_INDEX in extents or DYNAMIC_INDEX in shape:
        return 1.0 if len(extents) <= len(shape) else float("inf")
    return prod(extents) / max(1, prod(shape))


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
