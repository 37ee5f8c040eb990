"""Products of rows with a matrix, and what follows them row by row, on matrices instead of on batches of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import Rewriter

from ...analysis.levels import Level
from ...analysis.operations import blocks_in, operations_of
from ...dialects.graph import ExpandDimsOp, MatmulOp, ReshapeOp, SqueezeOp
from ...dialects.graph.expressions import Expr, built_before
from ...dialects.graph.rows import RowWise
from ...dialects.graph.shapes import is_static
from ...dialects.shaped import shape_of, tensor_type
from ...frozen import frozen
from ..remarks import remark
from ..stepwell_pass import StepwellPass
from ..unused import erase_unused_in


def source_of(value: SSAValue) -> SSAValue:
    """The tensor with the same elements in the same order that reshapes were made of."""
    while isinstance(value.owner, ReshapeOp | ExpandDimsOp | SqueezeOp):
        value = value.owner.operand
    return value


def matrix_shape(value: SSAValue) -> tuple[int, int]:
    """The extents of a tensor whose leading axes are one."""
    shape = shape_of(value)
    return prod(shape[:-1]), shape[-1]


def _is_of_rows(op: Operation) -> bool:
    """Whether it could be an operation on matrices."""
    return (
        isinstance(op, RowWise)
        and len(shape_of(op.results[0])) > 2
        and all(is_static(shape_of(value)) for value in (*op.operands, *op.results))
        and op.row_operands() is not None
    )


def _is_flat(value: SSAValue) -> bool:
    """Whether it is the rows of a matrix that was computed row by row."""
    source = source_of(value)
    return isinstance(source.owner, RowWise) and shape_of(source) == matrix_shape(value)


@dataclass
class _Matrices:
    """The matrices that stand for tensors of a block, by tensor."""

    known: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])

    def of(self, value: SSAValue, user: Operation) -> SSAValue:
        """The matrix of a tensor; one that is made here stands before the first operation that uses it."""
        if value not in self.known:
            source = source_of(value)
            if shape_of(source) != matrix_shape(value):
                source = Expr(source, built_before(user)).reshape(matrix_shape(value)).value
            self.known[value] = source
        return self.known[value]

    def starts(self, op: Operation) -> bool:
        """Whether it is a product of rows with a matrix, or follows one row by row."""
        if not isinstance(op, RowWise) or not _is_of_rows(op):
            return False
        rows = op.row_operands() or ()
        return isinstance(op, MatmulOp) or any(x in self.known or _is_flat(x) for x in rows)

    def flatten(self, op: RowWise) -> None:
        """f(x) → reshape(f(reshape(x)))"""
        rows = op.row_operands() or ()
        operands = [
            self.of(value, op) if value in rows else _parameter(value, op) for value in op.operands
        ]
        (result,) = op.results
        type_ = TensorType(tensor_type(result).get_element_type(), matrix_shape(result))
        builder = built_before(op)
        flat = type(op).create(
            operands=operands,
            result_types=[type_],
            properties=dict(op.row_properties()),
            attributes=op.attributes,
        )
        matrix = Expr(builder.insert(flat).results[0], builder)
        matrix.value.name_hint = result.name_hint
        back = matrix.reshape(shape_of(result)).value
        Rewriter.replace_op(op, [], [back])
        self.known[back] = matrix.value


def _parameter(value: SSAValue, user: Operation) -> SSAValue:
    """A matrix that rows are multiplied with, or what is the same for each row, without its leading axes."""
    shape = shape_of(value)
    return value if len(shape) <= 2 else Expr(value, built_before(user)).reshape(shape[-1:]).value


def flatten_rows(block: Block) -> None:
    """Flatten what can be in a block, from its beginning: what follows a product of rows follows a matrix then."""
    matrices = _Matrices()
    for op in operations_of(block):
        if isinstance(op, RowWise) and matrices.starts(op):
            remark(op, f"{op.name} works on {matrix_shape(op.results[0])[0]} rows of one matrix")
            matrices.flatten(op)
    erase_unused_in(block)


@frozen
class GraphFlattenRowsPass(StepwellPass):
    """
    Multiply the rows of a batch with a matrix as one matrix: `reshape(reshape(x) @ w)` for `x @ w`.

    Tiles of a product are cut from one long axis of rows then, and each part of the weights is read once for as many
    rows as possible. What follows row by row (sums, activations, normalizations) goes on with the matrix, so that
    reshapes stand only where rows are told apart.
    """

    name = "graph-flatten-rows"
    level_in: ClassVar[Level] = Level.GRAPH
    level_out: ClassVar[Level] = Level.GRAPH

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for block in blocks_in(op):
            flatten_rows(block)
