"""Rewrites of movement that no equation says: into operations that broadcast or pad themselves, and of concat."""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from ...dialects.graph import (
    BroadcastToOp,
    ConcatOp,
    ConvOp,
    ElementwiseOp,
    ExpandDimsOp,
    PadOp,
    ReductionOp,
    SliceOp,
    SortOp,
    SplitOp,
    SqueezeOp,
)
from ...dialects.graph.expressions import Expr, built_before
from ...dialects.graph.selection import selection_steps
from ...dialects.graph.shapes import broadcast, is_static
from ...dialects.shaped import shape_of, tensor_type
from ..remarks import remark
from .worklist import Pattern


class BroadcastIntoElementwise(Pattern):
    """x + broadcast_to(y) → x + y, where the result has the same shape without"""

    ROOTS: ClassVar = (ElementwiseOp,)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if not isinstance(op, ElementwiseOp):
            return
        for number, operand in enumerate(op.operands):
            if not isinstance(operand.owner, BroadcastToOp):
                continue
            source = operand.owner.operand
            others = [value for place, value in enumerate(op.operands) if place != number]
            shapes = [shape_of(value) for value in (source, *others)]
            if broadcast(*shapes) == tuple(shape_of(op.results[0])):
                remark(op, f"{op.name} broadcasts its operand itself")
                op.operands[number] = source
                rewriter.notify_op_modified(op)
                return


class ConcatOfParts(Pattern):
    """concat(split(x)), of all parts in order along one axis → x"""

    ROOTS: ClassVar = (ConcatOp,)

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ConcatOp, rewriter: PatternRewriter) -> None:
        split = op.inputs[0].owner
        if not isinstance(split, SplitOp) or split.axis != op.axis:
            return
        if tuple(op.inputs) == tuple(split.parts):
            remark(op, "rewrote concat(split(x)) → x")
            rewriter.replace(op, [], [split.operand])


class ConcatOfConcat(Pattern):
    """concat(concat(x, y), z) → concat(x, y, z) along one axis, where the inner one is used once"""

    ROOTS: ClassVar = (ConcatOp,)

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ConcatOp, rewriter: PatternRewriter) -> None:
        inputs: list[SSAValue] = []
        for value in op.inputs:
            inner = value.owner
            joins = isinstance(inner, ConcatOp) and inner.axis == op.axis and value.has_one_use()
            inputs += inner.inputs if joins and isinstance(inner, ConcatOp) else [value]
        if len(inputs) > len(op.inputs):
            remark(op, "rewrote concat(concat(x, y), z) → concat(x, y, z)")
            joined = ConcatOp(inputs, op.axis.value.data)
            joined.location = op.location
            rewriter.replace(op, joined)


class SliceOfConcat(Pattern):
    """slice(concat(x, y)) → slice(x), where it has elements of x alone"""

    ROOTS: ClassVar = (SliceOp,)

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: SliceOp, rewriter: PatternRewriter) -> None:
        concat = op.operand.owner
        if not isinstance(concat, ConcatOp):
            return
        axis = concat.axis.value.data
        found = range(*op.bounds[axis])
        if len(found) == 0:
            return
        first, last = min(found[0], found[-1]), max(found[0], found[-1])
        offset = 0
        for value in concat.inputs:
            extent = shape_of(value)[axis]
            if offset <= first and last < offset + extent:
                bounds = list(op.bounds)
                start, stop, step = bounds[axis]
                bounds[axis] = (start - offset, stop - offset, step)
                slices = [slice(a, None if b < 0 else b, c) for a, b, c in bounds]
                remark(op, "rewrote slice(concat(x, y)) → slice(x)")
                sliced = SliceOp(value, slices)
                sliced.location = op.location
                rewriter.replace(op, sliced)
                return
            offset += extent


class ReductionOfBroadcast(Pattern):
    """
    sum(broadcast_to(x)) → broadcast_to(sum(x)), where axes that are not reduced repeat x: each sum is computed once

    Before: the sum of each row of `broadcast_to(x) : tensor<3xf32> -> tensor<2x3xf32>`. After: the sum of x, twice.
    """

    ROOTS: ClassVar = (ReductionOp,)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if not isinstance(op, ReductionOp) or not isinstance(op.operand.owner, BroadcastToOp):
            return
        source, shape = op.operand.owner.operand, tuple(shape_of(op.operand))
        own = (*(1,) * (len(shape) - len(shape_of(source))), *shape_of(source))
        if not is_static(shape) or not is_static(own):
            return
        axes = op.axis_tuple
        # Along the axes that are reduced, elements stay repeated: they count as often as they are there.
        once = tuple(n if axis in axes else own[axis] for axis, n in enumerate(shape))
        if once == shape:
            return
        remark(op, "rewrote a reduction of broadcast elements → broadcast_to(reduction)")
        x = Expr(source, built_before(op)).reshape(own).broadcast_to(once)
        reduced = x.made(type(op)(x.value, axes, keepdims=True))
        kept = tuple(1 if axis in axes else n for axis, n in enumerate(shape))
        whole = reduced.broadcast_to(kept).reshape(shape_of(op.result))
        rewriter.replace(op, [], [whole.value])


class ReductionOfSameElements(Pattern):
    """sum(x, keepdims), where sum(x) over the same axes stands before → expand_dims(sum(x)), and the other way round"""

    ROOTS: ClassVar = (ReductionOp,)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if not isinstance(op, ReductionOp) or op.parent is None:
            return
        for use in op.operand.uses:
            other = use.operation
            if (
                type(other) is type(op)
                and other.parent is op.parent
                and other.axes == op.axes
                and other.keepdims != op.keepdims
                and other.result.first_use is not None
                and other.is_before_in_block(op)
            ):
                remark(op, "reduced the same elements twice, with keepdims and without → once")
                reshaped_op = ExpandDimsOp if op.keepdims is not None else SqueezeOp
                reshaped = reshaped_op(other.result, op.axis_tuple)
                reshaped.location = op.location
                rewriter.replace(op, reshaped)
                return


class PadIntoConvolution(Pattern):
    """conv(pad(x, low, high)) → conv(x) with pads of as much more, where the window's axes are padded, with zeros"""

    ROOTS: ClassVar = (ConvOp,)

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ConvOp, rewriter: PatternRewriter) -> None:
        pad = op.image.owner
        if not isinstance(pad, PadOp) or pad.value.value.data != 0:
            return
        low, high = pad.low.get_values(), pad.high.get_values()
        before, after = op.before.get_values(), op.after.get_values()
        # Where a negative pad of the convolution cuts off, it would cut of what is padded here first.
        if any((*low[:2], *high[:2])) or min((*before, *after)) < 0:
            return
        remark(op, "rewrote conv(pad(x)) → conv(x) with larger pads")
        padded = ConvOp(
            pad.operand,
            op.weights,
            op.strides.get_values(),
            op.dilations.get_values(),
            [x + y for x, y in zip(low[2:], before, strict=True)],
            [x + y for x, y in zip(high[2:], after, strict=True)],
            op.groups.value.data,
        )
        padded.location = op.location
        rewriter.replace(op, padded)


class SliceOfSort(Pattern):
    """slice(sort(x)) → sort(x, places), where slices read a few places of the sorted rows alone"""

    ROOTS: ClassVar = (SortOp,)

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: SortOp, rewriter: PatternRewriter) -> None:
        type_, axis = tensor_type(op.operand), op.axis.value.data
        if op.places is not None or not is_static(type_.get_shape()):
            return
        slices: list[SliceOp] = []
        for result in op.results:
            for use in result.uses:
                if not isinstance(use.operation, SliceOp):
                    return
                slices.append(use.operation)
        extent, element = type_.get_shape()[axis], type_.get_element_type()
        read = [range(*each.bounds[axis]) for each in slices]
        if not all(read):
            return
        places = [(min(each[0], each[-1]), max(each[0], each[-1]) + 1) for each in read]
        joined = _joined(places)
        steps = sum(selection_steps(extent, element, *each) for each in joined)
        if not slices or steps >= op.row_steps():
            return
        remark(op, "rewrote slice(sort(x)) → sort(x) that gives a few places alone")
        selected = {
            each: SortOp(
                op.operand,
                axis,
                op.descending is not None,
                each,
                values_only=op.values_only is not None,
            )
            for each in joined
        }
        for sort in selected.values():
            sort.location = op.location
            rewriter.insert(sort)
        for each, (start, _) in zip(slices, places, strict=True):
            found = next((low, high) for low, high in joined if low <= start < high)
            number = op.results.index(each.operand)
            self._replace(each, selected[found].results[number], axis, found[0], rewriter)
        rewriter.erase(op)

    def _replace(
        self, op: SliceOp, source: SSAValue, axis: int, first: int, rewriter: PatternRewriter
    ) -> None:
        bounds = list(op.bounds)
        start, stop, step = bounds[axis]
        bounds[axis] = (start - first, stop - first, step)
        slices = [slice(a, None if b < 0 else b, c) for a, b, c in bounds]
        part = SliceOp(source, slices)
        part.location = op.location
        part.result.name_hint = op.result.name_hint
        rewriter.replace(op, part)


def _joined(places: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The ranges in order, those that overlap or touch as one: another place beside one that is found is one more pass."""
    found: list[tuple[int, int]] = []
    for low, high in sorted(places):
        if found and low <= found[-1][1]:
            found[-1] = (found[-1][0], max(high, found[-1][1]))
        else:
            found.append((low, high))
    return found
