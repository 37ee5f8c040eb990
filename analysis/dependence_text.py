"""Dependences as a list that is read: who must come after whom, at what distance, and which loop carries it."""

from __future__ import annotations

from ..dialects import loop
from ..errors import location_of
from .dependence import Dependence
from .scop import Access


class DependenceList(tuple[Dependence, ...]):
    """Dependences, one a line when printed."""

    def __str__(self) -> str:
        if not self:
            return "no dependences"
        rows = [_row(dependence) for dependence in self]
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
        return "\n".join(
            "  ".join([*(c.ljust(w) for c, w in zip(row, widths, strict=False)), row[-1]]).rstrip()
            for row in rows
        )

    __repr__ = __str__


def _row(dependence: Dependence) -> tuple[str, ...]:
    vector = ", ".join(
        direction.value if fixed is None else str(fixed)
        for fixed, direction in zip(
            dependence.distance_vector, dependence.direction_vector, strict=True
        )
    )
    return (
        dependence.kind.value,
        f"%{loop.buffer_name(dependence.source.buffer) or '?'}",
        f"{_place(dependence.source)} -> {_place(dependence.sink)}",
        f"distance ({vector})",
        _remark(dependence),
    )


def _place(access: Access) -> str:
    """`load 12:9` for an access of a file's line 12, else `load` with the loops around it."""
    what = access.op.name.partition(".")[2]
    where = location_of(access.op)
    if where is not None:
        return f"{what} {':'.join(where.rsplit(':', 2)[1:])}"
    loops = ", ".join(for_op.loop_name.data for for_op in access.loops)
    return f"{what} in ({loops})"


def _remark(dependence: Dependence) -> str:
    carriers = [op.loop_name.data for op in dependence.common_loops if dependence.is_carried_by(op)]
    within = "within one iteration" if dependence.common_loops else "between nests"
    remarks = [f"carried by {', '.join(carriers)}" if carriers else within]
    if dependence.reduction is not None:
        remarks.append(f"reduction by {dependence.reduction.operator}")
    if not dependence.exact:
        remarks.append("may not exist: an access is not affine")
    return "; ".join(remarks)
