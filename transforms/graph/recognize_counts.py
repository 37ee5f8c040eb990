"""Products of two one-hot matrices, which count how often two labels occur together."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import IntegerType, ModuleOp, i64
from xdsl.ir import SSAValue
from xdsl.rewriter import Rewriter

from ...analysis.levels import Level
from ...analysis.operations import operations_in
from ...dialects import graph
from ...dialects.dtypes import is_bool, is_float, significand_bits
from ...dialects.graph.base import constant_array
from ...dialects.graph.expressions import Expr, built_before, where
from ...dialects.graph.scatter import UPDATES_AN_ELEMENT
from ...dialects.shaped import shape_of, tensor_type
from ...frozen import frozen
from ..remarks import remark
from ..stepwell_pass import StepwellPass

MOST_NAMES = 64
"""
Names that keys are compared with, of both matrices together. The one-hot matrices take as many comparisons, and stores
besides, but each comparison is an operation of the program: with thousands of names it would take long to compile.
"""


@frozen
class OneHot:
    """A matrix that is 1 where a key, of which there is one for each row, equals a name, of which one for each column."""

    keys: SSAValue
    """as a vector, but for axes of extent 1"""
    names: SSAValue
    """likewise"""
    rows: int
    columns: int
    is_transposed: bool = False

    @staticmethod
    def of(value: SSAValue, key_axis: int) -> OneHot | None:
        """The matrix that a value is, with the keys along an axis of it; None where it is none."""
        axis, op = key_axis, value.owner
        while isinstance(op, graph.CastOp | graph.TransposeOp):
            if isinstance(op, graph.TransposeOp):
                axis = op.perm.get_values()[axis]
            op = op.operand.owner  # 0 and 1 are the same numbers in every type
        shape = shape_of(value)
        if not isinstance(op, graph.EqOp) or len(shape) != 2 or min(shape) < 2:
            return None
        rows, columns = shape[key_axis], shape[1 - key_axis]
        found = {_along(operand): operand for operand in op.operands}
        if set(found) != {0, 1} or not isinstance(
            tensor_type(op.operands[0]).get_element_type(), IntegerType
        ):
            return None
        return OneHot(found[axis], found[1 - axis], rows, columns)

    @property
    def known_first(self) -> int | None:
        """The least name, where they are known to be consecutive numbers from it on."""
        owner = self.names.owner
        if isinstance(owner, graph.IotaOp):
            return 0
        array = constant_array(self.names)
        if array is None:
            return None
        names = [int(name) for name in array.reshape(-1)]
        return names[0] if names == [names[0] + n for n in range(len(names))] else None

    @property
    def compared(self) -> int:
        """With how many names each key is compared."""
        return 0 if self.known_first is not None else self.columns


def _along(value: SSAValue) -> int | None:
    """The only axis of a matrix along which an operand that is broadcast to it varies."""
    shape = shape_of(value)
    shape = (1,) * (2 - len(shape)) + tuple(shape)
    varying = [axis for axis, extent in enumerate(shape) if extent != 1]
    return varying[0] if len(varying) == 1 and len(shape) == 2 else None


@frozen
class Counting:
    """A product of one-hot matrices, summed over their rows."""

    product: graph.MatmulOp
    first: OneHot
    second: OneHot

    @property
    def table(self) -> tuple[int, int]:
        """The shape of the table that is counted in, with a row and a column for keys that no name equals."""
        return self.first.columns + 1, self.second.columns + 1


def plan_counting(product: graph.MatmulOp) -> Counting | str | None:
    """How a product counts; None where it does not, or why it stays a product."""
    if len(shape_of(product.lhs)) != 2 or len(shape_of(product.rhs)) != 2:
        return None
    first, second = OneHot.of(product.lhs, 1), OneHot.of(product.rhs, 0)
    if first is None or second is None:
        return None
    element, plan = tensor_type(product.result).get_element_type(), Counting(product, first, second)
    if is_bool(element):
        return None
    if is_float(element) and first.rows >= 1 << significand_bits(element):
        return "sums of so many ones are not exact in its type"
    if first.compared + second.compared > MOST_NAMES:
        return f"its keys are compared with more than {MOST_NAMES} names"
    if first.rows < UPDATES_AN_ELEMENT * plan.table[0] * plan.table[1]:
        return "it has few terms for each element"
    return plan


def count(plan: Counting) -> None:
    """
    Before: `(x[:, None] == names).T @ (y[:, None] == others)`. After: the label of each x is the number of the first name
    that it equals, pairs of labels are counted in a table, and the elements for names are those for the first equal ones.
    """
    product, (rows, columns) = plan.product, plan.table
    builder = built_before(product)
    first, second = (_vector(Expr(o.keys, builder), o.rows) for o in (plan.first, plan.second))
    pair = _labels(first, plan.first, columns) + _labels(second, plan.second)
    zeros = pair.made(graph.ConstantOp(np.zeros(rows * columns, np.int64)))
    one = pair.made(graph.ConstantOp(np.ones(1, np.int64)))
    table = zeros.made(graph.ScatterElementsOp(zeros.value, pair.value, one.value, 0, "add"))
    counts = table.reshape([rows, columns])[slice(0, rows - 1), slice(0, columns - 1)]
    for axis, matrix in enumerate((plan.first, plan.second)):
        if matrix.known_first is None:
            names = _vector(Expr(matrix.names, builder), matrix.columns)
            same = _labels(names, matrix)
            counts = counts.made(graph.GatherOp(counts.value, same.value, axis))
    counts = counts.cast(tensor_type(product.result).get_element_type())
    product.result.replace_all_uses_with(counts.value)
    Rewriter.erase_op(product)


def _vector(x: Expr, extent: int) -> Expr:
    return x if x.shape == (extent,) else x.reshape([extent])


def _labels(keys: Expr, matrix: OneHot, scale: int = 1) -> Expr:
    """Of each key `scale` times the number of the first name that it equals, or of names where it equals none."""
    columns, start = matrix.columns, matrix.known_first
    if start is not None:
        number = keys.cast(i64) - start
        # Read without a sign a number below 0 is above every extent; a difference that wraps is no number of a name.
        inside = (number >= 0) & (number < columns)
        return where(inside, number, columns) * scale
    names = _vector(Expr(matrix.names, keys.builder), columns)
    label = keys.made(graph.ConstantOp(np.int64(columns * scale)))
    for n in reversed(range(columns)):
        number = label.made(graph.ConstantOp(np.int64(n * scale)))
        label = where(keys.equals(names[(slice(n, n + 1),)]), number, label)
    return label


class GraphRecognizeCountsPass(StepwellPass):
    """
    Count pairs of labels by updates of a table, where a product of two one-hot matrices of many rows counts them.

    Before: `cast(x[:, None] == names).T @ cast(y[:, None] == others)`. After: one update of a table for each row.
    """

    name = "graph-recognize-counts"
    level_in: ClassVar[Level] = Level.GRAPH
    level_out: ClassVar[Level] = Level.GRAPH

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for product in [inner for inner in operations_in(op) if isinstance(inner, graph.MatmulOp)]:
            plan = plan_counting(product)
            if isinstance(plan, Counting):
                remark(product, "counts pairs of labels")
                count(plan)
            elif plan is not None:
                remark(product, f"no counting: {plan}", missed=True)
