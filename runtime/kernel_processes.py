"""
Processes that compile kernels, started ahead of the kernels.

Nothing of xDSL is loaded here: to start a process should not wait for that.
"""

from __future__ import annotations

from .side_by_side import WorkersAhead, process_count

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


def kernel_workers_ahead(operations: int) -> WorkersAhead:
    """What `kernel_workers` starts for a program of so many operations, which others will follow."""
    return WorkersAhead(process_count(operations // OPERATIONS), *IMPORTS)
