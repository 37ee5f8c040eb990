"""Transposes that meet behind element-wise operations, where they become one or none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Block, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.traits import ConstantLike

from ...analysis.levels import Level
from ...analysis.operations import blocks_in, operations_of
from ...dialects.graph import ElementwiseOp, TransposeOp
from ...dialects.graph.expressions import Expr, built_before
from ...dialects.shaped import shape_of, tensor_type
from ...frozen import frozen
from ..remarks import remark
from ..stepwell_pass import StepwellPass

Perm = tuple[int, ...]


def _awaited(op: ElementwiseOp, awaited: dict[SSAValue, Perm]) -> Perm | None:
    """By what everything that uses the result transposes it, at once or behind further element-wise operations."""
    found: set[Perm | None] = set()
    for use in op.results[0].uses:
        user = use.operation
        if isinstance(user, TransposeOp):
            found.add(user.permutation)
        elif isinstance(user, ElementwiseOp) and shape_of(user.results[0]) == shape_of(
            op.results[0]
        ):
            found.add(awaited.get(user.results[0]))
        else:
            return None
    return found.pop() if len(found) == 1 else None


def _common_transpose(op: ElementwiseOp) -> Perm | None:
    """The permutation that all operands but constants have come through, to the shape of the result."""
    shape = shape_of(op.results[0])
    perms: set[Perm] = set()
    for value in op.operands:
        owner = value.owner
        if isinstance(owner, TransposeOp) and shape_of(value) == shape:
            perms.add(owner.permutation)
        elif isinstance(owner, Block) or not owner.has_trait(ConstantLike):
            return None
    return perms.pop() if len(perms) == 1 else None


def _untransposed(value: SSAValue, perm: Perm, builder: Builder) -> SSAValue:
    """What an operand is before the transpose: its operand, or a constant with its axes put back."""
    if isinstance(value.owner, TransposeOp):
        return value.owner.operand
    x = Expr(value, builder)
    if all(extent == 1 for extent in x.shape):
        return value
    if x.rank < len(perm):
        x = x.reshape([*[1] * (len(perm) - x.rank), *x.shape])
    return x.transpose([perm.index(axis) for axis in range(len(perm))]).value


def sink(op: ElementwiseOp, perm: Perm) -> None:
    """f(transpose(x), transpose(y)) → transpose(f(x, y))"""
    builder = built_before(op)
    operands = [_untransposed(value, perm, builder) for value in op.operands]
    type_ = tensor_type(op.results[0])
    shape = [type_.get_shape()[perm.index(axis)] for axis in range(len(perm))]
    moved = builder.insert(
        type(op).create(
            operands=operands,
            result_types=[TensorType(type_.get_element_type(), shape)],
            properties=op.properties,
            attributes=op.attributes,
        )
    )
    name = op.results[0].name_hint
    moved.results[0].name_hint = name
    result = Expr(moved.results[0], builder).transpose(perm)
    old = list(op.operands)
    Rewriter.replace_op(op, [], [result.value])
    for value in old:
        if isinstance(value.owner, TransposeOp) and value.first_use is None:
            Rewriter.erase_op(value.owner)


def sink_transposes(block: Block) -> None:
    """
    Sink the transposes of a block, in two sweeps: what is awaited is found from the end, and operations are moved
    from the beginning, so that a transpose goes through a chain at once.
    """
    chain: Sequence[ElementwiseOp] = [
        op for op in operations_of(block) if isinstance(op, ElementwiseOp)
    ]
    awaited: dict[SSAValue, Perm] = {}
    for op in reversed(chain):
        perm = _awaited(op, awaited)
        if perm is not None:
            awaited[op.results[0]] = perm
    for op in chain:
        perm = _common_transpose(op) if op.results[0] in awaited else None
        if perm is not None:
            remark(op, f"moved the transpose before {op.name} behind it, where another one follows")
            sink(op, perm)


@frozen
class GraphSinkTransposesPass(StepwellPass):
    """
    Move transposes behind element-wise operations, where everything that follows transposes again.

    Two transposes become one, or none where the second undoes the first; elsewhere nothing is gained, and nothing is
    moved.
    """

    name = "graph-sink-transposes"
    level_in: ClassVar[Level] = Level.GRAPH
    level_out: ClassVar[Level] = Level.GRAPH

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for block in blocks_in(op):
            sink_transposes(block)
