"""Sorting along an axis, which gives the order too: a stable merge sort of short rows, of long ones by digits, or a few places."""

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
from xdsl.irdl import operand_def, opt_prop_def, prop_def, result_def
from xdsl.utils.exceptions import VerifyException

from ..interfaces import Array, DefinedInTe
from ..shaped import Tensor, tensor_type
from ..te.builder import TeBuilder
from ..te.loop_builder import LoopBuilder
from . import radix_sort, selection
from .base import GraphOp, Value, graph_op
from .shapes import element_count, normalized_axis, require_canonical_axis


@graph_op
class SortOp(GraphOp, DefinedInTe):
    """
    The elements along an axis in order, and where each was, as i64 (`torch.sort`). Equal elements keep their order, also
    when it is `descending`. NaN is above every number.

        %v, %i = graph.sort %x axis = 1 descending : tensor<2x9xf32> -> tensor<2x9xf32>, tensor<2x9xi64>

    With `places`, from a first one up to, without, a last one, it gives what stands there alone:

        %v, %i = graph.sort %x axis = 1 places = [0, 5] : tensor<2x9xf32> -> tensor<2x5xf32>, tensor<2x5xi64>

    A merge sort from below: passes that merge runs of 1, 2, 4 … elements, each a loop over the elements that writes one
    of them at a time, the lesser of the heads of two runs (Knuth, The Art of Computer Programming 3, 5.2.4). Two buffers,
    of elements with their indices, take turns, so that memory is read in order. Long rows are sorted by digits instead. Where some places alone are given, nothing else
    is put in order.
    """

    name = "graph.sort"

    operand = operand_def()
    axis = prop_def(IntegerAttr.constr(i64))
    descending = opt_prop_def(UnitAttr)
    places = opt_prop_def(DenseArrayBase.constr(i64))
    values = result_def()
    order = result_def()

    assembly_format = (
        "$operand `axis` `=` $axis (`descending` $descending^)? (`places` `=` $places^)? attr-dict "
        "`:` type($operand) `->` type($values) `,` type($order)"
    )

    def __init__(
        self,
        operand: Value,
        axis: int = -1,
        descending: bool = False,
        places: tuple[int, int] | None = None,
    ):
        type_ = tensor_type(operand)
        axis = normalized_axis(axis, type_.get_num_dims())
        kept = None if places is None else DenseArrayBase.from_list(i64, places)
        super().__init__(
            operands=[operand],
            properties={
                "axis": IntegerAttr(axis, i64),
                "descending": UnitAttr() if descending else None,
                "places": kept,
            },
            result_types=self._result_types(type_, axis, places),
        )

    @staticmethod
    def _result_types(type_: Tensor, axis: int, places: tuple[int, ...] | None) -> list[Tensor]:
        shape = list(type_.get_shape())
        if places is not None:
            if len(places) != 2 or not 0 <= places[0] < places[1] <= shape[axis]:
                raise VerifyException(
                    f"found places {list(places)} of an axis of {shape[axis]} elements, expected a first one and a greater "
                    "one that is at most the number of elements; give two such numbers"
                )
            shape[axis] = places[1] - places[0]
        return [TensorType(type_.get_element_type(), shape), TensorType(i64, shape)]

    def inferred_types(self) -> Sequence[Tensor]:
        type_ = tensor_type(self.operand)
        axis = self.axis.value.data
        require_canonical_axis(axis, type_.get_num_dims())
        places = None if self.places is None else self.places.get_values()
        return self._result_types(type_, axis, places)

    def numpy(self, x: Array) -> tuple[Array, Array]:
        axis = self.axis.value.data
        if self.descending is None:
            order = np.argsort(x, axis, kind="stable")
        else:
            # Backwards and then turned round, equal elements are in order again.
            order = np.flip(np.argsort(np.flip(x, axis), axis, kind="stable"), axis)
            order = x.shape[axis] - 1 - order
        if self.places is not None:
            order = np.take(order, range(*self.places.get_values()), axis)
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
            if self.places is not None:
                self._select(w, x, (values, order), *self.places.get_values())
                return
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

        return te.loops([self.operand], self.inferred_types(), body)

    def _by_digits(self, w: LoopBuilder, x: SSAValue, results: tuple[SSAValue, SSAValue]) -> None:
        type_, extent = tensor_type(self.operand), self._extent()
        sort = radix_sort.RadixSort(
            w, type_.get_element_type(), extent, descending=self.descending is not None
        )
        self._each_row(w, x, results, sort.write)

    def _select(
        self,
        w: LoopBuilder,
        x: SSAValue,
        results: tuple[SSAValue, SSAValue],
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
        results: tuple[SSAValue, SSAValue],
        write_row: Callable[[selection.Read, selection.Write], None],
    ) -> None:
        axis, (values, order) = self.axis.value.data, results
        shape = tensor_type(self.operand).get_shape()
        with w.loops([*shape[:axis], *shape[axis + 1 :]]) as lane:

            def at(position: SSAValue) -> list[SSAValue]:
                return [*lane[:axis], position, *lane[axis:]]

            def write(position: SSAValue, place: SSAValue) -> None:
                w.store(w.load(x, at(place)), values, at(position))
                w.store(w.scalar(i64).from_index(place), order, at(position))

            write_row(lambda position: w.load(x, at(position)), write)

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
        """A comparison for each element and pass; one for each element where some places alone are given."""
        count = element_count(tensor_type(self.operand).get_shape())
        passes = 1 if self.places is not None else max(self._extent() - 1, 0).bit_length()
        return None if count is None else count * passes
