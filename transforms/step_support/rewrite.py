"""Edits of loop IR that steps share: affine operands in place, variables substituted, bodies moved."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TypeGuard

from xdsl.builder import Builder
from xdsl.dialects import affine
from xdsl.dialects.builtin import (
    AffineMapAttr,
    AffineSetAttr,
)
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import (
    AffineConstantExpr,
    AffineConstraintExpr,
    AffineExpr,
    AffineMap,
    AffineSet,
)
from xdsl.rewriter import InsertPoint

from ...analysis.affine_isl import applied
from ...analysis.operations import (
    body_of,
    last_operands,
    operands_before_and_after,
    operands_of,
    operations_of,
)
from ...dialects import loop
from ...dialects.affine_atoms import constant_expr, dim_expr, map_over
from ...dialects.affine_bounds import (
    has_each_term_once,
    linear_sum,
    simplified,
    sum_of_terms,
    terms,
)
from ...dialects.affine_substitution import difference, plus, product, substituted, sum_of
from ...dialects.affine_text import compact, dimensions_of
from ...dialects.leaf_operations import (
    insert_leaf_before,
    map_attribute,
    map_of,
    operand_segments,
    set_operands,
)
from ...dialects.loop.control import step_attribute

Compact = tuple[tuple[AffineExpr, ...], Sequence[SSAValue]]
"""Expressions, and the operands that they are over, of which they use each once."""

AffineOp = loop.ForOp | loop.IfOp | loop.LoadOp | loop.StoreOp | loop.PrefetchOp


def substitute(value: SSAValue, expr: AffineExpr, operands: Sequence[SSAValue]) -> None:
    """
    Replace every use of an index value by an affine expression over `operands`.

    Affine operations take it into their maps; before others an `affine.apply` is made.
    """
    users = list(dict.fromkeys(use.operation for use in value.uses))
    for user in users:
        if type(user) is loop.StoreOp and operands_of(user)[0] is value:
            # An index that is itself stored stands in no map.
            user.operands[0] = _applied_before(user, value, expr, operands)
        if _is_affine(user):
            _substitute_in(user, value, expr, operands)
        else:
            replacement = _applied_before(user, value, expr, operands)
            user.operands = [replacement if v is value else v for v in user.operands]


def _is_affine(op: Operation) -> TypeGuard[AffineOp | affine.ApplyOp]:
    return type(op) in _AFFINE


_AFFINE = frozenset(
    (loop.ForOp, loop.IfOp, loop.LoadOp, loop.StoreOp, loop.PrefetchOp, affine.ApplyOp)
)


def _applied_before(
    user: Operation, value: SSAValue, expr: AffineExpr, operands: Sequence[SSAValue]
) -> SSAValue:
    """What the expression gives, computed before `user`, in place of `value`."""
    if len(operands) == 1 and expr == dim_expr(0):
        return operands[0]
    apply = affine.ApplyOp(operands, AffineMapAttr(AffineMap(len(operands), 0, (expr,))))
    result = Builder(InsertPoint.before(user)).insert(apply).result
    result.name_hint = value.name_hint
    return result


def _substitute_in(
    user: AffineOp | affine.ApplyOp,
    value: SSAValue,
    expr: AffineExpr,
    operands: Sequence[SSAValue],
) -> None:
    def rewritten(exprs: Sequence[AffineExpr], old: Sequence[SSAValue]) -> Compact:
        return _with_value_replaced(exprs, old, value, expr, operands)

    if type(user) is loop.ForOp:
        _put_bounds(user, rewritten(*lower_bound(user)), rewritten(*upper_bound(user)))
    elif type(user) is loop.IfOp:
        sides = [c.lhs for c in user.condition.data.constraints]
        set_left_sides(user, *rewritten(sides, list(user.condition_operands)))
    elif type(user) is affine.ApplyOp:
        exprs, values = rewritten([applied(user)], list(user.mapOperands))
        user.operands = values
        user.map = AffineMapAttr(AffineMap(len(values), 0, exprs))
    else:
        assert (
            type(user) is loop.LoadOp or type(user) is loop.StoreOp or type(user) is loop.PrefetchOp
        )
        map_ = map_of(user, "map")
        _put_subscripts(user, *rewritten(map_.results, last_operands(user, map_.num_dims)))


def _with_value_replaced(
    exprs: Sequence[AffineExpr],
    old: Sequence[SSAValue],
    value: SSAValue,
    expr: AffineExpr,
    operands: Sequence[SSAValue],
) -> Compact:
    """Expressions over old operands with `expr`, which is over `operands`, in the place of `value`."""
    here, known = id(value), [*map(id, old)]
    if here not in known:
        return tuple(exprs), old
    added = [operands[n] for n in dimensions_of((expr,))]
    kept: dict[int, SSAValue] = {}
    for n in dimensions_of(exprs):  # in the order in which they are used
        for each in added if known[n] == here else (old[n],):
            kept.setdefault(id(each), each)
    place = {each: dim_expr(n) for n, each in enumerate(kept)}
    unused = dim_expr(0)
    own = substituted(expr, [place.get(id(each), unused) for each in operands])
    dims = [own if each == here else place.get(each, unused) for each in known]
    new = tuple([substituted(each, dims) for each in exprs])
    values = [*kept.values()]
    if all(map(has_each_term_once, new)):
        return new, values
    return compact([collected(each) for each in new], values)


def collected(expr: AffineExpr) -> AffineExpr:
    """`i + (j - i)` as `j`; a sum in which no term is there twice stays as it is written."""
    once = sum_of_terms(expr)
    if len(once) == len(terms(expr)):
        return expr
    result: AffineExpr | None = None
    number = 0
    for term, factor in once:
        if type(term) is AffineConstantExpr:
            number = factor
            continue
        scaled = product(term, factor)
        result = scaled if result is None else sum_of(result, scaled)
    return constant_expr(number) if result is None else plus(result, number)


def over(
    exprs: Sequence[AffineExpr], values: Sequence[SSAValue], every: Sequence[SSAValue]
) -> list[AffineExpr]:
    """Expressions over `values` as such over `every`, which these are among."""
    dims = [dim_expr(every.index(value)) for value in values]
    return [substituted(expr, dims) for expr in exprs]


def added_up(
    exprs: Sequence[AffineExpr], values: Sequence[SSAValue]
) -> tuple[list[AffineExpr], list[SSAValue]]:
    """The expressions with the terms of each value added up: `i + 2 - i` is 2."""
    positions = {value: n for n, value in reversed(list(enumerate(values)))}
    dims = [dim_expr(positions[value]) for value in values]
    merged = [substituted(e, dims) for e in exprs]
    return [linear_sum(e, len(values)) or e for e in merged], list(values)


def set_subscripts(
    op: loop.LoadOp | loop.StoreOp | loop.PrefetchOp,
    exprs: Sequence[AffineExpr],
    values: Sequence[SSAValue],
) -> None:
    """Give an access new subscripts over `values`, of which it keeps those that they use."""
    _put_subscripts(op, *compact(exprs, values))


def _put_subscripts(
    op: loop.LoadOp | loop.StoreOp | loop.PrefetchOp,
    exprs: tuple[AffineExpr, ...],
    operands: Sequence[SSAValue],
) -> None:
    """The same of subscripts that use each operand once."""
    count = len(operands_of(op)) - map_of(op, "map").num_dims
    kept, _ = operands_before_and_after(op, count)
    set_operands(op, (*kept, *operands))
    op.properties["map"] = map_attribute(map_over(len(operands), exprs))


BoundExprs = tuple[Sequence[AffineExpr], Sequence[SSAValue]]
"""The expressions of a bound (their maximum or minimum) and the values they are over."""


def lower_bound(op: loop.ForOp) -> BoundExprs:
    map_ = map_of(op, "lower_map")
    return map_.results, operands_before_and_after(op, map_.num_dims)[0]


def upper_bound(op: loop.ForOp) -> BoundExprs:
    map_ = map_of(op, "upper_map")
    return map_.results, last_operands(op, map_.num_dims)


def as_bound(bound: BoundExprs) -> tuple[AffineMap, list[SSAValue]]:
    """The form the constructor of `loop.for` takes."""
    exprs, values = compact(*bound)
    return map_over(len(values), exprs), values


def set_bounds(op: loop.ForOp, lower: BoundExprs, upper: BoundExprs) -> None:
    """Give a loop new bounds."""
    _put_bounds(op, compact(*lower), compact(*upper))


def _put_bounds(op: loop.ForOp, lower: Compact, upper: Compact) -> None:
    """The same of bounds that use each operand once."""
    (lows, lower_values), (highs, upper_values) = lower, upper
    set_operands(op, (*lower_values, *upper_values))
    op.properties |= {
        "operandSegmentSizes": operand_segments(len(lower_values), len(upper_values)),
        "lower_map": map_attribute(map_over(len(lower_values), lows)),
        "upper_map": map_attribute(map_over(len(upper_values), highs)),
    }


def add_conditions(op: loop.IfOp, rooms: Sequence[AffineExpr], values: Sequence[SSAValue]) -> None:
    """`if (c(a))` → `if (c(a), room(v) >= 0)`, with expressions over `values`."""
    own, before = list(op.condition_operands), op.condition.data.constraints
    asked = [loop.at_least_zero(room) for room in shifted_to(rooms, len(own))]
    exprs = [constraint.lhs for constraint in (*before, *asked)]
    exprs, operands = compact(exprs, [*own, *values])
    constraints = [
        AffineConstraintExpr(old.kind, expr, constant_expr(0), canonicalize=False)
        for old, expr in zip((*before, *asked), exprs, strict=True)
    ]
    set_condition(op, constraints, operands)


def set_step(op: loop.ForOp, step: int) -> None:
    """Give a loop a new step."""
    op.step = step_attribute(step)


def room_for(value: AffineExpr, upper: BoundExprs) -> list[AffineConstraintExpr]:
    """
    That `value`, an expression over one variable, is below an upper bound.

    The constraints are over the variable and then the bound's values.
    """
    highs, values = upper
    rooms = [high - value - 1 for high in shifted_to(highs, 1)]
    return [loop.at_least_zero(simplified(room, 1 + len(values))) for room in rooms]


def normalise_step(op: loop.ForOp, origin: BoundExprs | None = None) -> None:
    """
    `for i in L..U step s: S(i)` → `for i in 0..(U - L) ceildiv s: S(L + s * i)`, for a single `L`.

    With an `origin` O, a multiple of the step from every value: `for i in (L - O) ceildiv s..(U - O) ceildiv s:
    S(O + s * i)`.
    """
    (zero,), zero_values = origin or lower_bound(op)
    step = op.step.value.data

    def counted(bound: BoundExprs) -> BoundExprs:
        exprs, values = bound
        every = list(dict.fromkeys((*zero_values, *values)))
        (start,), ends = over([zero], zero_values, every), over(exprs, values, every)
        spans = [simplified(difference(end, start), len(every)) for end in ends]
        return [span if step == 1 else span.ceil_div(step) for span in spans], every

    nothing: BoundExprs = [constant_expr(0)], ()
    lower = nothing if origin is None else counted(lower_bound(op))
    upper = counted(upper_bound(op))
    (first,) = shifted_to([zero], 1)
    value = simplified(sum_of(first, product(dim_expr(0), step)), 1 + len(zero_values))
    substitute(op.induction_variable, value, [op.induction_variable, *zero_values])
    set_bounds(op, lower, upper)
    set_step(op, 1)


def is_sure_maximum(expr: AffineExpr, other: AffineExpr) -> bool:
    """Whether two numbers are compared, and the first is not below the other."""
    return (
        isinstance(expr, AffineConstantExpr)
        and isinstance(other, AffineConstantExpr)
        and expr.value >= other.value
    )


def joined_bounds(a: BoundExprs, b: BoundExprs, *, smallest: bool) -> BoundExprs:
    """All expressions of both bounds, without a number that another one makes superfluous."""
    exprs = [*a[0], *shifted_to(b[0], len(a[1]))]
    kept: list[AffineExpr] = []
    for number, expr in enumerate(exprs):
        others = [*kept, *exprs[number + 1 :]]
        if not any(_is_superfluous(expr, other, smallest) for other in others):
            kept.append(expr)
    return kept, [*a[1], *b[1]]


def _is_superfluous(expr: AffineExpr, other: AffineExpr, smallest: bool) -> bool:
    return is_sure_maximum(expr, other) if smallest else is_sure_maximum(other, expr)


def set_condition(
    op: loop.IfOp, constraints: Sequence[AffineConstraintExpr], values: Sequence[SSAValue]
) -> None:
    """Give a `loop.if` new constraints over `values`."""
    set_operands(op, values)
    op.condition = AffineSetAttr(AffineSet(len(values), 0, tuple(constraints)))


def set_left_sides(op: loop.IfOp, exprs: Sequence[AffineExpr], values: Sequence[SSAValue]) -> None:
    """Give the constraints of a `loop.if` new left sides, one each, over `values`."""
    parts = zip(op.condition.data.constraints, exprs, strict=True)
    new = [AffineConstraintExpr(c.kind, e, c.rhs, canonicalize=False) for c, e in parts]
    set_condition(op, new, values)


def shifted_to(exprs: Sequence[AffineExpr], offset: int) -> list[AffineExpr]:
    """The expressions with every dimension number raised by `offset`, to stand after other operands."""
    if not offset:
        return list(exprs)
    return [substituted(e, _dimensions_from(offset)) for e in exprs]


@lru_cache(maxsize=64)
def _dimensions_from(offset: int) -> list[AffineExpr]:
    return [dim_expr(offset + n) for n in range(64)]


def body_ops(op: loop.ForOp) -> list[Operation]:
    """The operations of a loop's body without its terminator."""
    return [inner for inner in operations_of(body_of(op)) if type(inner) is not loop.YieldOp]


def move_body(source: loop.ForOp, target: Block) -> None:
    """Move the body of a loop, without its terminator, to the front of `target`'s terminator."""
    last = target.last_op
    assert last is not None
    for inner in body_ops(source):
        inner.detach()
        insert_leaf_before(target, inner, last)


def loop_like(
    op: loop.ForOp,
    lower: BoundExprs,
    upper: BoundExprs,
    *,
    name: str | None = None,
    step: int | None = None,
    kind: loop.LoopKind | None = None,
    body: Region | None = None,
) -> loop.ForOp:
    """A loop with other bounds, empty without a `body`, that has everything else from `op` unless it is given."""
    made = loop.ForOp(
        op.loop_name.data if name is None else name,
        (map_over(len(lower[1]), tuple(lower[0])), lower[1]),
        (map_over(len(upper[1]), tuple(upper[0])), upper[1]),
        body,
        step=op.step.value.data if step is None else step,
        kind=op.kind.data if kind is None else kind,
        mode=op.mode.data if op.mode is not None else None,
    )
    made.attributes |= op.attributes
    made.location = op.location
    if body is None and (name is None or name == op.loop_name.data):
        made.induction_variable.name_hint = op.induction_variable.name_hint
    return made


def erase_body(op: loop.ForOp) -> None:
    """Erase all operations of a loop's body but the terminator."""
    for inner in reversed(body_ops(op)):
        inner.detach()
        inner.erase()


def insert_before(op: Operation, new: Sequence[Operation]) -> None:
    """Insert operations, which are in no block, in front of another that is not inside of them, in order."""
    block = op.parent
    assert block is not None
    for each in new:
        insert_leaf_before(block, each, op)


def insert_after(op: Operation, new: Sequence[Operation]) -> None:
    """Insert operations after another, in order."""
    assert op.parent is not None
    op.parent.insert_ops_after(new, op)


def replace_loop(old: loop.ForOp, new: Sequence[Operation]) -> None:
    """Put operations in the place of a loop whose body has been moved away, and erase it."""
    insert_before(old, new)
    old.detach()
    old.erase()
