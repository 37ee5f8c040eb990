"""mirror: of a symmetric matrix only what is on and below the diagonal is computed, and the rest copied."""

from __future__ import annotations

import islpy as isl
from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Attribute, Operation, OpResult, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.rewriter import InsertPoint

from ...analysis.isl_affine import lower_bounds, upper_bounds
from ...analysis.reductions import ReductionUpdate, operator_name
from ...analysis.scop import Access
from ...dialects import loop
from ...dialects.affine_bounds import simplified
from ...dialects.loop import LoopKind, RunMode
from ...dialects.schedule.steps import Mirror
from ...dialects.shaped import memref_type
from ...frozen import frozen
from ..step_support.handles import loop_handle
from ..step_support.made import SomeLoops
from ..step_support.modes import check_marks_around, check_unmarked
from ..step_support.nest import Nest, Nests, loops_around
from ..step_support.order import check_effects, check_structured
from ..step_support.planning import planner, step_pass
from ..step_support.refusal import Refusal, access_text, refuse
from ..step_support.rewrite import BoundExprs, insert_after, joined_bounds, set_bounds, shifted_to
from ..step_support.scratch import check_affine, check_certain
from ..step_support.tight_bounds import plain_bounds, tight_bounds


@frozen
class MirrorPlan:
    """The loop with the bounds that it gets, the matrix, and what its copy is made of."""

    nest: Nest
    for_op: loop.ForOp
    lower: BoundExprs
    upper: BoundExprs
    matrix: SSAValue
    names: tuple[str, ...]
    """of the loops that copy, one for each dimension"""

    def apply(self) -> SomeLoops:
        """
        `for j: for i: C[i, j] = …` → `for j: for i in j..N: C[i, j] = …`, `for i: for j in i + 1..N: C[i, j] = C[j, i]`.
        """
        set_bounds(self.for_op, self.lower, self.upper)
        assert self.for_op.parent is not None
        set_bounds(self.for_op, *tight_bounds(self.nest.frames.of(self.for_op.parent), self.for_op))
        outermost = (*loops_around(self.for_op), self.for_op)[0]
        made = self._copy()
        insert_after(outermost, made[:1])
        return SomeLoops(tuple(loop_handle(self.nest, op) for op in made))

    def _copy(self) -> list[loop.ForOp]:
        """The loops that copy what is below the diagonal to what is above it, outermost first."""
        made: list[loop.ForOp] = []
        shape = memref_type(self.matrix).get_shape()
        for axis, (name, extent) in enumerate(zip(self.names, shape, strict=True)):
            below = AffineMap(1, 0, (AffineExpr.dimension(0) + 1,))
            first = (below, [made[-1].induction_variable]) if axis == len(shape) - 1 else 0
            for_op = loop.ForOp(name, first, extent, kind=LoopKind.PARALLEL)
            if made:
                _builder(made[-1]).insert(for_op)
            made.append(for_op)
        here = [op.induction_variable for op in made]
        builder = _builder(made[-1])
        source = builder.insert(loop.LoadOp(self.matrix, [*here[:-2], here[-1], here[-2]])).result
        builder.insert(loop.StoreOp(source, self.matrix, here))
        return made


def _builder(for_op: loop.ForOp) -> Builder:
    """Inserts at the end of a loop's body."""
    last = for_op.body.block.last_op
    assert last is not None
    return Builder(InsertPoint.before(last))


@planner(Mirror)
def plan_mirror(step: Mirror, nests: Nests) -> MirrorPlan:
    """
    Legal when the matrix that is stored to inside of the loop is symmetric: it begins with one number, and to each
    element the same products are added as to its mirror image, of two operands that change places. Nothing else
    reads or writes the matrix before, and the loop does nothing else.

    The saving is that of BLAS's `syrk` (Dongarra, Du Croz, Duff and Hammarling, "A Set of Level 3 Basic Linear
    Algebra Subprograms", ACM TOMS 16(1), 1990).
    """
    nest, name = nests.resolve(step.loop)
    for_op = nest.loop(name)
    check_unmarked(step, for_op)
    check_marks_around(step, for_op, (RunMode.VECTOR,))
    check_structured(step, for_op)
    check_effects(step, for_op)
    symmetry = _Symmetry(step, nest, for_op)
    symmetry.check()
    lower, upper = symmetry.bounds()
    axes = len(memref_type(symmetry.matrix).get_shape())
    names = nest.chosen_names((), [f"{_word(axes, n)}.mirror" for n in range(axes)])
    return MirrorPlan(nest, for_op, lower, upper, symmetry.matrix, tuple(names))


def _word(axes: int, number: int) -> str:
    return {axes - 2: "row", axes - 1: "column"}.get(number, f"batch{number}")


class _Symmetry:
    """The matrix that a loop stores to, and what is known of it."""

    def __init__(self, step: Mirror, nest: Nest, for_op: loop.ForOp):
        self.step, self.nest, self.for_op = step, nest, for_op
        self.name = for_op.loop_name.data
        self.scop = nest.dependences.scop
        self.stores = [access for access in self.scop.inside(for_op) if access.is_write]
        buffers = list(dict.fromkeys(access.buffer for access in self.stores))
        if len(buffers) != 1:
            raise self._refuse(f"stores to {len(buffers)} buffers, expected to one matrix")
        (self.matrix,) = buffers
        sizes = memref_type(self.matrix).get_shape()
        if len(sizes) < 2 or sizes[-1] != sizes[-2] or DYNAMIC_INDEX in sizes:
            raise self._refuse(
                f"stores to '%{self._matrix}', which is no square matrix of known size"
            )

    @property
    def _matrix(self) -> str | None:
        return loop.buffer_name(self.matrix)

    def check(self) -> None:
        """Raise the refusal when the matrix may not be symmetric, or more depends on what is left out."""
        first, update = self._statements()
        one, other = self._products(update)
        added = self._access(update.store)
        swap, to = self._swap(added), _elements(added)
        terms = to.reverse().apply_range(one.range_product(other))
        mirrored = to.apply_range(swap).reverse().apply_range(other.range_product(one))
        if not terms.is_equal(mirrored):
            raise self._refuse("adds other products to elements below the diagonal than above it")
        if not to.range_product(one.range_product(other)).is_injective():
            raise self._refuse("may add a product to an element more than once")
        begun = isl.Map.empty(first[0].element.get_space()).range()
        for each in first:
            begun = begun.union(each.element.range())
            again = added.element.apply_range(each.element.reverse())
            if not again.intersect(added.time.lex_lt_map(each.time)).is_empty():
                raise self._refuse(f"adds to what {access_text(each)} sets to a number later")
        if not added.element.range().is_subset(begun):
            raise self._refuse(f"adds to elements of '%{self._matrix}' that nothing has set before")
        if not begun.is_equal(begun.apply(swap)):
            raise self._refuse("begins with other numbers below the diagonal than above it")

    def _statements(self) -> tuple[list[Access], ReductionUpdate]:
        """The stores that begin the matrix with a number, and the one statement that adds to it."""
        updates = self.nest.dependences.updates
        around = (*loops_around(self.for_op), self.for_op)[0]
        last = next(a for a in reversed(self.scop.accesses) if a in self.scop.inside(around))
        before = self.scop.accesses[: self.scop.accesses.index(last) + 1]
        first, found = list[Access](), dict[Operation, ReductionUpdate]()
        numbers: set[Attribute] = set()
        for access in before:
            if not self.scop.aliases.may_alias(access.buffer, self.matrix):
                continue
            check_affine(self.step, access)
            check_certain(self.step, access)
            if access.op in updates:
                found[updates[access.op].store] = updates[access.op]
            elif isinstance(access.op, loop.StoreOp) and isinstance(
                number := access.op.value.owner, arith.ConstantOp
            ):
                first.append(access)
                numbers.add(number.value)
            else:
                raise self._refuse(f"is not all that {access_text(access)} depends on")
        if len(found) != 1 or len(numbers) != 1:
            raise self._refuse(
                f"adds to '%{self._matrix}' in {len(found)} statements, and it begins with {len(numbers)} numbers, "
                "expected one of each"
            )
        (update,) = found.values()
        return first, update

    def _products(self, update: ReductionUpdate) -> tuple[isl.Map, isl.Map]:
        """The elements that the two factors of each product are."""
        (term,) = (value for value in update.combine.operands if value is not update.load.result)
        factors = _factors(term)
        if factors is None or factors[0].made_by != factors[1].made_by:
            raise self._refuse("adds no products of two elements")
        one, other = (self._access(factor.load) for factor in factors)
        if not one.loops == other.loops == self._access(update.store).loops:
            raise self._refuse("multiplies what is loaded outside of it")
        if one.buffer is not other.buffer or not (one.exact and other.exact):
            raise self._refuse("adds products of elements of two buffers")
        inside = self.scop.inside((*loops_around(self.for_op), self.for_op)[0])
        for access in inside:
            if access.is_write and self.scop.aliases.may_alias(access.buffer, one.buffer):
                raise self._refuse(f"multiplies what {access_text(access)} changes")
        return _elements(one), _elements(other)

    def _access(self, op: Operation) -> Access:
        (access,) = self.scop.of(op)
        return access

    def _swap(self, access: Access) -> isl.Map:
        """From an element of the matrix to its mirror image."""
        space = access.element.get_space().range()
        rank = space.dim(isl.dim_type.set)
        swap = isl.Map.universe(space.map_from_set())
        images = [*range(rank - 2), rank - 1, rank - 2]
        for axis, image in enumerate(images):
            swap = swap.equate(isl.dim_type.in_, axis, isl.dim_type.out, image)
        return swap

    def bounds(self) -> tuple[BoundExprs, BoundExprs]:
        """The loop's bounds without the iterations that store only above the diagonal."""
        kept: isl.Set | None = None
        depth = len(loops_around(self.for_op)) + 1
        for store in self.stores:
            rank = store.element.dim(isl.dim_type.out)
            below = isl.Map.universe(store.element.get_space()).range()
            row, column = (
                isl.Aff.var_on_domain(
                    isl.LocalSpace.from_space(below.get_space()), isl.dim_type.set, n
                )
                for n in (rank - 2, rank - 1)
            )
            below = below.intersect(isl.PwAff.from_aff(row).ge_set(isl.PwAff.from_aff(column)))
            found = store.element.intersect_range(below).domain().reset_tuple_id()
            inner = found.dim(isl.dim_type.set) - depth
            found = found.project_out(isl.dim_type.set, depth, inner)
            kept = found if kept is None else kept.union(found)
        assert kept is not None
        hull = kept.coalesce().simple_hull()
        lower, upper = plain_bounds(self.nest.frames, self.for_op)
        values = [op.induction_variable for op in loops_around(self.for_op)]
        values += self.scop.parameters
        lows = self._counted((lower_bounds(hull, depth - 1), values), lower)
        later = joined_bounds(lower, lows, smallest=False)
        sooner = joined_bounds(upper, (upper_bounds(hull, depth - 1), values), smallest=True)
        if len(later[0]) == len(lower[0]) and len(sooner[0]) == len(upper[0]):
            raise self._refuse("has no iteration that stores above the diagonal only")
        return later, sooner

    def _counted(self, points: BoundExprs, lower: BoundExprs) -> BoundExprs:
        """The first values of the loop that are not before some points."""
        step = self.for_op.step.value.data
        if step == 1:
            return points
        if len(lower[0]) != 1:
            raise self._refuse("counts by more than 1 from a maximum of several expressions")
        (start,), values = lower[0], [*lower[1], *points[1]]
        after = (
            simplified(point - start, len(values)) for point in shifted_to(points[0], len(lower[1]))
        )
        return [start + each.ceil_div(step) * step for each in after], values

    def _refuse(self, what: str) -> Refusal:
        return refuse(
            self.step,
            f"loop '{self.name}' {what}",
            remedy="mirror a loop around the sums of products such as A[k, i] * A[k, j] alone",
        )


@frozen
class _Factor:
    """A factor of a product: what it is loaded by, and the operations that make it of that."""

    load: loop.LoadOp
    made_by: tuple[tuple[str, Attribute], ...]


def _factors(term: SSAValue) -> tuple[_Factor, _Factor] | None:
    """The two factors that a term is the product of, in any order; None where it is no such product."""
    product = term.owner
    if not isinstance(product, Operation) or operator_name(product) is None:
        return None
    one, other = (_factor(value) for value in product.operands)
    return None if one is None or other is None else (one, other)


def _factor(value: SSAValue) -> _Factor | None:
    """The factor that a value is; None when it is not made of one load."""
    made_by: list[tuple[str, Attribute]] = []
    while isinstance(value, OpResult):
        op = value.op
        if isinstance(op, loop.LoadOp):
            return _Factor(op, tuple(made_by))
        if len(op.operands) != 1 or op.regions:
            return None
        made_by.append((op.name, value.type))
        value = op.operands[0]
    return None


def _elements(access: Access) -> isl.Map:
    """The element of each iteration; iterations of all accesses in the same loops are the same."""
    return access.element.reset_tuple_id(isl.dim_type.in_)


LoopMirrorPass = step_pass(Mirror, numerics="reassociates")
