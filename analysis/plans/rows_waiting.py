"""
How the times of nests that share their rows pass: what is computed while data come, and while sums of a row are waited for.

A core goes on to the next rows meanwhile, as far as the instructions that it has under way reach, and as far as those that
wait for operands have room in its schedulers.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...frozen import frozen_in_types
from ...lazy import cached_property
from .cost import Cost, cost_of, mixed

WAITING = "waiting for data"
"""The term of a cost that a plan has beside what its instructions take."""

WAITING_PART = 0.45
"""
The part of the instructions under way that may wait for operands, in a core's schedulers: 60 of 192 on Haswell, 97 of 224 on
Skylake, 160 of 352 on Ice Lake; for vectors, queues before them included, 128 of 256 on Zen 3, 210 of 448 on Zen 5. (Fog, "The
microarchitecture of Intel, AMD and VIA CPUs".)
"""


@frozen_in_types
class Times:
    """
    Seconds of a nest's arithmetic, of its loads and stores, of its chains of sums, of the ends of rows whose sums are
    awaited, and of its data, those that it asks for ahead included; and how many instructions it is.
    """

    computing: float
    accessing: float
    chained: float
    ended: float
    moving: float
    issued: float

    @cached_property
    def instructions(self) -> float:
        return max(self.computing, self.accessing)

    @cached_property
    def unchained(self) -> float:
        """What it would take if no term of a sum waited for the one before."""
        return max(self.computing, self.accessing + self.moving)

    @cached_property
    def in_registers(self) -> float:
        """What it would take if all data were in the first-level cache."""
        return max(self.instructions, self.chained) + self.ended

    @cached_property
    def total(self) -> float:
        return max(self.unchained, self.chained + self.ended)


def passing(times: Sequence[Times], rows: float | None, window: int) -> Cost:
    """
    What nests take together: of fused ones with so many rows, or groups of rows that are worked on side by side, on a core
    with a `window` of so many instructions; of others, for which `rows` is None, one after the other.
    """
    together = max(
        sum(each.computing for each in times),
        sum(each.accessing + each.moving for each in times),
    )
    waited, filled = 1.0, 1.0
    if rows is not None:
        waited = _share(sum(each.issued for each in times) / rows, window)
        # What is waited for in registers fills the schedulers; prefetchers go on meanwhile.
        filled = _share(_behind_sums(times) / rows, WAITING_PART * window)
    unchained = max(together, waited * sum(each.unchained for each in times))
    alone = max(
        waited * sum(each.total for each in times),
        filled * sum(each.in_registers for each in times),
    )
    # Rows that are under way together do arithmetic while others load, for a part of the time.
    total = max(together, alone) if rows is None else mixed(together, alone)
    instructions = min(sum(each.instructions for each in times), total)
    latency = max(total - max(unchained, instructions), 0.0)
    return cost_of(
        [
            ("instructions", instructions),
            ("latency of sums", latency),
            (WAITING, total - instructions - latency),
        ]
    )


def _share(row: float, room: float) -> float:
    """
    The part of a row's latency that passes while nothing else is done, where a row is so many instructions and there is room for so
    many. The next row begins when there is room for it: beside a row that is done are as many as have room. (Little's law: of
    rows that are n at a time, one ends in each nth part of the latency.)
    """
    return row / (row + room)


def _behind_sums(times: Sequence[Times]) -> float:
    """The instructions of nests that wait for a sum of their row: of those after the first one that is awaited."""
    first = next((number for number, each in enumerate(times) if each.ended), -1)
    return sum(each.issued for each in times[first + 1 :])
