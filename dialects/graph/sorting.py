"""Sorting along an axis, which gives the order too: a stable merge sort of short rows, of long ones by digits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr, TensorType, UnitAttr, i1, i8, i64
from xdsl.ir import SSAValue
from xdsl.irdl import AnyAttr, VarConstraint, operand_def, opt_prop_def, prop_def, result_def

from ..interfaces import Array, DefinedInTe
from ..shaped import Tensor, tensor_type
from ..te.builder import TeBuilder
from ..te.loop_builder import LoopBuilder
from . import radix_sort
from .base import GraphOp, Value, graph_op
from .shapes import element_count, normalized_axis, require_canonical_axis


@graph_op
class SortOp(GraphOp, DefinedInTe):
    """
    The elements along an axis in order, and where each was, as i64 (`torch.sort`). Equal elements keep their order, also
    when it is `descending`. NaN is above every number.

        %v, %i = graph.sort %x axis = 1 descending : tensor<2x9xf32> -> tensor<2x9xf32>, tensor<2x9xi64>

    A merge sort from below: passes that merge runs of 1, 2, 4 … elements, each a loop over the elements that writes one
    of them at a time, the lesser of the heads of two runs (Knuth, The Art of Computer Programming 3, 5.2.4). Two buffers,
    of elements with their indices, take turns, so that memory is read in order. Long rows are sorted by digits instead.
    """

    name = "graph.sort"

    T: ClassVar = VarConstraint("T", AnyAttr())
    operand = operand_def(T)
    axis = prop_def(IntegerAttr.constr(i64))
    descending = opt_prop_def(UnitAttr)
    values = result_def(T)
    order = result_def()

    assembly_format = (
        "$operand `axis` `=` $axis (`descending` $descending^)? attr-dict "
        "`:` type($operand) `->` type($values) `,` type($order)"
    )

    def __init__(self, operand: Value, axis: int = -1, descending: bool = False):
        type_ = tensor_type(operand)
        axis = normalized_axis(axis, type_.get_num_dims())
        super().__init__(
            operands=[operand],
            properties={
                "axis": IntegerAttr(axis, i64),
                "descending": UnitAttr() if descending else None,
            },
            result_types=[type_, TensorType(i64, type_.get_shape())],
        )

    def inferred_types(self) -> Sequence[Tensor]:
        type_ = tensor_type(self.operand)
        require_canonical_axis(self.axis.value.data, type_.get_num_dims())
        return (type_, TensorType(i64, type_.get_shape()))

    def numpy(self, x: Array) -> tuple[Array, Array]:
        axis = self.axis.value.data
        if self.descending is None:
            order = np.argsort(x, axis, kind="stable")
        else:
            # Backwards and then turned round, equal elements are in order again.
            order = np.flip(np.argsort(np.flip(x, axis), axis, kind="stable"), axis)
            order = x.shape[axis] - 1 - order
        return np.take_along_axis(x, order, axis), order.astype(np.int64)

    def define(self, te: TeBuilder) -> Sequence[SSAValue]:
        type_, axis = tensor_type(self.operand), self.axis.value.data
        shape = type_.get_shape()
        lanes, extent = [*shape[:axis], *shape[axis + 1 :]], shape[axis]
        passes = max(extent - 1, 0).bit_length()

        def body(w: LoopBuilder, sources: Sequence[SSAValue], results: Sequence[SSAValue]) -> None:
            if element_count(shape) == 0:
                return
            (x,), (values, order) = sources, results
            if radix_sort.is_faster(extent, type_.get_element_type()):
                self._by_digits(w, x, (values, order))
                return
            keys = w.scratch(type_.get_element_type(), (2, extent), "keys")
            places = w.scratch(i64, (2, extent), "places")
            b = w.index
            with w.loops(lanes) as lane:
                with w.loop("s", 0, extent) as position:
                    at = [*lane[:axis], position, *lane[axis:]]
                    w.store(w.load(x, at), keys, [0, position])
                    w.store(w.scalar(i64).from_index(position), places, [0, position])
                with w.loop("p", 0, passes) as number:
                    source = b.bit_and(number, b.constant(1))
                    width = b.emit(arith.ShLIOp(b.constant(1), number))
                    self._merge(w, (keys, places), extent, source, width)
                with w.loop("t", 0, extent) as position:
                    at = [*lane[:axis], position, *lane[axis:]]
                    w.store(w.load(keys, [passes % 2, position]), values, at)
                    w.store(w.load(places, [passes % 2, position]), order, at)

        return te.loops([self.operand], [type_, TensorType(i64, shape)], body)

    def _by_digits(self, w: LoopBuilder, x: SSAValue, results: tuple[SSAValue, SSAValue]) -> None:
        type_, axis = tensor_type(self.operand), self.axis.value.data
        shape, (values, order) = type_.get_shape(), results
        sort = radix_sort.RadixSort(
            w, type_.get_element_type(), shape[axis], descending=self.descending is not None
        )
        with w.loops([*shape[:axis], *shape[axis + 1 :]]) as lane:

            def at(position: SSAValue) -> list[SSAValue]:
                return [*lane[:axis], position, *lane[axis:]]

            def write(position: SSAValue, place: SSAValue) -> None:
                w.store(w.load(x, at(place)), values, at(position))
                w.store(w.scalar(i64).from_index(place), order, at(position))

            sort.write(lambda position: w.load(x, at(position)), write)

    def _merge(
        self,
        w: LoopBuilder,
        runs: tuple[SSAValue, SSAValue],
        extent: int,
        source: SSAValue,
        width: SSAValue,
    ) -> None:
        """Write the loop that merges each two runs of `width` elements in the half `source` of `runs` into the other."""
        b = w.index
        zero, one, last, end = (b.constant(n) for n in (0, 1, extent - 1, extent))
        target = b.bit_xor(source, one)
        both = b.add(width, width)
        below = b.bit_xor(b.sub(both, one), b.constant(-1))  # clears the bits within two runs
        left, right = (w.cell(IndexType(), zero, name) for name in ("left", "right"))
        with w.loop("m", 0, extent) as position:
            start = b.bit_and(position, below)
            middle = b.minimum(b.add(start, width), end)
            stop = b.minimum(b.add(start, both), end)
            begins = b.compare("eq", position, start)
            i, j = b.select(begins, start, left.get()), b.select(begins, middle, right.get())
            heads = [
                [w.load(run, [source, b.minimum(head, last)]) for head in (i, j)] for run in runs
            ]
            bit = w.scalar(i1)
            is_used_up = b.compare("ge", j, stop)
            may_stay = bit.bit_or(is_used_up, bit.bit_not(self._is_before(w, *heads[0][::-1])))
            is_left = bit.bit_and(b.compare("lt", i, middle), may_stay)
            for run, (one_of, other) in zip(runs, heads, strict=True):
                w.store(b.select(is_left, one_of, other), run, [target, position])
            left.set(b.select(is_left, b.add(i, one), i))
            right.set(b.select(is_left, j, b.add(j, one)))

    def _is_before(self, w: LoopBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
        """Whether x comes before y: it is less, or greater where the order is descending, or of the two NaN alone."""
        b = w.scalar(tensor_type(self.operand).get_element_type())
        if b.is_bool:
            x, y = b.cast_to(x, i8), b.cast_to(y, i8)
            b = b.of_type(i8)
        if self.descending is not None:
            x, y = y, x
        less = b.compare("lt", x, y)
        if not b.is_float:
            return less
        bit = b.of_type(i1)
        only_y = bit.bit_and(b.compare("eq", x, x), b.compare("ne", y, y))
        return bit.bit_or(less, only_y)

    def flops(self) -> int | None:
        """A comparison for each element and pass."""
        shape = tensor_type(self.operand).get_shape()
        count = element_count(shape)
        return (
            None if count is None else count * max(shape[self.axis.value.data] - 1, 0).bit_length()
        )
