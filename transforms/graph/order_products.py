"""Chains of matrix products in the order that takes the fewest operations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from ...analysis.levels import Level
from ...analysis.operations import operations_in
from ...dialects.dtypes import is_float
from ...dialects.graph import MatmulOp
from ...dialects.graph.expressions import Expr, built_before
from ...dialects.graph.shapes import is_static
from ...dialects.shaped import shape_of, tensor_type
from ...frozen import frozen
from ..numerics import DEFAULT_FP, NumericalEffect, fp_contract
from ..remarks import remark
from ..stepwell_pass import StepwellPass

_LONGEST = 32
"""Longer chains are ordered a part at a time: the time for one grows with the cube of its length."""

Split = dict[tuple[int, int], int]


def _is_matrix_product(op: Operation | object) -> bool:
    return isinstance(op, MatmulOp) and all(
        len(shape_of(value)) == 2 and is_static(shape_of(value)) for value in op.operands
    )


def factors(op: MatmulOp) -> tuple[list[SSAValue], list[MatmulOp]]:
    """The matrices of a chain from left to right, and its products, users first; products used elsewhere end it."""
    matrices: list[SSAValue] = [op.lhs, op.rhs]
    products = [op]
    position = 0
    while position < len(matrices) and len(matrices) < _LONGEST:
        inner = matrices[position].owner
        if isinstance(inner, MatmulOp) and _is_matrix_product(inner) and inner.result.has_one_use():
            matrices[position : position + 1] = [inner.lhs, inner.rhs]
            products.append(inner)
        else:
            position += 1
    return matrices, products


def best_order(extents: Sequence[int]) -> tuple[int, Split]:
    """
    The fewest multiplications for a product of n matrices, the i-th of extents[i] × extents[i + 1], and for each range
    of matrices where it is split. (Cormen et al., "Introduction to Algorithms", 14.2.)
    """
    count = len(extents) - 1
    cost = {(i, i): 0 for i in range(count)}
    split: Split = {}
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            options = [
                (
                    cost[i, k] + cost[k + 1, j] + extents[i] * extents[k + 1] * extents[j + 1],
                    k,
                )
                for k in range(i, j)
            ]
            cost[i, j], split[i, j] = min(options)
    return cost[0, count - 1], split


def _cost(products: Sequence[MatmulOp]) -> int:
    return sum((op.flops() or 0) // 2 for op in products)


def order(op: MatmulOp) -> None:
    """(x @ y) @ z → x @ (y @ z), where that takes fewer operations; and longer chains"""
    matrices, products = factors(op)
    extents = [*(shape_of(value)[0] for value in matrices), shape_of(matrices[-1])[1]]
    # A sum of no terms is 0, which no longer meets the NaNs and infinities of what it was multiplied with.
    if len(matrices) < 3 or 0 in extents[1:-1]:
        return
    before = _cost(products)
    after, split = best_order(extents)
    if after >= before:
        return
    remark(op, f"ordered {len(matrices)} matrix products: {after} multiplications for {before}")
    builder = built_before(op)

    def product(i: int, j: int) -> Expr:
        if i == j:
            return Expr(matrices[i], builder)
        return product(i, split[i, j]) @ product(split[i, j] + 1, j)

    result = product(0, len(matrices) - 1).value
    result.name_hint = op.result.name_hint
    Rewriter.replace_op(op, [], [result])
    for old in products[1:]:
        Rewriter.erase_op(old)


def _ends_chain(op: MatmulOp) -> bool:
    """Whether it is not itself a factor of a longer chain."""
    user = op.result.get_user_of_unique_use()
    return user is None or not _is_matrix_product(user)


@frozen
class GraphOrderProductsPass(StepwellPass):
    """
    Order chains of matrix products by the number of operations: `(x @ y) @ z` → `x @ (y @ z)`.

    The associative law on floats: sums are added up in another order. `fp=strict` leaves everything as it is.
    """

    name = "graph-order-products"
    level_in: ClassVar[Level] = Level.GRAPH
    level_out: ClassVar[Level] = Level.GRAPH
    numerics: ClassVar[NumericalEffect] = "reassociates"

    fp: str = DEFAULT_FP

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if fp_contract(self.fp) == "strict":
            return
        products = [inner for inner in operations_in(op) if isinstance(inner, MatmulOp)]
        for product in [inner for inner in products if _ends_chain(inner)]:
            element = tensor_type(product.result).get_element_type()
            if _is_matrix_product(product) and is_float(element):
                order(product)
