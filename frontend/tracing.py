"""
Tracing: a Python function runs once on Tensors in place of arrays, and every operation on them is recorded
as an operation of the graph dialect.

    with Trace() as trace:
        x = trace.argument((2, 3), np.dtype("float32"), "x")
        y = record(graph.ExpOp, x)
    module = trace.module([y])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import FileLineColLoc, LocationAttr, ModuleOp, StringAttr
from xdsl.ir import Operation

from ..dialects.leaf_operations import append_leaf, function_type, leaf, region_of, structured
from ..dialects.resources import Loan
from . import public as public  # what is done with a Tensor needs the functions entered
from .performance_warnings import RepeatedLines
from .recording import Recording
from .tensor import Tensor

if TYPE_CHECKING:
    from ..runtime.side_by_side import WorkersAhead

LONG = 128
"""
A function of more operations takes longer to trace, to lower to kernels and to load than a process takes to start: three
layers of a transformer.
"""


class Trace(Recording):
    """The operations recorded while a function runs: the body of the function `main`."""

    def __init__(self, loan: Loan | None = None, *, kernels_apart: bool = False) -> None:
        """`kernels_apart` says that processes may compile its kernels: for a long function they start meanwhile."""
        super().__init__(loan)
        self._lines = RepeatedLines()
        self._kernels_apart = kernels_apart
        self._operations = 0
        self.workers: WorkersAhead | None = None
        """the processes that have started"""

    def record(
        self, make: Callable[..., Operation], *args: Any, **kwargs: Any
    ) -> tuple[Tensor, ...]:
        self._operations += 1
        if self._operations == LONG and self._kernels_apart:
            from ..runtime.kernel_processes import (
                kernel_workers_ahead,
            )  # late: few functions are long

            self.workers = kernel_workers_ahead(LONG)
        return super().record(make, *args, **kwargs)

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
        append_leaf(self.block, leaf(func.ReturnOp, values))
        type_ = function_type(
            [arg.type for arg in self.block.args], [value.type for value in values]
        )
        properties = {"sym_name": StringAttr("main"), "function_type": type_}
        return ModuleOp([structured(func.FuncOp, (), (region_of(self.block),), (), properties)])
