"""Computes that are evaluated in one nest of loops, and what the nest reads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import prod

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    IndexType,
    IntegerAttr,
)
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap

from ...dialects import te
from ...dialects.affine_bounds import bounds, box, is_within
from ...dialects.combiner import Combiner
from ...dialects.graph.base import number_attr
from ...dialects.shaped import Tensor, tensor_type
from ...dialects.te.index_maps import dims, reshape_indices
from ...dialects.te.text import Number
from ...frozen import frozen
from ...lazy import cached_property
from ..cost import body_cost, is_data_movement, is_extension, only_selects, reads_behind
from ..operations import operations_in

NAMED = 3
"""Results of a nest that its kernel is named after."""

ANY: Number = IntegerAttr(0, IndexType())
"""Stands for any element, where none is used; no tensor has elements of its type."""

identity = lru_cache(AffineMap.identity)
"""The map that leaves so many iterators as they are."""


@frozen
class Point:
    """
    A compute of which a nest needs the element at `map` of its own iterators, which have these extents.

    Where that is outside of what the compute defines, the nest needs `pad`; None where it is never outside, ANY where the
    nest then does not use what it is.
    """

    compute: te.ComputeOp
    map: AffineMap
    extents: tuple[int, ...]
    pad: Number | None = None

    def __hash__(self) -> int:
        """That of the compute, which is at few points of one nest."""
        return hash(self.compute)

    @staticmethod
    def of(compute: te.ComputeOp, extents: tuple[int, ...]) -> Point:
        """A root of a nest, whose elements are those of the iterations."""
        return Point(compute, identity(len(extents)), extents)

    @staticmethod
    def behind(read: te.Read, extents: tuple[int, ...]) -> Point:
        """What is evaluated instead of a read of a nest."""
        owner = read.source.owner
        assert isinstance(owner, te.ComputeOp) and read.map is not None, "others are stored"
        return Point(owner, read.map, extents, read.pad)

    def seen(self, read: te.Read) -> te.Read:
        """
        A read of the compute, as one over the iterators of the nest.

        Outside of what the compute defines its operands may be anything, unless it only moves them.
        """
        if read.map is None:
            return te.Read(read.source, None)
        map_, pad = composed(read.map, self.map), read.pad
        if pad is None and self.pad is not None:
            pad = self.pad if self.passes_pad_on else ANY
        if pad is not None and _is_inside(map_, self.extents, tensor_type(read.source)):
            pad = None
        return te.Read(read.source, map_, pad)

    @cached_property
    def operands(self) -> tuple[te.Read, ...]:
        """What the nest reads for the compute, or evaluates where it would."""
        return tuple([self.seen(read) for read in self.compute.reads])

    @property
    def passes_pad_on(self) -> bool:
        """
        Whether the compute only moves data, and the nest is outside of it exactly where it then is outside of the operand,
        whose elements there are the pad.

        So it is when each index that may be outside is passed on as it is, to an axis of the same size.
        """
        return is_data_movement(self.compute) and leaves_operand_with(
            self.compute.reads[0], self.compute.static_extents, self.map, self.extents
        )

    @property
    def guards(self) -> Iterable[tuple[AffineExpr, str, int]]:
        """
        Comparisons that all hold exactly where the nest is inside of what the compute defines, and `pad` is not needed:
        an index, a predicate of arith.cmpi, and the number that it is compared with.
        """
        if self.pad in (None, ANY) or self.passes_pad_on:
            return
        for expr, size in zip(self.map.results, self.compute.static_extents, strict=False):
            low, high = bounds(expr, box(self.extents))
            if low is None or low < 0:
                yield expr, "sge", 0
            if high is None or high >= size:
                yield expr, "slt", size


def leaves_operand_with(
    read: te.Read, shape: Sequence[int], map_: AffineMap, extents: Sequence[int]
) -> bool:
    """
    Whether `map_` over iterators of these extents is outside of a tensor of this shape, which moves the elements of `read`,
    exactly where it is outside of the operand then.
    """
    if read.map is None or read.pad is not None:
        return False
    within = {
        dim
        for dim, (expr, extent) in enumerate(zip(map_.results, shape, strict=True))
        if is_within(expr, extents, extent)
    }
    sizes = tensor_type(read.source).get_shape()
    passed_on = {
        expr.position
        for expr, size in zip(read.map.results, sizes, strict=True)
        if isinstance(expr, AffineDimExpr) and shape[expr.position] == size != DYNAMIC_INDEX
    }
    return len(within | passed_on) == len(shape)


def as_stored(read: te.Read) -> te.Read:
    """A read of a nest as a compute has it: what may be anything is 0."""
    if read.pad is not ANY:
        return read
    element = tensor_type(read.source).get_element_type()
    return te.Read(read.source, read.map, number_attr(0, element))


@lru_cache(maxsize=1 << 14)
def _is_inside(map_: AffineMap, extents: tuple[int, ...], type_: Tensor) -> bool:
    return all(
        size != DYNAMIC_INDEX and is_within(expr, extents, size)
        for expr, size in zip(map_.results, type_.get_shape(), strict=True)
    )


@lru_cache(maxsize=1 << 14)
def composed(outer: AffineMap, inner: AffineMap) -> AffineMap:
    """`outer` over what `inner` gives."""
    if inner == identity(inner.num_dims) and outer.num_dims == inner.num_dims:
        return outer
    if outer == identity(outer.num_dims):
        return inner
    return outer.compose(inner)


@frozen
class Space:
    """The extents of a nest's iterators: numbers, or `index` values."""

    parallel: tuple[int | SSAValue, ...]
    reduction: tuple[int | SSAValue, ...]

    @staticmethod
    def of(compute: te.ComputeOp) -> Space:
        values = iter(compute.dynamic_extents)
        every = [next(values) if n == DYNAMIC_INDEX else n for n in compute.static_extents]
        count = compute.num_parallel.value.data
        return Space(tuple(every[:count]), tuple(every[count:]))

    @cached_property
    def every(self) -> tuple[int | SSAValue, ...]:
        return (*self.parallel, *self.reduction)

    @property
    def points(self) -> int | None:
        """How many iterations there are; None where an extent is a value."""
        sizes = [extent for extent in self.every if isinstance(extent, int)]
        return prod(sizes) if len(sizes) == len(self.every) else None

    @cached_property
    def numbers(self) -> tuple[int, ...]:
        """The extents, DYNAMIC_INDEX where one is a value."""
        return tuple(e if isinstance(e, int) else DYNAMIC_INDEX for e in self.every)


_Factors = tuple[set[te.Read], set[te.Read]] | None


@dataclass(eq=False)
class Nest:
    """
    Computes over one space, which are its roots, and those that are evaluated at the points where they are needed.

    What is needed twice at one point is evaluated once. `cost` is that of all of them for one iteration, in
    additions, and `operations` how many scalar operations they have.
    """

    space: Space
    roots: dict[te.ComputeOp, None]
    points: dict[Point, None]
    reads: dict[te.Read, None]
    cost: float
    operations: int
    is_movement: bool
    """whether each element is one of the only operand, unchanged"""
    results: tuple[SSAValue, ...] = ()
    """what is stored: what others need of the roots"""
    anchor: Nest | None = field(default=None, repr=False)
    """the reduction of which this is the epilogue"""
    passed_on: tuple[SSAValue, ...] = ()
    """results of the anchor that others need too, which this one stores"""
    _known: tuple[_Factors] | None = field(default=None, repr=False)
    """the factors of the products that it sums up, as long as it stays as it is"""

    @staticmethod
    def of(compute: te.ComputeOp) -> Nest:
        size = len(operations_in(compute))
        return Nest(
            Space.of(compute),
            {compute: None},
            {},
            dict.fromkeys(Point.of(compute, compute.static_extents).operands),
            body_cost(compute),
            size,
            is_data_movement(compute),
            tuple(compute.outputs),
        )

    @property
    def root(self) -> te.ComputeOp:
        """The first of the roots."""
        return next(iter(self.roots))

    @property
    def combiners(self) -> tuple[Combiner, ...]:
        return tuple(combiner for root in self.roots for combiner in root.combiners)

    @property
    def is_reduction(self) -> bool:
        return bool(self.space.reduction)

    @property
    def stored(self) -> tuple[SSAValue, ...]:
        return (*self.passed_on, *self.results)

    @property
    def name(self) -> str | None:
        """The names of its results, of many the last one's."""
        hints = [value.name_hint for value in self.results if value.name_hint]
        return "_".join(hints if len(hints) <= NAMED else hints[-1:]) or None

    @property
    def computes(self) -> dict[te.ComputeOp, None]:
        """All that it evaluates."""
        return {**self.roots, **dict.fromkeys(point.compute for point in self.points)}

    @property
    def is_join(self) -> bool:
        """Whether each element is one of an operand, chosen by where it is, as in a pad or a concatenation."""
        return self.is_movement or all(only_selects(compute) for compute in self.computes)

    def reads_of(self, values: Iterable[SSAValue]) -> list[te.Read]:
        wanted = set(values)
        return [read for read in self.reads if read.source in wanted]

    def is_whole(self, read: te.Read) -> bool:
        """Whether the nest reads the element of the iteration itself."""
        return read.map == identity(len(self.space.every)) and read.pad is None

    def absorb(self, producer: Nest, reads: Iterable[te.Read]) -> None:
        """Evaluate what a producer computes where the nest reads it, instead of reading it."""
        self._known, extents = None, self.space.numbers
        for read in reads:
            del self.reads[read]
            if producer.is_seen_unchanged(read, extents):
                self._add_all(producer)
                continue
            points, operands = producer.seen_through(read, extents)
            self._add(points)
            self.reads |= operands
            if any(True for point in points for _ in point.guards):
                self.is_movement = False
        self.is_movement = self.is_movement and producer.is_movement

    def is_seen_unchanged(self, read: te.Read, extents: tuple[int, ...]) -> bool:
        """Whether another nest with these extents reads the element of its own iteration, and so needs the same points."""
        is_one = len(self.roots) == 1 and extents == self.space.numbers and read.pad is None
        return is_one and read.map == identity(len(extents))

    def _add_all(self, producer: Nest) -> None:
        """Evaluate all that a producer does, at its own points: one that has grown along a chain is not gone through again."""
        root = Point.of(producer.root, producer.space.numbers)
        again = [*(self.points.keys() & producer.points.keys()), *({root} & self.points.keys())]
        self.points[root] = None
        self.points |= producer.points
        self.reads |= producer.reads
        self.cost += producer.cost - sum(body_cost(point.compute) for point in again)
        self.operations += producer.operations
        self.operations -= sum(1 for point in again for _ in point.compute.body.walk())

    def seen_through(
        self, read: te.Read, extents: tuple[int, ...]
    ) -> tuple[dict[Point, None], dict[te.Read, None]]:
        """The points that another nest evaluates instead of a read of this one's, and the reads that it has then."""
        (root,) = (root for root in self.roots if read.source in root.outputs)
        points: dict[Point, None] = {}
        operands: dict[te.Read, dict[te.Read, None]] = {one: {} for one in self.reads}
        pending = [(Point.of(root, self.space.numbers), Point.behind(read, extents))]
        while pending:
            own, seen = pending.pop()
            if seen in points:
                continue
            points[seen] = None
            for one, other in zip(own.operands, seen.operands, strict=True):
                if one in operands:
                    operands[one][other] = None
                else:
                    inner = Point.behind(one, self.space.numbers), Point.behind(other, extents)
                    pending.append(inner)
        return points, {other: None for others in operands.values() for other in others}

    def _add(self, points: dict[Point, None]) -> None:
        for point in points:
            if point not in self.points:
                self.points[point] = None
                self.cost += body_cost(point.compute)
                self.operations += sum(1 for _ in point.compute.body.walk())

    def join(self, other: Nest) -> None:
        """Evaluate the other one's computes, over the same space, in this nest too."""
        whole, self._known = identity(len(self.space.every)), None
        self._add(other.points)
        for root in other.roots:
            self.roots[root] = None
            self.cost += body_cost(root)
            self.operations += sum(1 for _ in root.body.walk())
            for result in root.outputs:
                self.reads.pop(te.Read(result, whole), None)
        own = {result for root in self.roots for result in root.outputs}
        self.reads |= {
            read: None for read in other.reads if read.source not in own or read.map != whole
        }
        self.is_movement = False

    @property
    def is_reshape(self) -> bool:
        """Whether it has the elements of its operand in their order, under another shape, as the operand is stored."""
        if self.points or not self.is_movement or DYNAMIC_INDEX in self.space.numbers:
            return False
        (read,) = self.reads
        shape, result = tensor_type(read.source).get_shape(), self.space.numbers
        if read.map is None or prod(shape) != prod(result):
            return False
        return list(read.map.results) == reshape_indices(shape, result, dims(len(result)))

    @property
    def is_extension(self) -> bool:
        """Whether each element is one of the only operand in a wider type: see `cost.is_extension`."""
        moved = all(is_data_movement(point.compute) for point in self.points)
        return moved and len(self.roots) == 1 and is_extension(self.root)

    @property
    def is_contraction(self) -> bool:
        """Whether it sums products of elements of different operands: see `cost.is_contraction`."""
        return self._factors() is not None

    @property
    def uses_again(self) -> bool:
        """
        Whether it is a contraction in which elements are used for several others: all but sums of products of two rows,
        each of which belongs to the result's row as in other reductions.
        """
        return any(self.sides)

    @property
    def is_matrix_product(self) -> bool:
        """Whether, moreover, each of the operands has parallel iterators that the other has not."""
        return all(self.sides)

    @property
    def sides(self) -> tuple[set[int], set[int]]:
        """The parallel iterators that only one of the operands of a contraction has; of other nests there are none."""
        factors = self._factors()
        if factors is None:
            return set(), set()
        left, right = (
            {dim for read in reads if read.map is not None for dim in read.map.used_dims()}
            for reads in factors
        )
        parallel = set(range(len(self.space.parallel)))
        return (left - right) & parallel, (right - left) & parallel

    def _factors(self) -> _Factors:
        """What the factors of the products that it sums up are made from, where that is not the same."""
        if self._known is None:
            self._known = (self._found_factors(),)
        return self._known[0]

    def _found_factors(self) -> _Factors:
        if self.combiners != (Combiner.ADD,):
            return None
        point, product = self._summed()
        if not isinstance(product.owner, arith.MulfOp | arith.MuliOp):
            return None
        left, right = (self._behind(point, factor) for factor in product.owner.operands)
        return (left, right) if left and right and not left & right else None

    def _summed(self) -> tuple[Point, SSAValue]:
        """What the root sums up: a value in the body of a compute that is evaluated here."""
        extents = self.space.numbers
        point, value = Point.of(self.root, extents), self.root.yielded[0]
        while value in point.compute.read_args:
            read = point.seen(point.compute.reads[point.compute.read_args.index(value)])
            owner = read.source.owner
            if read in self.reads or not isinstance(owner, te.ComputeOp) or read.map is None:
                break
            point = Point.behind(read, extents)
            value = owner.terms[owner.outputs.index(read.source)][0]
        return point, value

    def _behind(self, point: Point, value: SSAValue) -> set[te.Read]:
        """What a value in the body of a compute is made from, among what the nest reads."""
        arguments = reads_behind(value, point.compute)
        reads = zip(point.compute.reads, point.compute.read_args, strict=True)
        pending = [point.seen(read) for read, argument in reads if argument in arguments]
        found: set[te.Read] = set()
        while pending:
            read = pending.pop()
            if read in self.reads:
                found.add(read)
                continue
            pending += Point.behind(read, self.space.numbers).operands
        return found
