"""
Running sums, products and extremes of rows, and what is made of them, computed for a block of rows at a time.

No row of a result depends on other rows. What a block of them has on the way, as running products and their greatest so
far, then stays in the second-level cache instead of being written to memory and read again by each next kernel: strip-mining of the
axis of the rows, with its loop outermost (Wolfe, High Performance Compilers for Parallel Computing, 1996, chapter 9).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp
from xdsl.ir import Block, Operation
from xdsl.rewriter import InsertPoint

from ...analysis.cost import CHEAP, op_cost
from ...analysis.levels import Level
from ...analysis.operations import operations_in
from ...dialects.dtypes import signless
from ...dialects.graph.reductions import ReductionOp
from ...dialects.graph.scans import CHAINS, CumulativeOp
from ...dialects.interfaces import Elementwise
from ...dialects.scalar import ScalarBuilder
from ...dialects.shaped import shape_of, tensor_type
from ...frozen import frozen
from ...targets.target import Target
from ..remarks import remark
from ..stepwell_pass import StepwellPass
from .blocks_of_rows import RowsPlan, bytes_of, following, has_rows, is_by_rows, rewrite, takes_rows

PART_OF_CACHE = 2
"""A block has half of the second-level cache: the rest is for what streams through it."""

LEAST_BLOCKS = 4
"""So many blocks at least; fewer would save little."""


def plan_rows(first: CumulativeOp, cache: int) -> RowsPlan | str:
    """How what begins with running sums is computed by rows, with a cache of so many bytes; why it is not."""
    shape = shape_of(first.operand)
    if DYNAMIC_INDEX in shape or not first.axis.value.data:
        return "they are along the first axis, or its extent is a value"
    rows = shape[0]
    ops, after = following(first, rows)
    if len(ops) < 2:
        return "nothing else is computed of their rows alone"
    if all(_is_used_at_once(op) for op in ops if isinstance(op, CumulativeOp)):
        return "what is made of them is made where they are, and they are not stored"
    ops = _with_operands(ops, rows)
    between = sum(
        bytes_of(v) for op in ops for v in op.results if any(u.operation in ops for u in v.uses)
    )
    if between <= cache:
        return f"the {between} bytes between operations stay in the cache of {cache}"
    inputs = {v for op in ops for v in op.operands if v.owner not in ops and has_rows(v, rows)}
    of_row = sum(bytes_of(v) for v in {*inputs, *(v for op in ops for v in op.results)}) / rows
    most = int(cache / PART_OF_CACHE / max(of_row, 1))
    sizes = [n for n in range(min(most, rows // LEAST_BLOCKS), 0, -1) if rows % n == 0]
    block = next((n for n in sizes if n % CHAINS == 0), None)
    if block is None:
        return f"no block of up to {most} rows divides {rows}"
    return RowsPlan(ops, after, rows, block)


def _is_used_at_once(op: CumulativeOp) -> bool:
    """
    Whether all that is made of running sums is one thing that costs little, or a sum of it: te-consume-in-loops computes
    that where the running sums are.
    """
    values, cost, ends = [op.result], 0.0, set[Operation]()
    for value in values:
        for user in dict.fromkeys(use.operation for use in value.uses):
            if isinstance(user, Elementwise) and shape_of(user.results[0]) == shape_of(value):
                cost += _element_cost(user)
                values += [result for result in user.results if result not in values]
            else:
                ends.add(user)
    joined = [end for end in ends if isinstance(end, ReductionOp)]
    is_sum = all(end.ufunc() in (np.add, np.multiply) for end in joined)
    return cost <= CHEAP and len(ends) == 1 and len(joined) == 1 and is_sum


def _element_cost(op: Operation) -> float:
    """The cost of an element of an element-wise operation, in additions."""
    assert isinstance(op, Elementwise)
    types = [signless(tensor_type(value).get_element_type()) for value in op.operands]
    block = Block(arg_types=types)
    op.scalar(ScalarBuilder(Builder(InsertPoint.at_end(block)), op.body_type), *block.args)
    return sum(map(op_cost, block.ops))


def _with_operands(ops: Sequence[Operation], rows: int) -> tuple[Operation, ...]:
    """The operations with those element-wise ones before them whose results nothing else needs, nor all of them for a row."""
    found = list(ops)
    op = ops[0].prev_op
    while op is not None:
        users = [(use.operation, result) for result in op.results for use in result.uses]
        is_needed = bool(users) and all(
            user in found and takes_rows(user, result) for user, result in users
        )
        if is_needed and isinstance(op, Elementwise) and is_by_rows(op, rows):
            found.insert(0, op)
        op = op.prev_op
    return tuple(found)


@frozen
class GraphComputeByRowsPass(StepwellPass):
    """
    Compute running sums, products and extremes along rows, and what is made of them, a block of rows at a time.

    Before: `v = cumprod(x, axis=1); p = cummax(v, axis=1); y = min(v / p, axis=1)`. After: a scan over blocks of rows, each
    step of which does the same. So it is where what lies between the operations is more than the second-level cache has,
    and one thread runs: the blocks come one after another.
    """

    name = "graph-compute-by-rows"
    level_in: ClassVar[Level] = Level.GRAPH
    level_out: ClassVar[Level] = Level.GRAPH

    target: str | Target = "host"
    opt: str = "full"
    zero_has_meaning = frozenset({"threads"})

    threads: int = 0

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = Target.of(self.target)
        cache = target.cache(2).bytes
        if self.opt == "quick" or (self.threads or target.cores) > 1:
            return
        for first in [inner for inner in operations_in(op) if isinstance(inner, CumulativeOp)]:
            if first.parent is None:
                continue
            plan = plan_rows(first, cache)
            if isinstance(plan, str):
                remark(first, f"the rows are not computed in blocks: {plan}", missed=True)
                continue
            count = len(plan.ops)
            remark(first, f"{count} operations in {plan.blocks} blocks of {plan.block} rows")
            rewrite(plan)
