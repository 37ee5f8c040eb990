"""
Running sums, products and extremes of rows, and what is made of them, computed for a block of rows at a time.

No row of a result depends on other rows. What a block of them has on the way, as running products and their greatest so
far, then stays in the second-level cache instead of being written to memory and read again by each next kernel: strip-mining of the
axis of the rows, with its loop outermost (Wolfe, High Performance Compilers for Parallel Computing, 1996, chapter 9).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import ClassVar

import numpy as np
from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, ModuleOp, TensorType, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ...analysis.cost import CHEAP, op_cost
from ...analysis.levels import Level
from ...analysis.operations import operations_in
from ...dialects import graph
from ...dialects.dtypes import bit_width, signless
from ...dialects.graph.reductions import ReductionOp
from ...dialects.graph.scans import CHAINS, CumulativeOp
from ...dialects.interfaces import Elementwise
from ...dialects.scalar import ScalarBuilder
from ...dialects.shaped import shape_of, tensor_type
from ...frozen import frozen
from ...targets.target import Target
from ..remarks import remark
from ..stepwell_pass import StepwellPass

PART_OF_CACHE = 2
"""A block has half of the second-level cache: the rest is for what streams through it."""

LEAST_BLOCKS = 4
"""So many blocks at least; fewer would save little."""


@frozen
class RowsPlan:
    """Operations of a block that are computed for some rows at a time, in their order."""

    ops: tuple[Operation, ...]
    after: tuple[Operation, ...]
    """what stands between them and needs their results, in its order"""
    rows: int
    block: int

    @property
    def blocks(self) -> int:
        return self.rows // self.block


def plan_rows(first: CumulativeOp, cache: int) -> RowsPlan | str:
    """How what begins with running sums is computed by rows, with a cache of so many bytes; why it is not."""
    shape = shape_of(first.operand)
    if DYNAMIC_INDEX in shape or not first.axis.value.data:
        return "they are along the first axis, or its extent is a value"
    rows = shape[0]
    ops, after = _following(first, rows)
    if len(ops) < 2:
        return "nothing else is computed of their rows alone"
    if all(_is_used_at_once(op) for op in ops if isinstance(op, CumulativeOp)):
        return "what is made of them is made where they are, and they are not stored"
    ops = _with_operands(ops, rows)
    between = sum(
        _bytes(v) for op in ops for v in op.results if any(u.operation in ops for u in v.uses)
    )
    if between <= cache:
        return f"the {between} bytes between operations stay in the cache of {cache}"
    inputs = {v for op in ops for v in op.operands if v.owner not in ops and _has_rows(v, rows)}
    of_row = sum(_bytes(v) for v in {*inputs, *(v for op in ops for v in op.results)}) / rows
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


def _bytes(value: SSAValue) -> int:
    type_ = tensor_type(value)
    return prod(type_.get_shape()) * bit_width(type_.get_element_type()) // 8


def _has_rows(value: SSAValue, rows: int) -> bool:
    shape = shape_of(value)
    return bool(shape) and shape[0] == rows


def _following(first: Operation, rows: int) -> tuple[tuple[Operation, ...], tuple[Operation, ...]]:
    """An operation and what depends on it row by row alone; and what else, before the last of these, depends on any of them."""
    found: list[Operation] = [first]
    others: list[Operation] = []
    after: list[Operation] = []
    op = first.next_op
    while op is not None:
        needs = {v.owner for inner in (op, *operations_in(op)) for v in inner.operands}
        depends = not needs.isdisjoint(found)
        by_rows = _is_by_rows(op, rows) and all(
            _takes_rows(op, value) for value in op.operands if value.owner in found
        )
        if not needs.isdisjoint(others) or (depends and not by_rows):
            others.append(op)
        elif depends:
            found.append(op)
            after = [*others]
        op = op.next_op
    return tuple(found), tuple(after)


def _with_operands(ops: Sequence[Operation], rows: int) -> tuple[Operation, ...]:
    """The operations with those element-wise ones before them whose results nothing else needs, nor all of them for a row."""
    found = list(ops)
    op = ops[0].prev_op
    while op is not None:
        users = [(use.operation, result) for result in op.results for use in result.uses]
        is_needed = bool(users) and all(
            user in found and _takes_rows(user, result) for user, result in users
        )
        if is_needed and isinstance(op, Elementwise) and _is_by_rows(op, rows):
            found.insert(0, op)
        op = op.prev_op
    return tuple(found)


def _is_by_rows(op: Operation, rows: int) -> bool:
    """Whether each row of the results is made of the same row of those operands that have as many."""
    if not op.operands or not all(_has_rows(value, rows) for value in op.results):
        return False
    if isinstance(op, Elementwise):
        rank = len(shape_of(op.results[0]))
        shapes = [shape_of(value) for value in op.operands]
        whole = [shape for shape in shapes if len(shape) == rank]
        return {shape[0] for shape in whole} in ({rows}, {1, rows})
    if not _has_rows(op.operands[0], rows):
        return False
    match op:
        case CumulativeOp():
            return op.axis.value.data > 0
        case ReductionOp():
            return 0 not in op.axis_tuple
        case graph.SliceOp():
            return op.steps.get_values()[0] == 1
        case graph.SqueezeOp() | graph.ExpandDimsOp():
            return 0 not in op.axes.get_values()
        case _:
            return False


def _takes_rows(op: Operation, value: SSAValue) -> bool:
    """Whether an operation by rows reads of an operand with as many the same row, and not all of it for each."""
    is_whole = len(shape_of(value)) == len(shape_of(op.results[0]))
    return not isinstance(op, Elementwise) or is_whole


# The rewriting.


def rewrite(plan: RowsPlan) -> None:
    """y = f(x) → y = reshape(scan over blocks of rows b of x: f(b))"""
    inside = {result for op in plan.ops for result in op.results}
    cut = dict.fromkeys(
        value
        for op in plan.ops
        for value in op.operands
        if value not in inside and _has_rows(value, plan.rows) and _takes_rows(op, value)
    )
    builder = InsertPoint.before(plan.ops[-1])
    sequences = [graph.ReshapeOp(v, (plan.blocks, plan.block, *shape_of(v)[1:])) for v in cut]
    block = Block(arg_types=[_block_type(value, plan) for value in cut])
    values: dict[SSAValue, SSAValue] = dict(zip(cut, block.args, strict=True))
    for value, arg in values.items():
        arg.name_hint = value.name_hint
    for op in plan.ops:
        operands = [values.get(v, v) if _takes_rows(op, v) else v for v in op.operands]
        copy = _on_block(op, operands, plan)
        copy.location = op.location
        block.add_op(copy)
        for old, new in zip(op.results, copy.results, strict=True):
            values[old] = new
            new.name_hint = old.name_hint
    kept = [
        v for op in plan.ops for v in op.results if any(u.operation not in plan.ops for u in v.uses)
    ]
    block.add_op(graph.YieldOp(*(values[value] for value in kept)))
    scan = graph.ScanOp(plan.blocks, [], [each.results[0] for each in sequences], Region(block))
    scan.location = plan.ops[0].location
    whole = [
        graph.ReshapeOp(made, shape_of(old)) for made, old in zip(scan.outputs, kept, strict=True)
    ]
    Rewriter.insert_op([*sequences, scan, *whole], builder)
    last: Operation = whole[-1]
    for op in plan.after:
        op.detach()
        Rewriter.insert_op(op, InsertPoint.after(last))
        last = op
    for old, made in zip(kept, whole, strict=True):
        made.results[0].name_hint = old.name_hint
        old.replace_all_uses_with(made.results[0])
    for op in reversed(plan.ops):
        Rewriter.erase_op(op)


def _block_type(value: SSAValue, plan: RowsPlan) -> TensorType[Attribute]:
    type_ = tensor_type(value)
    return TensorType(type_.get_element_type(), (plan.block, *type_.get_shape()[1:]))


def _on_block(op: Operation, operands: Sequence[SSAValue], plan: RowsPlan) -> Operation:
    """The operation for a block of rows."""
    properties = dict(op.properties)
    if isinstance(op, graph.SliceOp):
        stops = [plan.block, *op.stops.get_values()[1:]]
        properties["stops"] = DenseArrayBase.from_list(i64, stops)
    return type(op).create(
        operands=operands,
        result_types=[_block_type(result, plan) for result in op.results],
        properties=properties,
        attributes=dict(op.attributes),
    )


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
