"""
Processes that compile kernels, started ahead of the kernels.

Nothing of xDSL is loaded with this: to start a process should not wait for that, nor for what compiles kernels.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING

from .side_by_side import Workers, WorkersAhead, process_count, workers

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

IMPORTS = (
    "stepwell.runtime.kernels",
    "stepwell.tuning.rules",
    "stepwell.runtime.kernel_imports",
)
"""What they load while they have no work yet."""

OPERATIONS = 16
"""
Operations of a program that make enough kernels to keep a process busy for longer than it takes to start, about a
second: a kernel is some three operations, and compiled in a quarter of one.
"""


def load_what_compiles() -> None:
    """Load here what processes load, and what a program around its kernels is compiled with: there is work for others meanwhile."""
    for name in (*IMPORTS, "stepwell.runtime.jit"):
        import_module(name)


def kernel_workers_ahead(operations: int) -> WorkersAhead:
    """What `kernel_workers` starts for a program of so many operations, which others will follow."""
    return WorkersAhead(process_count(operations // OPERATIONS), *IMPORTS)


@contextmanager
def kernel_workers(program: ModuleOp, ahead: WorkersAhead | None = None) -> Generator[Workers]:
    """
    Processes to compile the kernels of a program with, at the graph or te level: as many as it has work for and the
    machine has free processors for. They start while the program is on its way to loops, unless they started `ahead` of it.
    """
    from xdsl.dialects import func

    from ..analysis.operations import operations_in

    count = (
        sum(isinstance(op.parent_op(), func.FuncOp) for op in operations_in(program)) // OPERATIONS
    )
    started = [] if ahead is None else ahead.taken()
    more = process_count(count, len(started))
    with workers(more, *IMPORTS, started=started) as processes:
        yield processes
