"""Running sums, products and extremes along an axis: cumsum, cumprod, cummax, cummin. In time linear in the elements."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import product
from math import prod
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import IntegerAttr, UnitAttr, i64
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.irdl import AnyAttr, VarConstraint, operand_def, opt_prop_def, prop_def, result_def

from .. import loop
from ..dtypes import is_float, numpy_dtype
from ..interfaces import Array, DefinedInTe
from ..scalar import ScalarBuilder
from ..shaped import Tensor, tensor_type
from ..te.builder import TeBuilder
from ..te.loop_builder import Index, LoopBuilder
from ..te.text import axis_names
from .base import NUMBERS, GraphOp, Value, graph_op
from .shapes import normalized_axis, require_canonical_axis

CHAINS = 4
"""
Running sums that are computed at once: a sum of floats takes about four cycles, in which one more can begin each cycle. Those
of more elements behind the axis are written slice by slice, in the lanes of vectors.
"""


class CumulativeOp(GraphOp, DefinedInTe, ABC):
    """
    Each element joined with all before it along an axis (ONNX CumSum). `exclusive`: with those before it alone, which
    are none for the first; `reverse`: from the end.

        %r = graph.cumsum %x axis = 1 exclusive : tensor<2x9xf32>
    """

    ELEMENTS: ClassVar = NUMBERS
    UFUNC: ClassVar[np.ufunc]
    IDENTITY: ClassVar[int]
    IN_ORDER: ClassVar[bool] = True
    """whether floats are joined in the order of the elements"""

    T: ClassVar = VarConstraint("T", AnyAttr())
    operand = operand_def(T)
    axis = prop_def(IntegerAttr.constr(i64))
    exclusive = opt_prop_def(UnitAttr)
    reverse = opt_prop_def(UnitAttr)
    result = result_def(T)

    assembly_format = (
        "$operand `axis` `=` $axis (`exclusive` $exclusive^)? (`reverse` $reverse^)? attr-dict "
        "`:` type($operand)"
    )

    def __init__(
        self, operand: Value, axis: int = 0, exclusive: bool = False, reverse: bool = False
    ):
        type_ = tensor_type(operand)
        axis = normalized_axis(axis, type_.get_num_dims())
        super().__init__(
            operands=[operand],
            properties={
                "axis": IntegerAttr(axis, i64),
                "exclusive": UnitAttr() if exclusive else None,
                "reverse": UnitAttr() if reverse else None,
            },
            result_types=[type_],
        )

    def inferred_types(self) -> Sequence[Tensor]:
        type_ = tensor_type(self.operand)
        require_canonical_axis(self.axis.value.data, type_.get_num_dims())
        return (type_,)

    def numpy(self, x: Array) -> Array:
        axis = self.axis.value.data
        x = np.flip(x, axis) if self.reverse is not None else x
        if self.exclusive is not None and x.shape[axis]:
            first = np.full_like(np.take(x, [0], axis), self.identity())
            rest = np.take(x, range(x.shape[axis] - 1), axis)
            x = np.concatenate([first, rest], axis)
        found = self.UFUNC.accumulate(x, axis, x.dtype)
        return np.flip(found, axis) if self.reverse is not None else found

    def identity(self) -> float | int:
        """What changes no element when it is joined with it."""
        return self.IDENTITY

    @abstractmethod
    def join(self, b: ScalarBuilder, so_far: SSAValue, element: SSAValue) -> SSAValue:
        """Emit the next value of the running sum or product."""

    def define(self, te: TeBuilder) -> SSAValue:
        type_, axis = tensor_type(self.operand), self.axis.value.data
        shape = type_.get_shape()

        def body(w: LoopBuilder, sources: Sequence[SSAValue], results: Sequence[SSAValue]) -> None:
            (x,), (y,) = sources, results
            behind = prod(shape[axis + 1 :])
            if behind > (CHAINS if self._waits() else 1):
                self._by_slices(w, x, y)
            else:
                self._by_rows(w, x, y)

        (value,) = te.loops([self.operand], [type_], body)
        return value

    def _by_rows(self, w: LoopBuilder, x: SSAValue, y: SSAValue) -> None:
        """
        Write rows along the axis, each with what is so far in a register. As each step waits for the one before it, several
        rows are written at once, those of the axes behind included.
        """
        axis, shape = self.axis.value.data, tensor_type(self.operand).get_shape()
        if not axis:
            self._rows(w, x, y, [], 0)
            return
        *outer, rows = shape[:axis]
        names = axis_names(len(shape))
        together = max(1, min(rows, CHAINS // max(prod(shape[axis + 1 :]), 1)))
        if not self._waits():
            together = 1
        whole = rows // together * together
        with w.loops(outer, names[: axis - 1]) as before:
            with w.loop(names[axis - 1], 0, rows // together) as block:
                self._rows(w, x, y, [*before, block], together)
            if whole < rows:
                with w.loop(f"{names[axis - 1]}.rest", whole, rows) as row:
                    self._rows(w, x, y, [*before, row], 1)

    def _waits(self) -> bool:
        """
        Whether each step waits for the one before it: sums and products of floats are those of NumPy, in order. What may be
        joined in any order is computed in the lanes of vectors, a row at a time.
        """
        return self.IN_ORDER and is_float(tensor_type(self.operand).get_element_type())

    def _rows(
        self,
        w: LoopBuilder,
        x: SSAValue,
        y: SSAValue,
        before: Sequence[SSAValue],
        together: int,
    ) -> None:
        """Write the rows along the axis at indices before it, of which the last one counts so many rows."""
        type_, axis = tensor_type(self.operand), self.axis.value.data
        shape, b = type_.get_shape(), w.scalar(type_.get_element_type())
        leading: list[AffineExpr] = [AffineExpr.dimension(n) for n in range(axis)]
        last = leading.pop() * together if leading else None
        step: AffineExpr = AffineExpr.dimension(axis)
        position = step
        if (
            self.reverse is not None
        ):  # not a number minus it, which xDSL takes for it minus the number
            position = AffineExpr.constant(shape[axis] - 1) - step
        rows = [
            ((*leading, last + row) if last is not None else (), behind)
            for row in range(max(together, 1))
            for behind in product(*map(range, shape[axis + 1 :]))
        ]
        maps = [
            AffineMap(axis + 1, 0, (*ahead, position, *(AffineExpr.constant(n) for n in behind)))
            for ahead, behind in rows
        ]
        cells = [
            w.cell(b.type, b.constant(self.identity()), f"so_far_{n}" if n else "so_far")
            for n in range(len(maps))
        ]
        with w.loop("s", 0, shape[axis]) as variable:
            at = [*before, variable]
            for so_far, map_ in zip(cells, maps, strict=True):
                earlier = so_far.get()
                element = w.builder.insert(loop.LoadOp(x, map_, at)).result
                later = self.join(b, earlier, element)
                written = earlier if self.exclusive is not None else later
                w.builder.insert(loop.StoreOp(written, y, map_, at))
                so_far.set(later)

    def _by_slices(self, w: LoopBuilder, x: SSAValue, y: SSAValue) -> None:
        """Write each slice across the axis from the one before it, so that memory is read and written in order."""
        type_, axis = tensor_type(self.operand), self.axis.value.data
        shape, is_exclusive = type_.get_shape(), self.exclusive is not None
        b, last = w.scalar(type_.get_element_type()), shape[axis] - 1
        names = axis_names(len(shape))

        def position(step: Index) -> Index:
            if self.reverse is None:
                return step
            if isinstance(step, int):
                return last - step
            return w.index.sub(w.index.constant(last), step)

        with w.loops(shape[:axis], names[:axis]) as before:

            def write(step: Index, earlier: Index | None) -> None:
                here = position(step)
                behind = None if earlier is None else position(earlier)
                with w.loops(shape[axis + 1 :], names[axis + 1 :]) as others:
                    read = here if behind is None or not is_exclusive else behind
                    element = w.load(x, [*before, read, *others])
                    if behind is not None:
                        so_far = w.load(y, [*before, behind, *others])
                        element = self.join(b, so_far, element)
                    elif is_exclusive:
                        element = b.constant(self.identity())
                    w.store(element, y, [*before, here, *others])

            if last >= 0:
                write(0, None)
            with w.loop("s", 0, max(last, 0)) as step:
                write(w.index.add(step, w.index.constant(1)), step)


@graph_op
class CumsumOp(CumulativeOp):
    """
    Running sums; integers wrap. Those of floats are added up in order, as NumPy does: the difference of two of them, which
    is what they are often for, has the errors of the elements between them alone.
    """

    name = "graph.cumsum"
    UFUNC: ClassVar = np.add
    IDENTITY: ClassVar = 0

    def join(self, b: ScalarBuilder, so_far: SSAValue, element: SSAValue) -> SSAValue:
        return b.add(so_far, element)


@graph_op
class CumprodOp(CumulativeOp):
    """
    Running products; integers wrap. Those of floats are multiplied in order: a product of some of the factors alone may
    be too large, or too small, where no running product is.
    """

    name = "graph.cumprod"
    UFUNC: ClassVar = np.multiply
    IDENTITY: ClassVar = 1

    def join(self, b: ScalarBuilder, so_far: SSAValue, element: SSAValue) -> SSAValue:
        return b.mul(so_far, element)


def _limits(op: CumulativeOp) -> tuple[float | int, float | int]:
    """The least and the greatest number of the elements' type."""
    dtype = numpy_dtype(tensor_type(op.operand).get_element_type())
    if dtype.kind in "iu":
        return int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    return float("-inf"), float("inf")


@graph_op
class CummaxOp(CumulativeOp):
    """The greatest element so far; NaN from the first one on."""

    name = "graph.cummax"
    UFUNC: ClassVar = np.maximum
    IN_ORDER: ClassVar = False

    def identity(self) -> float | int:
        return _limits(self)[0]

    def join(self, b: ScalarBuilder, so_far: SSAValue, element: SSAValue) -> SSAValue:
        return b.in_any_order(b.maximum(so_far, element))


@graph_op
class CumminOp(CumulativeOp):
    """The least element so far; NaN from the first one on."""

    name = "graph.cummin"
    UFUNC: ClassVar = np.minimum
    IN_ORDER: ClassVar = False

    def identity(self) -> float | int:
        return _limits(self)[1]

    def join(self, b: ScalarBuilder, so_far: SSAValue, element: SSAValue) -> SSAValue:
        return b.in_any_order(b.minimum(so_far, element))
