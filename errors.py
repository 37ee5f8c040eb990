"""The one kind of exception a user's mistake raises, and the one kind of warning about what is slow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .spelling import printable

if TYPE_CHECKING:
    from xdsl.ir import Operation


class StepwellError(Exception):
    """
    A mistake the user can mend, said in one line: what was found, what was expected, what to do.

    `where` is `FILE:LINE:COL` when the mistake stands in a file. It is taken from `op` when the
    operation was parsed from text; an operation made in memory is named instead. Characters that do not
    print are escaped in both.
    """

    def __init__(self, message: str, *, op: Operation | None = None, where: str | None = None):
        self.message = printable(message)
        super().__init__(self.message)
        self.where = where or (location_of(op) if op is not None else None)

    def __str__(self) -> str:
        return f"{printable(self.where)}: {self.message}" if self.where else self.message


class PerformanceWarning(UserWarning):
    """A program that is right and slow to compile, said in one line: what was found, what to write instead."""


def location_of(op: Operation) -> str | None:
    """
    `FILE:LINE:COL` of the nearest enclosing operation that has a position, or `FILE: NAME` where that has a name, as
    the nodes of models have; or None.
    """
    # Late: programs from the cache run without xDSL.
    from xdsl.dialects.builtin import FileLineColLoc, NameLoc

    current: Operation | None = op
    while current is not None:
        location = current.location
        if isinstance(location, NameLoc) and isinstance(location.location, FileLineColLoc):
            return f"{location.location.filename.data}: {location.desc.data}"
        if isinstance(location, FileLineColLoc):
            return f"{location.filename.data}:{location.line.data}:{location.column.data}"
        current = current.parent_op()
    return None
