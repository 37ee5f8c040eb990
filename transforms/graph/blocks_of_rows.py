"""
Operations that make each row of their results of the same row of their operands, and a loop over blocks of rows instead of them.

A row is what stands at one index of the leading axis: an image of a batch, or a row of numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import DenseArrayBase, TensorType, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ...analysis.operations import operations_in
from ...dialects import graph
from ...dialects.dtypes import bit_width
from ...dialects.graph.convolution import SlidingWindowOp
from ...dialects.graph.pooling import PoolOp
from ...dialects.graph.reductions import ReductionOp
from ...dialects.graph.scans import CumulativeOp
from ...dialects.interfaces import Elementwise
from ...dialects.shaped import shape_of, tensor_type
from ...frozen import frozen


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


def bytes_of(value: SSAValue) -> int:
    type_ = tensor_type(value)
    return prod(type_.get_shape()) * bit_width(type_.get_element_type()) // 8


def has_rows(value: SSAValue, rows: int) -> bool:
    shape = shape_of(value)
    return bool(shape) and shape[0] == rows


def following(first: Operation, rows: int) -> tuple[tuple[Operation, ...], tuple[Operation, ...]]:
    """An operation and what depends on it row by row alone; and what else, before the last of these, depends on any of them."""
    found: list[Operation] = [first]
    others: list[Operation] = []
    after: list[Operation] = []
    op = first.next_op
    while op is not None:
        needs = {v.owner for inner in (op, *operations_in(op)) for v in inner.operands}
        depends = not needs.isdisjoint(found)
        by_rows = is_by_rows(op, rows) and all(
            takes_rows(op, value) for value in op.operands if value.owner in found
        )
        if not needs.isdisjoint(others) or (depends and not by_rows):
            others.append(op)
        elif depends:
            found.append(op)
            after = [*others]
        op = op.next_op
    return tuple(found), tuple(after)


def is_by_rows(op: Operation, rows: int) -> bool:
    """Whether each row of the results is made of the same row of those operands that have as many."""
    if not op.operands or not all(has_rows(value, rows) for value in op.results):
        return False
    if isinstance(op, Elementwise):
        rank = len(shape_of(op.results[0]))
        shapes = [shape_of(value) for value in op.operands]
        whole = [shape for shape in shapes if len(shape) == rank]
        return {shape[0] for shape in whole} in ({rows}, {1, rows})
    if not has_rows(op.operands[0], rows):
        return False
    match op:
        case CumulativeOp():
            return op.axis.value.data > 0
        case SlidingWindowOp():
            return op.image is not op.weights
        case PoolOp():
            lists = (op.window, op.strides, op.low, op.high)
            return [each.get_values()[0] for each in lists] == [1, 1, 0, 0]
        case ReductionOp():
            return 0 not in op.axis_tuple
        case graph.SliceOp():
            return op.steps.get_values()[0] == 1
        case graph.SqueezeOp() | graph.ExpandDimsOp():
            return 0 not in op.axes.get_values()
        case _:
            return False


def takes_rows(op: Operation, value: SSAValue) -> bool:
    """Whether an operation by rows reads of an operand with as many the same row, and not all of it for each."""
    if isinstance(op, SlidingWindowOp):
        return value is op.image
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
        if value not in inside and has_rows(value, plan.rows) and takes_rows(op, value)
    )
    builder = InsertPoint.before(plan.ops[-1])
    sequences = [graph.ReshapeOp(v, (plan.blocks, plan.block, *shape_of(v)[1:])) for v in cut]
    block = Block(arg_types=[_block_type(value, plan) for value in cut])
    values: dict[SSAValue, SSAValue] = dict(zip(cut, block.args, strict=True))
    for value, arg in values.items():
        arg.name_hint = value.name_hint
    for op in plan.ops:
        operands = [values.get(v, v) if takes_rows(op, v) else v for v in op.operands]
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
