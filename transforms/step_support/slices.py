"""The operations that compute a value, and copies of them for other iterations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from xdsl.builder import Builder
from xdsl.dialects import affine, func, memref
from xdsl.dialects.builtin import AffineMapAttr
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.traits import get_effects

from ...dialects import loop
from ...dialects.affine_text import compact
from ...frozen import frozen
from .rewrite import substitute


@frozen
class Slice:
    """What computes a value inside of loops, in order; what stands outside of all loops is left out."""

    value: SSAValue
    ops: tuple[Operation, ...]

    def contains(self, op: Operation) -> bool:
        """Whether the operation is one of the slice or inside one."""
        return any(part.is_ancestor(op) for part in self.ops)

    def copy(
        self,
        builder: Builder,
        variables: Sequence[SSAValue],
        point: Sequence[AffineExpr],
        values: Sequence[SSAValue],
    ) -> SSAValue:
        """Insert a copy as `copy_at` does, and give its value."""
        mapping = copy_at(self.ops, builder, variables, point, values)
        return mapping.get(self.value, self.value)


def copy_at(
    ops: Sequence[Operation],
    builder: Builder,
    variables: Sequence[SSAValue],
    point: Sequence[AffineExpr],
    values: Sequence[SSAValue],
    known: Mapping[SSAValue, SSAValue] | None = None,
) -> dict[SSAValue, SSAValue]:
    """
    Insert copies of operations for the iteration `point` of the loops of `variables`.

    The expressions of `point` are over `values`; `known` are values to use in place of others. The
    result maps old values to new ones.
    """
    mapping = dict(known or {})
    placed: list[affine.ApplyOp] = []
    for variable, expr in zip(variables, point, strict=True):
        # Only what is used: some of the values may be defined further down.
        exprs, used = compact([expr], values)
        apply = builder.insert(affine.ApplyOp(used, AffineMapAttr(AffineMap(len(used), 0, exprs))))
        apply.result.name_hint = variable.name_hint
        mapping[variable] = apply.result
        placed.append(apply)
    for op in ops:
        builder.insert(op.clone(mapping))
    for apply in placed:
        substitute(apply.result, apply.map.data.results[0], apply.mapOperands)
        apply.detach()
        apply.erase()
    return mapping


def slice_of(value: SSAValue, function: func.FuncOp) -> Slice | Operation:
    """What computes `value`, or the first operation in it that cannot be repeated."""
    found: set[Operation] = set()
    pending = [value]
    while pending:
        owner = pending.pop().owner
        if isinstance(owner, Block) or owner in found or owner.parent is function.body.block:
            continue
        odd = next((op for op in owner.walk() if not _may_repeat(op)), None)
        if odd is not None:
            return odd
        found.add(owner)
        pending.extend(used_from_outside(owner))
    return Slice(value, tuple(op for op in function.walk() if op in found))


def used_from_outside(op: Operation) -> Iterator[SSAValue]:
    """The values the operation, or what is inside of it, takes from around."""
    for inner in op.walk():
        for operand in inner.operands:
            owner = operand.owner
            made_by = owner.parent_op() if isinstance(owner, Block) else owner
            if made_by is None or isinstance(owner, Block) or not op.is_ancestor(made_by):
                yield operand


def may_repeat(op: Operation) -> bool:
    """Whether the operation and what is inside of it only read and compute, without loops."""
    return all(_may_repeat(inner) for inner in op.walk())


def _may_repeat(op: Operation) -> bool:
    """Whether the operation reads at most, and is no loop."""
    if isinstance(op, loop.LoadOp | memref.LoadOp | loop.YieldOp):
        return True
    if isinstance(op, loop.IfOp):
        return True  # what is inside is asked for itself
    return not op.regions and get_effects(op) == set()
