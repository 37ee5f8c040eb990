"""Sorting along an axis, of which the order is known too: in lanes, by merging, by digits, or of a few places alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    TensorType,
    UnitAttr,
    i1,
    i8,
    i64,
)
from xdsl.ir import SSAValue
from xdsl.irdl import operand_def, opt_prop_def, opt_result_def, prop_def, result_def
from xdsl.utils.exceptions import VerifyException

from ..interfaces import Array, DefinedInTe
from ..shaped import Tensor, tensor_type
from ..te.builder import TeBuilder
from ..te.loop_builder import Form, LoopBuilder
from . import lane_sort, radix_sort, selection
from .base import GraphOp, Value, graph_op
from .lane_blocks import Block, block_starts
from .shapes import element_count, normalized_axis, require_canonical_axis


@graph_op
class SortOp(GraphOp, DefinedInTe):
    """
    The elements along an axis in order, and where each was, as i64 (`torch.sort`). Equal elements keep their order, also
    when it is `descending`. NaN is above every number.

        %v, %i = graph.sort %x axis = 1 descending : tensor<2x9xf32> -> tensor<2x9xf32>, tensor<2x9xi64>

    With `places`, from a first one up to, without, a last one, it gives what stands there alone:

        %v, %i = graph.sort %x axis = 1 places = [0, 5] : tensor<2x9xf32> -> tensor<2x5xf32>, tensor<2x5xi64>

    With `values_only` it gives the elements alone:

        %v = graph.sort %x axis = 1 values_only : tensor<2x9xf32> -> tensor<2x9xf32>

    Many rows are sorted at once, in the lanes of vectors, where that is predicted to take fewer steps. Others are sorted by
    digits where they are long, and else by merging from below: passes that merge runs of 1, 2, 4 … elements, each a loop
    over the elements that writes one of them at a time, the lesser of the heads of two runs (Knuth, The Art of Computer
    Programming 3, 5.2.4). Two buffers, of elements with their indices, take turns, so that memory is read in order. Where
    some places alone are given, nothing else is put in order.
    """

    name = "graph.sort"

    operand = operand_def()
    axis = prop_def(IntegerAttr.constr(i64))
    descending = opt_prop_def(UnitAttr)
    places = opt_prop_def(DenseArrayBase.constr(i64))
    values_only = opt_prop_def(UnitAttr)
    values = result_def()
    order = opt_result_def()

    assembly_format = (
        "$operand `axis` `=` $axis (`descending` $descending^)? (`places` `=` $places^)? (`values_only` $values_only^)? "
        "attr-dict `:` type($operand) `->` type($values) (`,` type($order)^)?"
    )

    def __init__(
        self,
        operand: Value,
        axis: int = -1,
        descending: bool = False,
        places: tuple[int, int] | None = None,
        *,
        values_only: bool = False,
    ):
        type_ = tensor_type(operand)
        axis = normalized_axis(axis, type_.get_num_dims())
        kept = None if places is None else DenseArrayBase.from_list(i64, places)
        values, *order = self._result_types(type_, axis, places, values_only)
        super().__init__(
            operands=[operand],
            properties={
                "axis": IntegerAttr(axis, i64),
                "descending": UnitAttr() if descending else None,
                "places": kept,
                "values_only": UnitAttr() if values_only else None,
            },
            result_types=[values, order],
        )

    @staticmethod
    def _result_types(
        type_: Tensor, axis: int, places: tuple[int, ...] | None, values_only: bool
    ) -> list[Tensor]:
        shape = list(type_.get_shape())
        if places is not None:
            if len(places) != 2 or not 0 <= places[0] < places[1] <= shape[axis]:
                raise VerifyException(
                    f"found places {list(places)} of an axis of {shape[axis]} elements, expected a first one and a greater "
                    "one that is at most the number of elements; give two such numbers"
                )
            shape[axis] = places[1] - places[0]
        values = TensorType(type_.get_element_type(), shape)
        return [values] if values_only else [values, TensorType(i64, shape)]

    def inferred_types(self) -> Sequence[Tensor]:
        type_ = tensor_type(self.operand)
        axis = self.axis.value.data
        require_canonical_axis(axis, type_.get_num_dims())
        places = None if self.places is None else self.places.get_values()
        return self._result_types(type_, axis, places, self.values_only is not None)

    def numpy(self, x: Array) -> tuple[Array, ...]:
        axis = self.axis.value.data
        if self.descending is None:
            order = np.argsort(x, axis, kind="stable")
        else:
            # Backwards and then turned round, equal elements are in order again.
            order = np.flip(np.argsort(np.flip(x, axis), axis, kind="stable"), axis)
            order = x.shape[axis] - 1 - order
        if self.places is not None:
            order = np.take(order, range(*self.places.get_values()), axis)
        values = np.take_along_axis(x, order, axis)
        return (values,) if self.values_only is not None else (values, order.astype(np.int64))

    def define(self, te: TeBuilder) -> Sequence[SSAValue]:
        type_ = tensor_type(self.operand)
        extent, element = self._extent(), type_.get_element_type()

        def body(w: LoopBuilder, sources: Sequence[SSAValue], results: Sequence[SSAValue]) -> None:
            if element_count(type_.get_shape()) == 0:
                return
            (x,) = sources
            if self.places is not None:
                self._select(w, x, results, *self.places.get_values())
                return
            lanes = self._lanes()
            if lanes is not None and self.row_steps() < radix_sort.sort_steps(extent, element):
                self._in_lanes(w, *lanes, x, results)
            elif radix_sort.is_faster(extent, element):
                self._by_digits(w, x, results)
            else:
                self._by_merging(w, x, results)

        return te.loops([self.operand], self.inferred_types(), body)

    def row_steps(self) -> int:
        """How many steps sorting a row takes, in those of a simple loop over it."""
        extent, element = self._extent(), tensor_type(self.operand).get_element_type()
        steps, lanes = radix_sort.sort_steps(extent, element), self._lanes()
        if lanes is None:
            return steps
        has_places = self.values_only is None
        return min(steps, lane_sort.network_steps(extent, lanes[0], has_places=has_places))

    def _lanes(self) -> tuple[int, int] | None:
        """How many rows are sorted at once, and the axis along which they follow one another; None where none are."""
        type_, axis = tensor_type(self.operand), self.axis.value.data
        shape = type_.get_shape()
        others = [each for each in range(len(shape)) if each != axis]
        if not others:
            return None
        # Lanes are neighbours in memory, or rows are.
        along = others[-1] if axis != len(shape) - 1 else max(others, key=lambda each: shape[each])
        found = lane_sort.lanes_of(shape[along], shape[axis], type_.get_element_type())
        return None if found is None else (found, along)

    def _in_lanes(
        self, w: LoopBuilder, lanes: int, along: int, x: SSAValue, results: Sequence[SSAValue]
    ) -> None:
        type_, axis = tensor_type(self.operand), self.axis.value.data
        shape = type_.get_shape()
        others = [each for each in range(len(shape)) if each not in (axis, along)]
        with (
            w.loops([shape[each] for each in others], [f"outer{each}" for each in others]) as outer,
            block_starts(w, shape[along], lanes) as first,
        ):
            forms: dict[int, Form] = {
                each: [(1, index)] for each, index in zip(others, outer, strict=True)
            }

            def at(i: Form, lane: SSAValue) -> list[Form]:
                here = {**forms, axis: i, along: [*first, (1, lane)]}
                return [here[each] for each in range(len(shape))]

            block = Block(w, lanes, axis == len(shape) - 1, at)
            is_descending = self.descending is not None
            sort = lane_sort.LaneSort(
                w, type_.get_element_type(), self._extent(), is_descending, block
            )
            (sort.values if len(results) == 1 else sort.places)(x, *results)

    def _by_merging(self, w: LoopBuilder, x: SSAValue, results: Sequence[SSAValue]) -> None:
        type_, axis = tensor_type(self.operand), self.axis.value.data
        shape, extent = type_.get_shape(), self._extent()
        passes = max(extent - 1, 0).bit_length()
        runs = [w.scratch(type_.get_element_type(), (2, extent), "keys")]
        runs += [w.scratch(i64, (2, extent), "places") for _ in results[1:]]
        b = w.index
        with w.loops([*shape[:axis], *shape[axis + 1 :]]) as lane:
            with w.loop("s", 0, extent) as position:
                at = [*lane[:axis], position, *lane[axis:]]
                firsts = w.load(x, at), w.scalar(i64).from_index(position)
                for value, run in zip(firsts, runs, strict=False):
                    w.store(value, run, [0, position])
            with w.loop("p", 0, passes) as number:
                source = b.bit_and(number, b.constant(1))
                width = b.emit(arith.ShLIOp(b.constant(1), number))
                self._merge(w, runs, extent, source, width)
            with w.loop("t", 0, extent) as position:
                at = [*lane[:axis], position, *lane[axis:]]
                for run, result in zip(runs, results, strict=True):
                    w.store(w.load(run, [passes % 2, position]), result, at)

    def _by_digits(self, w: LoopBuilder, x: SSAValue, results: Sequence[SSAValue]) -> None:
        type_, extent = tensor_type(self.operand), self._extent()
        sort = radix_sort.RadixSort(
            w,
            type_.get_element_type(),
            extent,
            descending=self.descending is not None,
            has_places=len(results) > 1,
        )
        self._each_row(w, x, results, sort.write)

    def _select(
        self,
        w: LoopBuilder,
        x: SSAValue,
        results: Sequence[SSAValue],
        start: int,
        stop: int,
    ) -> None:
        """Write the loops that give what stands at some places of the sorted rows."""
        element, extent = tensor_type(self.operand).get_element_type(), self._extent()
        inserted = selection.inserted_steps(extent, start, stop)
        if inserted > selection.digit_steps(extent, element, start, stop):
            is_descending = self.descending is not None
            search = selection.DigitSearch(w, element, extent, descending=is_descending)
            self._each_row(w, x, results, partial(search.write, start, stop))
            return

        def is_before(x: SSAValue, y: SSAValue) -> SSAValue:
            return self._is_before(w, x, y)

        insertion = selection.Insertion(w, element, extent, start, stop, is_before)
        self._each_row(w, x, results, insertion.write)

    def _extent(self) -> int:
        return tensor_type(self.operand).get_shape()[self.axis.value.data]

    def _each_row(
        self,
        w: LoopBuilder,
        x: SSAValue,
        results: Sequence[SSAValue],
        write_row: Callable[[selection.Read, selection.Write], None],
    ) -> None:
        """Write the loops over rows; what writes one gives where an element was, or the element alone."""
        axis, (values, *order) = self.axis.value.data, results
        shape = tensor_type(self.operand).get_shape()
        with w.loops([*shape[:axis], *shape[axis + 1 :]]) as lane:

            def at(position: SSAValue) -> list[SSAValue]:
                return [*lane[:axis], position, *lane[axis:]]

            def write(position: SSAValue, found: SSAValue) -> None:
                is_place = isinstance(found.type, IndexType)
                w.store(w.load(x, at(found)) if is_place else found, values, at(position))
                for each in order:
                    w.store(w.scalar(i64).from_index(found), each, at(position))

            write_row(lambda position: w.load(x, at(position)), write)

    def _merge(
        self,
        w: LoopBuilder,
        runs: Sequence[SSAValue],
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
        """A comparison for each element and pass; one for each element where some places alone are given."""
        count = element_count(tensor_type(self.operand).get_shape())
        passes = 1 if self.places is not None else max(self._extent() - 1, 0).bit_length()
        return None if count is None else count * passes
