"""Reductions that are said with others: `mean`."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ...errors import StepwellError
from ..interfaces import Array
from ..shaped import shape_of
from .base import FLOATS, graph_op
from .expressions import Decomposable, Expr
from .reductions import ReductionOp
from .shapes import element_count, shape_text


@graph_op
class MeanOp(ReductionOp, Decomposable):
    """The sum divided by the number of elements; floats only; of nothing, NaN."""

    name = "graph.mean"
    ELEMENTS: ClassVar = FLOATS

    def ufunc(self) -> np.ufunc:
        return np.add

    def numpy(self, x: Array) -> Array:
        count = np.prod([x.shape[axis] for axis in self.axis_tuple], dtype=np.int64)
        return super().numpy(x) / x.dtype.type(count)

    def decompose(self, x: Expr) -> Expr:
        """mean(x) → sum(x) / count"""
        shape = shape_of(self.operand)
        count = element_count([shape[axis] for axis in self.axis_tuple])
        if count is None:
            raise StepwellError(
                f"found shape {shape_text(shape)} in {self.name}, expected static extents along axes "
                f"{list(self.axis_tuple)}; give the extents",
                op=self,
            )
        total = x.sum(self.axis_tuple, self.keepdims is not None)
        return total / x.constant(count, "count")
