"""xDSL's dialects with what they lack."""

from __future__ import annotations

from xdsl.ir import Dialect, Operation


def extended(dialect: Dialect, *ops: type[Operation]) -> Dialect:
    """The dialect with operations added, or put in the place of those of their names."""
    new = {op.name for op in ops}
    kept = [op for op in dialect.operations if op.name not in new]
    return Dialect(dialect.name, [*kept, *ops], [*dialect.attributes])
