"""Loops moved into another loop, narrowed to the iterations that are wanted in each of its iterations."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import islpy as isl
from xdsl.dialects import affine
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineConstraintExpr, AffineExpr

from ...analysis.affine_isl import applied, constant, parameter, pw_aff, variable
from ...analysis.domains import loop_range
from ...analysis.frames import constant_value
from ...analysis.isl_affine import constraint_exprs, lower_bounds, upper_bounds
from ...analysis.scop import Access
from ...dialects import loop
from .nest import Nest, loops_around
from .rewrite import BoundExprs, lower_bound, set_bounds, shifted_to, upper_bound

Wanted = Callable[[loop.ForOp], isl.Set | None]
"""
The iterations of a loop that are wanted: a set over the loops it moves into, outermost first, and then
the moved ones down to it. None for all of them.
"""


class Narrowing:
    """
    Moves operations of a block into a loop further in, which stands in the same block or in its loops.

    Sets here are over the variables of `outer` (the loop moved into and those around it), followed by
    those of the moved loops; `common` of `outer` are around the moved operations already.
    """

    def __init__(self, nest: Nest, into: loop.ForOp, common: int):
        self.nest = nest
        self.outer = (*loops_around(into), into)
        self.common = common
        around = nest.frames.of(into.body.block)
        self.domain: isl.Set = around.domain
        self.certain = around.certain
        """Whether the loop moved into runs in all of its domain."""
        self.bounds: dict[loop.ForOp, tuple[BoundExprs, BoundExprs]] = {}
        self.conditions: dict[Operation, tuple[AffineConstraintExpr, ...]] = {}
        """When moved operations run at all, for those that do not always, over `values`."""
        self.values = (
            *(op.induction_variable for op in self.outer),
            *nest.dependences.scop.parameters,
        )
        self._around: dict[Operation, isl.Set] = {}
        self._domains: dict[loop.ForOp, isl.Set] = {}

    def narrow(self, ops: Sequence[Operation], wanted: Wanted) -> None:
        """Find bounds for all the loops in `ops`."""
        for root in ops:
            for op in root.walk():
                if isinstance(op, loop.ForOp):
                    self._narrow_loop(op, wanted(op))

    def limit(self, root: Operation, when: isl.Set | None) -> bool:
        """
        Let a moved operation run in some iterations of `outer` only, from the next `narrow` on.

        In all of them with None. False, and all of them, when no affine condition says which.
        """
        self._around.pop(root, None)
        self.conditions.pop(root, None)
        if when is None:
            return True
        inside = self.domain.intersect(when).coalesce()
        simple = inside.gist(self.domain).coalesce()
        if inside.is_equal(self.domain) or simple.n_basic_set() != 1:
            return False
        constraints = constraint_exprs(simple.get_basic_sets()[0])
        if not constraints:
            return False
        self._around[root] = inside
        self.conditions[root] = tuple(constraints)
        return True

    def apply(self) -> None:
        """Give the loops their bounds."""
        for for_op, (lower, upper) in self.bounds.items():
            set_bounds(for_op, lower, upper)

    def guarded(self, root: Operation) -> Operation:
        """A moved operation, taken out of its block, with the condition around it that it needs."""
        root.detach()
        condition = self.conditions.get(root)
        if condition is None:
            return root
        return loop.IfOp(condition, self.values, Region(Block([root, loop.YieldOp()])))

    def iterations(self, access: Access) -> isl.Set:
        """When a moved access is made."""
        inner = access.loops[self.common :]
        domain = self._domains[inner[-1]] if inner else self._domain_around(access.op)
        return domain.intersect(self._lifted(access.domain))

    def _domain_around(self, op: Operation) -> isl.Set:
        """The iterations of `outer` in which the moved operation runs that is or holds `op`."""
        limited = (around for root, around in self._around.items() if root.is_ancestor(op))
        return next(limited, self.domain)

    def into(self, access: Access) -> isl.Map:
        """From a moved access's old iterations to those of the loop moved into."""
        where = self.iterations(access)
        depth = len(self.outer)
        inner = len(access.loops) - self.common
        old = [*range(self.common), *range(depth, depth + inner)]
        pairs = select(where, old).reverse().apply_range(select(where, range(depth)))
        return pairs.set_tuple_name(isl.dim_type.in_, access.name)

    def lift(self, pairs: isl.Map) -> isl.Set:
        """
        From pairs of an iteration of the loop moved into and of moved loops to a set over both.

        Both are in the same iteration of the loops they have in common.
        """
        for n in range(self.common):
            pairs = pairs.equate(isl.dim_type.in_, n, isl.dim_type.out, n)
        pairs = pairs.project_out(isl.dim_type.out, 0, self.common)
        pairs = pairs.set_tuple_name(isl.dim_type.in_, "")
        return pairs.wrap().flatten()

    def chain(self, for_op: loop.ForOp) -> list[loop.ForOp]:
        """The moved loops from the outermost down to `for_op`."""
        return [*loops_around(for_op), for_op][self.common :]

    def _lifted(self, domain: isl.Set) -> isl.Set:
        missing = len(self.outer) - self.common
        return domain.set_tuple_name("").insert_dims(isl.dim_type.set, self.common, missing)

    # Bounds.

    def _narrow_loop(self, for_op: loop.ForOp, wanted: isl.Set | None) -> None:
        chain = self.chain(for_op)
        around = self._domains[chain[-2]] if len(chain) > 1 else self._domain_around(for_op)
        domain = around.set_tuple_name("").add_dims(isl.dim_type.set, 1)
        values = [op.induction_variable for op in (*self.outer, *chain)]
        terms = _Terms(self.nest, domain, values)
        lower, upper = lower_bound(for_op), upper_bound(for_op)
        self.bounds.pop(for_op, None)
        if wanted is not None and not wanted.is_empty():
            lower, upper = self._bounds(for_op, wanted, terms)
            self.bounds[for_op] = (lower, upper)
        lows, highs = terms.values_of(lower), terms.values_of(upper)
        here = variable(domain.get_space(), len(values) - 1)
        step = for_op.step.value.data
        self._domains[for_op] = domain.intersect(loop_range(here, lows or [], highs or [], step))

    def _bounds(
        self, for_op: loop.ForOp, wanted: isl.Set, terms: _Terms
    ) -> tuple[BoundExprs, BoundExprs]:
        """The bounds the loop has, and those of the wanted iterations, without redundant ones."""
        hull = wanted.coalesce().simple_hull()
        position = hull.dim(isl.dim_type.set) - 1
        others = [*terms.variables[:-1], *self.nest.dependences.scop.parameters]
        lows, low_values = lower_bound(for_op)
        highs, high_values = upper_bound(for_op)
        step = for_op.step.value.data
        new_lows = shifted_to(lower_bounds(hull, position), len(low_values))
        if step != 1:
            # Only where the loop starts is it known which numbers it runs through.
            new_lows = [] if len(lows) > 1 else [_aligned(e, lows[0], step) for e in new_lows]
        new_highs = shifted_to(upper_bounds(hull, position), len(high_values))
        low_values, high_values = [*low_values, *others], [*high_values, *others]
        return (
            (terms.extreme([*lows, *new_lows], low_values, greatest=True), low_values),
            (terms.extreme([*highs, *new_highs], high_values, greatest=False), high_values),
        )


class _Terms:
    """Bounds as functions of the iterations around."""

    def __init__(self, nest: Nest, domain: isl.Set, variables: Sequence[SSAValue]):
        self.variables = variables
        self._domain = domain
        self._space = domain.get_space()
        self._parameters = nest.dependences.scop.parameters

    def values_of(self, bound: BoundExprs) -> list[isl.PwAff] | None:
        """The terms of a bound; None when one is not affine."""
        exprs, operands = bound
        dims = [self._value(operand) for operand in operands]
        used = {n for expr in exprs for n in expr.used_dims()}
        if any(dims[n] is None for n in used):
            return None
        zero = constant(self._space, 0)
        known = [zero if dim is None else dim for dim in dims]
        return [pw_aff(expr, known, self._space) for expr in exprs]

    def extreme(
        self, exprs: Sequence[AffineExpr], values: Sequence[SSAValue], *, greatest: bool
    ) -> list[AffineExpr]:
        """The terms without those that are never the only greatest (or least)."""
        kept: list[tuple[AffineExpr, isl.PwAff | None]] = []
        for expr in exprs:
            found = self.values_of(([expr], values))
            value = None if found is None else found[0]
            if any(self._beats(other, value, greatest) for _, other in kept):
                continue
            kept = [k for k in kept if not self._beats(value, k[1], greatest)]
            kept.append((expr, value))
        return [expr for expr, _ in kept]

    def _beats(self, a: isl.PwAff | None, b: isl.PwAff | None, greatest: bool) -> bool:
        if a is None or b is None:
            return False
        return self._domain.is_subset(a.ge_set(b) if greatest else a.le_set(b))

    def _value(self, value: SSAValue) -> isl.PwAff | None:
        number = constant_value(value)
        if number is not None:
            return constant(self._space, number)
        if value in self.variables:
            return variable(self._space, self.variables.index(value))
        if value in self._parameters:
            return parameter(self._space, self._parameters.index(value))
        if isinstance(value.owner, affine.ApplyOp):
            found = self.values_of(([applied(value.owner)], list(value.owner.mapOperands)))
            return None if found is None else found[0]
        return None


def _aligned(expr: AffineExpr, start: AffineExpr, step: int) -> AffineExpr:
    """The first number from `expr` on that `start`, `start + step` … reach."""
    return start + (expr - start).ceil_div(step) * step


def select(points: isl.Set, positions: Sequence[int]) -> isl.Map:
    """From each point to some of its coordinates."""
    space = points.get_space()
    local = isl.LocalSpace.from_space(space)
    target = space.params().add_dims(isl.dim_type.set, len(positions))
    chosen = isl.MultiAff.zero(isl.Space.map_from_domain_and_range(space, target))
    for n, position in enumerate(positions):
        aff = isl.Aff.var_on_domain(local, isl.dim_type.set, position)
        chosen = chosen.set_aff(n, aff)
    return isl.Map.from_multi_aff(chosen).intersect_domain(points)


def time_in_body(nest: Nest, for_op: loop.ForOp, position: int) -> isl.Map:
    """
    From iterations of nested loops to the first entries of a time vector.

    Everything in the operation number `position` of the body of `for_op` shares these.
    """
    entries: list[int | loop.ForOp] = [position]
    current: Operation = for_op
    while isinstance(current, loop.ForOp | loop.IfOp):
        block = current.parent
        assert block is not None
        if isinstance(current, loop.ForOp):
            entries.insert(0, current)
        entries.insert(0, list(block.ops).index(current))
        parent = block.parent_op()
        if isinstance(parent, loop.IfOp):
            entries.insert(0, 0 if block is parent.then_region.block else 1)
        assert parent is not None
        current = parent
    loops = (*loops_around(for_op), for_op)
    space = nest.frames.of(for_op.body.block).space
    local = isl.LocalSpace.from_space(space)
    target = space.params().add_dims(isl.dim_type.set, len(entries))
    result = isl.MultiAff.zero(isl.Space.map_from_domain_and_range(space, target))
    for n, entry in enumerate(entries):
        if isinstance(entry, int):
            aff = isl.Aff.zero_on_domain(local).set_constant_val(isl.Val(entry))
        else:
            aff = isl.Aff.var_on_domain(local, isl.dim_type.set, loops.index(entry))
        result = result.set_aff(n, aff)
    return isl.Map.from_multi_aff(result)
