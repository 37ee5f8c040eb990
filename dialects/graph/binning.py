"""The bins of equal width that numbers fall into."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, TensorType, f32, f64, i32, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import operand_def, prop_def, result_def
from xdsl.utils.exceptions import VerifyException

from ..interfaces import Array
from ..scalar import ScalarBuilder
from ..shaped import Tensor, tensor_type
from .base import Value, graph_op
from .elementwise import ElementwiseOp

MAX_BINS = 2**31 - 2
"""The numbers of bins are computed with 32 bits, which vectors of every instruction set convert floats to."""


@graph_op
class EqualBinsOp(ElementwiseOp):
    """
    The bin that each number falls into, of `bins` bins whose edges `first`, `first + width`, … are rounded twice, as
    `numpy.linspace` rounds them, but for the last one, which is `last`. The last bin has both of its edges. What is in no
    bin, NaN too, has the number `bins`.

        %r = graph.equal_bins %x first = 0.0 : f64 last = 1.0 : f64 bins = 50 : tensor<9xf64> -> tensor<9xi64>

    The bin that a division gives is next to the right one at most, and its edges decide (as in `numpy.histogram`). They are
    computed again, not loaded: so vectors compute bins without a gather.
    """

    name = "graph.equal_bins"
    ELEMENTS: ClassVar = (f32, f64)

    operand = operand_def()
    first = prop_def(FloatAttr)
    last = prop_def(FloatAttr)
    bins = prop_def(IntegerAttr.constr(i64))
    result = result_def()

    assembly_format = (
        "$operand `first` `=` $first `last` `=` $last `bins` `=` $bins attr-dict "
        "`:` type($operand) `->` type($result)"
    )

    def __init__(self, operand: Value, first: float, last: float, bins: int):
        shape = tensor_type(operand).get_shape()
        super().__init__(
            operands=[operand],
            properties={
                "first": FloatAttr(first, f64),
                "last": FloatAttr(last, f64),
                "bins": IntegerAttr(bins, i64),
            },
            result_types=[TensorType(i64, shape)],
        )

    def inferred_types(self) -> Sequence[Tensor]:
        return (TensorType(i64, tensor_type(self.operand).get_shape()),)

    @property
    def body_type(self) -> Attribute:
        return tensor_type(self.operand).get_element_type()

    @staticmethod
    def edges(first: float, last: float, bins: int, dtype: np.dtype) -> Array:
        """The edges of the bins, one more than there are."""
        found = np.arange(bins + 1) * ((last - first) / bins) + first
        found[-1] = last
        return found.astype(dtype)

    @property
    def _numbers(self) -> tuple[float, float, int]:
        return self.first.value.data, self.last.value.data, self.bins.value.data

    def verify_(self) -> None:
        super().verify_()
        first, last, bins = self._numbers
        if not 1 <= bins <= MAX_BINS:
            raise VerifyException(
                f"found {bins} bins, expected 1 to {MAX_BINS}; take fewer, or compare with the edges"
            )
        if not (np.isfinite([first, last]).all() and first < last):
            raise VerifyException(
                f"found bins from {first} to {last}, expected finite numbers in order; mend them"
            )

    def numpy(self, x: Array) -> Array:
        first, last, bins = self._numbers
        edges = self.edges(first, last, bins, x.dtype)
        found = np.clip(np.searchsorted(edges, x, "right") - 1, 0, bins - 1)
        return np.where((x >= edges[0]) & (x <= edges[-1]), found, bins)

    def scalar(self, b: ScalarBuilder, x: SSAValue) -> SSAValue:
        first, last, bins = self._numbers
        ends = self.edges(first, last, bins, np.dtype("f4" if self.body_type == f32 else "f8"))
        wide, bit = b.of_type(f64), b.of_type(b.compare("eq", x, x).type)
        inside = bit.bit_and(
            b.compare("ge", x, b.constant(ends[0])), b.compare("le", x, b.constant(ends[-1]))
        )
        zero, one, end = wide.constant(0), wide.constant(1), wide.constant(bins - 1)
        # Inside, numbers are none below 0: a selection is enough, which need not think of NaN as a minimum does.
        distance = wide.sub(b.cast_to(x, f64), wide.constant(first))
        scaled = wide.mul(distance, wide.constant(bins / (last - first)))
        scaled = wide.select(inside, scaled, zero)
        near = wide.floor(wide.select(wide.compare("lt", scaled, end), scaled, end))
        above = wide.add(near, one)
        is_below = b.compare("lt", x, self._edge(b, near))
        is_above = b.compare("ge", x, self._edge(b, above))
        is_above = bit.bit_and(is_above, wide.compare("lt", near, end))
        found = wide.select(is_below, wide.sub(near, one), wide.select(is_above, above, near))
        found = wide.select(inside, found, wide.constant(bins))
        return b.emit(arith.ExtSIOp(b.emit(arith.FPToSIOp(found, i32)), i64))

    def _edge(self, b: ScalarBuilder, number: SSAValue) -> SSAValue:
        """The edge of a number, which is not the last one, in the operand's type."""
        first, last, bins = self._numbers
        wide = b.of_type(f64)
        along = wide.exactly(arith.MulfOp(number, wide.constant((last - first) / bins)))
        edge = wide.exactly(arith.AddfOp(along, wide.constant(first)))
        return wide.cast_to(edge, b.type)
