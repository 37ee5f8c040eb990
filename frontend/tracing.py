"""
Tracing: a Python function runs once on Tensors in place of arrays, and every operation on them is recorded
as an operation of the graph dialect.

    with Trace() as trace:
        x = trace.argument((2, 3), np.dtype("float32"), "x")
        y = record(graph.ExpOp, x)
    module = trace.module([y])
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import FileLineColLoc, FunctionType, LocationAttr, ModuleOp
from xdsl.ir import Region

from ..dialects.resources import Loan
from . import public as public  # what is done with a Tensor needs the functions entered
from .performance_warnings import RepeatedLines
from .recording import Recording
from .tensor import Tensor


class Trace(Recording):
    """The operations recorded while a function runs: the body of the function `main`."""

    def __init__(self, loan: Loan | None = None) -> None:
        super().__init__(loan)
        self._lines = RepeatedLines()

    def location(self) -> LocationAttr | None:
        place = super().location()
        if isinstance(place, FileLineColLoc):
            self._lines.count(place)
        return place

    def argument(self, shape: Sequence[int], dtype: np.dtype, hint: str) -> Tensor:
        """A new argument of the function."""
        return self.new_value(shape, dtype, hint)

    def module(self, results: Sequence[Tensor]) -> ModuleOp:
        """The module of the function `main` that returns `results`. The trace is finished then."""
        values = [tensor.value for tensor in results]
        self.block.add_op(func.ReturnOp(*values))
        type_ = FunctionType.from_lists(
            [arg.type for arg in self.block.args], [value.type for value in values]
        )
        return ModuleOp([func.FuncOp("main", type_, Region(self.block))])
