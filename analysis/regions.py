"""The part of a buffer that a piece of code touches, as a box that moves with the loops around it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import islpy as isl
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr

from ..dialects import loop
from ..dialects.affine_atoms import constant_expr, dim_expr
from ..dialects.affine_substitution import plus, product, substituted
from ..dialects.shaped import memref_type
from ..frozen import frozen
from ..lazy import cached_property
from .affine_isl import constant, parameter, pw_aff, variable
from .boxes import TouchedBox, touched_box
from .domains import REMEMBERED, Around, LoopPart, Place
from .domains import touched as touched_elements
from .extremes import is_never_negative
from .isl_affine import linear_lower_bound, lower_bounds
from .scop import Access, Scop, around_of


@frozen
class Box:
    """
    For each axis the first element and how many there are.

    `lower` are expressions over the variables of the loops around, outermost first, and then the
    function's parameters; the extents are numbers.
    """

    lower: tuple[AffineExpr, ...]
    extents: tuple[int, ...]


class TouchedRegion:
    """
    The elements that accesses of one buffer, all exact, touch for given values of the `depth` outermost loops: a box where
    that is seen, and an integer set when it is asked for.
    """

    def __init__(self, accesses: Sequence[Access], depth: int):
        """There is an access at least."""
        self._accesses, self._depth = accesses, depth
        self._rank = memref_type(accesses[0].buffer).get_num_dims()

    @cached_property
    def seen(self) -> TouchedBox | None:
        """The box, where it is seen in plain numbers."""
        shape = memref_type(self._accesses[0].buffer).get_shape()
        largest: TouchedBox | None = None
        for access in self._accesses:
            box = touched_box(access.around, access.place, self._depth, shape)
            if box is None:
                return None
            if largest is None or box.holds(largest):
                largest = box
            elif not largest.holds(box):
                return None
        return largest

    @cached_property
    def elements(self) -> isl.Set:
        """A set over those loops' variables followed by the buffer's indices, all of them inside of its shape."""
        found = touched(self._accesses, self._depth)
        assert found is not None, "asked of accesses that are exact"
        return found

    def is_empty(self) -> bool:
        """Whether nothing is touched in any iteration."""
        return self.seen is None and self.elements.is_empty()

    def bounding_box(self) -> Box | None:
        """As `bounding_box`."""
        if self.seen is None:
            return bounding_box(self.elements, self._depth, self._rank)
        lower = tuple(linear_lower_bound(*form) for form in self.seen.lower)
        return Box(lower, self.seen.extents)

    def is_all_of(self, other: TouchedRegion) -> bool:
        """Whether it holds all of another region, in each iteration of the same loops."""
        if self.seen is not None and other.seen is not None and self.seen.holds(other.seen):
            return True
        return other.elements.is_subset(self.elements)

    def fills(self, whole: TouchedRegion, box: Callable[[], isl.Set]) -> bool:
        """Whether it is all of the `box` around a region that it is a part of."""
        if self.seen is not None and whole.seen is not None and self.seen.holds(whole.seen):
            return True
        return box().is_equal(self.elements)


def region_of(accesses: Sequence[Access], depth: int) -> TouchedRegion | None:
    """The elements that accesses of one buffer touch; None without accesses, or when one of them is not exact."""
    return TouchedRegion(accesses, depth) if accesses and all(a.exact for a in accesses) else None


def touched(accesses: Sequence[Access], depth: int) -> isl.Set | None:
    """
    The elements that accesses of one buffer touch for given values of the `depth` outermost loops.

    A set over those loops' variables followed by the buffer's indices, all of them inside of its shape;
    None without accesses, or when one of them is not exact.
    """
    if not all(access.exact for access in accesses):
        return None
    result: isl.Set | None = None
    # Iterations that are written out, and loads and stores of one element, touch the same.
    for around, place in dict.fromkeys((access.around, access.place) for access in accesses):
        part = _touched(around, place, depth)
        result = part if result is None else result.union(part)
    return None if result is None else _inside(result, depth, accesses[0].buffer)


@lru_cache(REMEMBERED)
def _touched(around: Around, place: Place, depth: int) -> isl.Set:
    """The elements that one access touches, as a set over the `depth` outermost loops and the buffer's indices."""
    pairs = touched_elements(around, place)
    count = pairs.dim(isl.dim_type.in_)
    pairs = pairs.project_out(isl.dim_type.in_, depth, count - depth)
    return pairs.project_out(isl.dim_type.out, 0, place.private).wrap().flatten()


def _inside(region: isl.Set, depth: int, buffer: SSAValue) -> isl.Set:
    """The elements that exist: a program touches no others."""
    for axis, size in enumerate(memref_type(buffer).get_shape()):
        region = region.lower_bound_val(isl.dim_type.set, depth + axis, isl.Val(0))
        if size != DYNAMIC_INDEX:
            last = isl.Val(size - 1)
            region = region.upper_bound_val(isl.dim_type.set, depth + axis, last)
    return region


def bounding_box(region: isl.Set, depth: int, rank: int) -> Box | None:
    """
    The smallest box with extents that are numbers, or None when an axis has no bound of that kind.

    `region` is over `depth` loop variables followed by `rank` indices, as `touched` gives it.
    """
    lower: list[AffineExpr] = []
    extents: list[int] = []
    for axis in range(rank):
        along = region.project_out(isl.dim_type.set, depth + axis + 1, rank - axis - 1)
        along = along.project_out(isl.dim_type.set, depth, axis)
        best = _tightest(along, depth)
        if best is None:
            return None
        lower.append(best[0])
        extents.append(best[1])
    return Box(tuple(lower), tuple(extents))


def _tightest(along: isl.Set, depth: int) -> tuple[AffineExpr, int] | None:
    """The lower bound that leaves the smallest number of elements between it and the last one."""
    space = along.get_space()
    dims = [variable(space, n) for n in range(depth)]
    dims += [parameter(space, n) for n in range(space.dim(isl.dim_type.param))]
    here = variable(space, depth)
    best: tuple[AffineExpr, int] | None = None
    hull = along.simple_hull()
    # Loops of larger steps bound it through floors, which are no candidates; without them the bound is.
    for candidate in dict.fromkeys((*lower_bounds(hull, depth), *_without_floors(hull, depth))):
        offset = here.sub(pw_aff(candidate, dims, space))
        span = isl.Map.from_pw_aff(offset).intersect_domain(along).range().dim_max_val(0)
        if span.is_int() and (best is None or span.to_python() + 1 < best[1]):
            best = candidate, span.to_python() + 1
    return best


def _without_floors(hull: isl.BasicSet, depth: int) -> list[AffineExpr]:
    if not hull.dim(isl.dim_type.div):
        return []
    return lower_bounds(hull.remove_divs(), depth)


class BoxSpace:
    """Boxes of one buffer, as sets over the variables of nested loops and the buffer's indices."""

    def __init__(self, scop: Scop, loops: Sequence[loop.ForOp], type_: MemRefType):
        self.depth = len(loops)
        self.sizes = type_.get_shape()
        self._around = around_of(scop, loops)
        self._parameters = self._around.parameters

    @cached_property
    def _domain(self) -> isl.Set:
        """The iterations of the loops, with any indices."""
        return self._around.domain.add_dims(isl.dim_type.set, len(self.sizes))

    def _value(self, expr: AffineExpr) -> isl.PwAff:
        space = self._domain.get_space()
        dims = [variable(space, n) for n in range(self.depth)]
        dims += [parameter(space, n) for n in range(self._parameters)]
        return pw_aff(expr, dims, space)

    def _in_order(self, expr: AffineExpr) -> AffineExpr:
        """The expression of a box with the parameters in front of the loops' variables."""
        if not self._parameters:
            return expr
        dims = [dim_expr(self._parameters + n) for n in range(self.depth)]
        return substituted(expr, dims + [dim_expr(n) for n in range(self._parameters)])

    def within(self, box: Box, private: int) -> tuple[Around, Place]:
        """
        Loops over the elements of the box inside of the nested ones, and the element that an iteration is of.

        Some elements may be outside of the buffer. `private` is how many of the loops have a buffer of their own.
        """
        around, zero = self._around, constant_expr(0)
        for extent in box.extents:
            around = around.within(LoopPart((zero,), (constant_expr(extent),), 1))
        first = self._parameters + self.depth
        return around, Place.of(
            private,
            tuple(
                self._in_order(low) + dim_expr(first + axis) for axis, low in enumerate(box.lower)
            ),
        )

    def elements(self, box: Box) -> isl.Set:
        """The elements of the box that exist, for each iteration."""
        space, result = self._domain.get_space(), self._domain
        for axis, (low, extent) in enumerate(zip(box.lower, box.extents, strict=True)):
            index = variable(space, self.depth + axis)
            start = self._value(low)
            result = result.intersect(index.ge_set(start))
            result = result.intersect(index.lt_set(start.add(constant(space, extent))))
            result = result.lower_bound_val(isl.dim_type.set, self.depth + axis, isl.Val(0))
            if self.sizes[axis] != DYNAMIC_INDEX:
                last = isl.Val(self.sizes[axis] - 1)
                result = result.upper_bound_val(isl.dim_type.set, self.depth + axis, last)
        return result

    def rest(self, expr: AffineExpr, divisor: int) -> int | None:
        """What is left of an expression over `divisor`; None where that differs between iterations."""
        rest = self._value(expr).mod_val(isl.Val(divisor))
        values = isl.Map.from_pw_aff(rest).intersect_domain(self._domain).range()
        least, greatest = values.dim_min_val(0), values.dim_max_val(0)
        return least.to_python() if least.is_int() and least.eq(greatest) else None

    def inside(self, box: Box) -> tuple[tuple[bool, bool], ...]:
        """For each axis whether the box never begins before the buffer, and never ends after it."""
        found: list[tuple[bool, bool]] = []
        for low, extent, size in zip(box.lower, box.extents, self.sizes, strict=True):
            first = self._in_order(low)
            begins_within = is_never_negative(self._around, first)
            ends_within = size == DYNAMIC_INDEX or is_never_negative(
                self._around, plus(product(first, -1), size - extent)
            )
            found.append((begins_within, ends_within))
        return tuple(found)
