"""
isl's scheduler, which has an end.

It cannot be interrupted from Python. A limit of isl's operations ends it mostly; these are what it allocates, and not what its
integer programs compute in between, whose numbers may grow without end. So it runs in a process of its own where there are
many statements, which is ended when it takes too long.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager

import islpy as isl

STATEMENTS = 8
"""Up to so many, in this process: to start another takes a tenth of a second. The kernels of `examples/kernels` have 6 at most."""

SECONDS = 20
"""That a process may take. Those that come to an end take less than a second for dozens of statements."""

_PROGRAM = """
import sys
import islpy as isl
context = isl.DEFAULT_CONTEXT
context.set_schedule_serialize_sccs(int(sys.argv[1]))
constraints = isl.ScheduleConstraints.read_from_str(context, sys.stdin.read())
context.reset_operations()
context.set_max_operations(int(sys.argv[2]))
try:
    found = constraints.compute_schedule()
except isl.Error as error:
    sys.exit(str(error))
context.set_max_operations(0)
print(found.to_str())
"""


def scheduled(
    constraints: isl.ScheduleConstraints, *, statements: int, serialize: bool, operations: int
) -> isl.Schedule:
    """
    A schedule of so many statements, each strongly connected part of them apart where `serialize` says so.

    Raises isl.Error where there is none in so many operations, and TimeoutError.
    """
    process = _started(serialize, operations) if statements > STATEMENTS else None
    if process is None:
        with _options(serialize=serialize, operations=operations):
            return constraints.compute_schedule()
    with process:
        try:
            found, error = process.communicate(constraints.to_str(), timeout=SECONDS)
        except subprocess.TimeoutExpired:
            raise TimeoutError from None
        finally:
            process.kill()
    if process.returncode:
        raise isl.Error(error)
    return isl.Schedule.read_from_str(isl.DEFAULT_CONTEXT, found)


def _started(serialize: bool, operations: int) -> subprocess.Popen[str] | None:
    """A process that reads constraints and prints their schedule; None on a system that starts none."""
    try:
        return subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, str(int(serialize)), str(operations)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
    except (OSError, ValueError):
        return None


@contextmanager
def _options(*, serialize: bool, operations: int) -> Generator[None]:
    """isl's options are global to its context: set for one computation, and put back."""
    context = isl.DEFAULT_CONTEXT
    before, limit = context.get_schedule_serialize_sccs(), context.get_max_operations()
    context.set_schedule_serialize_sccs(int(serialize))
    context.reset_operations()
    context.set_max_operations(operations)
    try:
        yield
    finally:
        context.set_schedule_serialize_sccs(before)
        context.set_max_operations(limit)
        context.reset_operations()
