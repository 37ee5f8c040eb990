"""Operations that write elements where tensors of indices say: scatter_elements, scatter_nd."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr, StringAttr, TensorType, UnitAttr, i1, i64
from xdsl.ir import SSAValue
from xdsl.irdl import operand_def, opt_prop_def, prop_def, result_def
from xdsl.utils.exceptions import VerifyException

from ..dtypes import is_bool, is_float, is_float_dtype, numpy_dtype
from ..interfaces import Array, DefinedInTe
from ..scalar import ScalarBuilder
from ..shaped import Tensor, shape_of, tensor_type
from ..te.builder import Access, TeBuilder
from ..te.index_maps import dims
from ..te.loop_builder import Index, LoopBuilder
from .base import GraphOp, Value, graph_op
from .gather import TupleIndexing, require_indices, require_within
from .shapes import (
    element_count,
    is_compatible,
    normalized_axis,
    require_canonical_axis,
    shape_text,
)

REDUCTIONS: dict[str, Any] = {
    "none": None,
    "add": np.add,
    "mul": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
}
"""What becomes of an element that is written and its update; without a reduction the last update stays."""

ROWS = 4
"""
In how many rows updates take turns. A load of what was just stored waits until the store is forwarded to it, which takes
several cycles on current cores; with this many rows, most updates do not wait for the one before.
"""

UPDATES_AN_ELEMENT = 8
"""With fewer updates than this for each element, rows of their own cost more than they save."""


def _least(dtype: np.dtype[Any]) -> float | int:
    return float("-inf") if is_float_dtype(dtype) else int(np.iinfo(dtype).min)


def _greatest(dtype: np.dtype[Any]) -> float | int:
    return float("inf") if is_float_dtype(dtype) else int(np.iinfo(dtype).max)


IDENTITIES: dict[str, Callable[[np.dtype[Any]], float | int]] = {
    "none": lambda _: 0,
    "add": lambda _: 0,
    "mul": lambda _: 1,
    "min": _greatest,
    "max": _least,
}
"""What changes no element that it is joined with, by the reduction and the type."""


def _joined(b: ScalarBuilder, reduction: str, old: SSAValue, new: SSAValue) -> SSAValue:
    match reduction:
        case "add":
            return b.add(old, new)
        case "mul":
            return b.mul(old, new)
        case "min":
            return b.minimum(old, new)
        case "max":
            return b.maximum(old, new)
        case _:
            return new


class _ScatterOp(GraphOp, DefinedInTe, ABC):
    """A copy of the operand in which elements are joined with updates, one after another in row-major order."""

    COMPUTES: ClassVar = False

    operand = operand_def()
    indices = operand_def()
    updates = operand_def()
    reduction = prop_def(StringAttr)
    result = result_def()

    def checked_operands(self) -> Sequence[SSAValue]:
        return (self.operand, self.updates)

    def verify_reduction(self) -> None:
        if self.reduction.data not in REDUCTIONS:
            raise VerifyException(
                f"found reduction '{self.reduction.data}', expected one of {', '.join(REDUCTIONS)}; name one"
            )

    def written(
        self, x: Array, position: tuple[Array, ...], inside: Array, updates: Array
    ) -> Array:
        """A copy of `x` with the updates that are inside of it joined with its elements at `position`."""
        result = np.array(x)
        chosen = tuple(np.broadcast_to(each, inside.shape)[inside] for each in position)
        taken = np.broadcast_to(updates, (*inside.shape, *updates.shape[inside.ndim :]))[inside]
        ufunc = REDUCTIONS[self.reduction.data]
        if ufunc is None:
            result[chosen] = taken
        else:
            ufunc.at(result, chosen, taken)
        return result

    def write(
        self,
        w: LoopBuilder,
        buffers: tuple[SSAValue, SSAValue],
        place: Sequence[tuple[SSAValue, int]],
        around: tuple[Sequence[SSAValue], Sequence[SSAValue]],
        at: Sequence[Index],
    ) -> None:
        """
        Join one update, at `at` in the second buffer, with the element of the first at a computed `place`: an index
        with the extent of its axis each, with indices that are in range before and behind. One out of range, when
        those below 0 count from the end, leaves the element as it is.
        """
        result, updates = buffers
        inside, position = _resolved(w, place)
        index = [*around[0], *position, *around[1]]
        b = w.scalar(tensor_type(self.operand).get_element_type())
        old = w.load(result, index)
        new = _joined(b, self.reduction.data, old, w.load(updates, at))
        w.store(new if inside is None else b.select(inside, new, old), result, index)

    def flops(self) -> int | None:
        return 0


def _resolved(
    w: LoopBuilder, place: Sequence[tuple[SSAValue, int]]
) -> tuple[SSAValue | None, list[SSAValue]]:
    """Whether numbers are indices of axes of these extents, and the indices, or the nearest."""
    b, inside = w.index, None
    position: list[SSAValue] = []
    for chosen, extent in place:
        number = b.emit(arith.IndexCastOp(chosen, IndexType()))
        zero, end = b.constant(0), b.constant(extent)
        counted = b.select(b.compare("lt", number, zero), b.add(number, end), number)
        # Read without a sign a number below 0 is above every extent.
        holds = b.emit(arith.CmpiOp(counted, end, "ult"))
        inside = holds if inside is None else w.scalar(i1).bit_and(inside, holds)
        position.append(b.minimum(b.maximum(counted, zero), b.constant(max(extent - 1, 0))))
    return inside, position


def _counted(indices: Array, extent: int) -> tuple[Array, Array]:
    """Indices with those below 0 counted from the end, and which of them there are."""
    counted = np.where(indices < 0, indices + extent, indices)
    return counted, (counted >= 0) & (counted < extent)


@graph_op
class ScatterElementsOp(_ScatterOp):
    """
    A copy of the operand with updates written along an axis where indices say (ONNX ScatterElements,
    `torch.scatter`): `r[i[n, m], m] = u[n, m]` for axis 0. Negative indices count from the end; one out of range writes
    nothing. Updates of one element are joined in row-major order, by `reduction` with what is there, or with `any_order`
    in any. Along an axis of extent 1 one update is for all indices.

        %r = graph.scatter_elements %x, %i, %u axis = 0 reduction = "add"
            : tensor<5x3xf32>, tensor<2x3xi64>, tensor<2x3xf32> -> tensor<5x3xf32>
    """

    name = "graph.scatter_elements"

    axis = prop_def(IntegerAttr.constr(i64))
    any_order = opt_prop_def(UnitAttr)
    assembly_format = (
        "$operand `,` $indices `,` $updates `axis` `=` $axis `reduction` `=` $reduction "
        "(`any_order` $any_order^)? attr-dict "
        "`:` type($operand) `,` type($indices) `,` type($updates) `->` type($result)"
    )

    def __init__(
        self, operand: Value, indices: Value, updates: Value, axis: int = 0, reduction: str = "none"
    ):
        type_ = tensor_type(operand)
        axis = normalized_axis(axis, type_.get_num_dims())
        super().__init__(
            operands=[operand, indices, updates],
            properties={"axis": IntegerAttr(axis, i64), "reduction": StringAttr(reduction)},
            result_types=[type_],
        )

    def inferred_types(self) -> Sequence[Tensor]:
        type_, indices = tensor_type(self.operand), tensor_type(self.indices)
        axis = self.axis.value.data
        require_canonical_axis(axis, type_.get_num_dims())
        require_indices(indices)
        require_within(type_.get_shape(), indices.get_shape(), axis)
        updates = shape_of(self.updates)
        spread = [
            1 if one == 1 else extent
            for one, extent in zip(updates, indices.get_shape(), strict=False)
        ]
        if not is_compatible(updates, spread):
            raise VerifyException(
                f"found updates of shape {shape_text(updates)} for indices of shape "
                f"{shape_text(indices.get_shape())}, expected the same; reshape one"
            )
        self.verify_reduction()
        return (type_,)

    def numpy(self, x: Array, indices: Array, updates: Array) -> Array:
        axis = self.axis.value.data
        counted, inside = _counted(indices, x.shape[axis])
        position: list[Array] = [*np.indices(indices.shape)]
        position[axis] = counted
        return self.written(x, tuple(position), inside, np.broadcast_to(updates, indices.shape))

    def define(self, te: TeBuilder) -> SSAValue:
        type_, axis = tensor_type(self.operand), self.axis.value.data
        extent = type_.get_shape()[axis]
        spread = shape_of(self.updates)

        rows = self._rows()
        if rows and extent:
            return self._counted(te, rows)

        def body(w: LoopBuilder, sources: Sequence[SSAValue], results: Sequence[SSAValue]) -> None:
            indices, updates = sources
            if extent == 0:
                return
            with w.loops(shape_of(self.indices)) as at:
                place = [(w.load(indices, at), extent)]
                update = [0 if one == 1 else i for one, i in zip(spread, at, strict=True)]
                self.write(w, (results[0], updates), place, (at[:axis], at[axis + 1 :]), update)

        (value,) = te.loops([self.indices, self.updates], [type_], body, inits=[self.operand])
        return value

    def _rows(self) -> int:
        """
        In how many rows of their own updates of a short vector are joined; 0 where they are joined in the result.

        An update of an element waits for the one before it of the same element. Where their order does not matter,
        those that follow one another take turns between rows, and do not wait.
        """
        type_ = tensor_type(self.operand)
        shape, updates = type_.get_shape(), element_count(shape_of(self.indices))
        element = type_.get_element_type()
        if len(shape) != 1 or is_bool(element) or updates is None:
            return 0
        if updates < UPDATES_AN_ELEMENT * shape[0]:
            return 0
        in_order = is_float(element) and self.any_order is None
        return 1 if in_order or self.reduction.data == "none" else ROWS

    def _counted(self, te: TeBuilder, rows: int) -> SSAValue:
        """
        The result where updates are joined in rows. The places in these are computed element by element: where the indices
        are, in lanes, that is done in lanes too.
        """
        (extent,), indices = shape_of(self.operand), tensor_type(self.indices)

        def place(
            b: ScalarBuilder, iterators: Sequence[SSAValue], elements: Sequence[SSAValue]
        ) -> SSAValue:
            number = b.cast_to(elements[0], i64)
            zero, end = b.constant(0), b.constant(extent)
            counted = b.select(b.compare("lt", number, zero), b.add(number, end), number)
            return b.emit(arith.MinUIOp(counted, end))

        type_ = TensorType(i64, indices.get_shape())
        places = te.compute(type_, [Access(self.indices, dims(len(type_.get_shape())))], place)

        def body(w: LoopBuilder, sources: Sequence[SSAValue], results: Sequence[SSAValue]) -> None:
            self._count(w, rows, sources, results[0])

        (value,) = te.loops(
            [places, self.updates], [tensor_type(self.operand)], body, inits=[self.operand]
        )
        return value

    def _count(
        self, w: LoopBuilder, rows: int, sources: Sequence[SSAValue], result: SSAValue
    ) -> None:
        """
        Join updates in rows that end in an element for those out of range, and the rows with the result.

        So no update tests whether it is in range: the last element of a row is a sentinel.
        """
        (places, updates), element = sources, tensor_type(self.operand).get_element_type()
        (extent,), reduction = shape_of(self.operand), self.reduction.data
        b, place = w.scalar(element), w.index
        spread = [one == 1 for one in shape_of(self.updates)]
        own = w.scratch(element, (rows, extent + 1), "rows")
        first = b.constant(IDENTITIES[reduction](numpy_dtype(element)))
        with w.loops([rows, extent + 1], ["row", "start"]) as at:
            w.store(first, own, at)
        if rows == 1:
            with w.loop("from", 0, extent) as k:
                w.store(w.load(result, [k]), own, [0, k])
        with w.loops(shape_of(self.indices)) as at:
            slot = place.emit(arith.IndexCastOp(w.load(places, at), IndexType()))
            row = 0 if rows == 1 else place.bit_and(at[-1], place.constant(rows - 1))
            update = [0 if one else i for one, i in zip(spread, at, strict=True)]
            new = _joined(b, reduction, w.load(own, [row, slot]), w.load(updates, update))
            w.store(new, own, [row, slot])
        with w.loop("to", 0, extent) as k:
            total = w.load(own, [0, k])
            if rows > 1:
                for row in range(1, rows):
                    total = _joined(b, reduction, total, w.load(own, [row, k]))
                total = _joined(b, reduction, w.load(result, [k]), total)
            w.store(total, result, [k])


@graph_op
class ScatterNdOp(_ScatterOp):
    """
    A copy of the operand with elements, or slices, written where tuples of indices say (ONNX ScatterND). The tuples lie
    along the last axis of the indices. Negative indices count from the end; a tuple out of range writes nothing.

        %r = graph.scatter_nd %x, %i, %u reduction = "none"
            : tensor<5x4x3xf32>, tensor<7x2xi64>, tensor<7x3xf32> -> tensor<5x4x3xf32>
    """

    name = "graph.scatter_nd"

    assembly_format = (
        "$operand `,` $indices `,` $updates `reduction` `=` $reduction attr-dict "
        "`:` type($operand) `,` type($indices) `,` type($updates) `->` type($result)"
    )

    def __init__(self, operand: Value, indices: Value, updates: Value, reduction: str = "none"):
        super().__init__(
            operands=[operand, indices, updates],
            properties={"reduction": StringAttr(reduction)},
            result_types=[tensor_type(operand)],
        )

    def inferred_types(self) -> Sequence[Tensor]:
        type_, updates = tensor_type(self.operand), shape_of(self.updates)
        indexing = TupleIndexing.of(type_, tensor_type(self.indices), 0)
        if not is_compatible(updates, indexing.found):
            raise VerifyException(
                f"found updates of shape {shape_text(updates)}, expected {shape_text(indexing.found)}, the shape "
                "of what the tuples name; reshape them"
            )
        self.verify_reduction()
        return (type_,)

    def numpy(self, x: Array, indices: Array, updates: Array) -> Array:
        inside = np.ones(indices.shape[:-1], np.bool_)
        position: list[Array] = []
        for number, extent in enumerate(x.shape[: indices.shape[-1]]):
            counted, holds = _counted(indices[..., number], extent)
            position.append(counted)
            inside &= holds
        # An axis in front, of one element, is indexed by no tuple too.
        front = np.zeros_like(inside, np.int64)
        return self.written(x[None], (front, *position), inside, updates)[0]

    def define(self, te: TeBuilder) -> SSAValue:
        type_ = tensor_type(self.operand)
        *outer, depth = shape_of(self.indices)
        extents, rest = type_.get_shape()[:depth], type_.get_shape()[depth:]

        def body(w: LoopBuilder, sources: Sequence[SSAValue], results: Sequence[SSAValue]) -> None:
            indices, updates = sources
            if 0 in extents:
                return
            with w.loops([*outer, *rest]) as at:
                tuple_at, slice_at = at[: len(outer)], at[len(outer) :]
                place = [
                    (w.load(indices, [*tuple_at, number]), extent)
                    for number, extent in enumerate(extents)
                ]
                self.write(w, (results[0], updates), place, ((), slice_at), at)

        (value,) = te.loops([self.indices, self.updates], [type_], body, inits=[self.operand])
        return value
