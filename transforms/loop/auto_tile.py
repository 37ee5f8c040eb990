"""loop-auto-tile: nests whose data does not fit into a cache between two uses, in tiles that do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from ...analysis.levels import Level
from ...analysis.locality import Reference, Trips, footprint, references
from ...dialects import loop
from ...dialects.schedule.steps import Tile
from ...frozen import frozen
from ..remarks import remark
from ..step_support.auto import (
    bands,
    functions_with_loops,
    names_of,
    nest_of,
    target,
    trips_inside,
    try_step,
)
from ..step_support.nest import Nests
from ..stepwell_pass import StepwellPass

_SIZES = (256, 128, 64, 32, 16, 8, 4)


@frozen
class LoopAutoTilePass(StepwellPass):
    """
    Tile perfectly nested loops whose data does not stay in a cache until it is used again.

    Before: `for i: for j: for k: C[i, j] += A[i, k] * B[k, j]`. After: `for i.outer: for j.outer: for
    k.outer: for i.inner: for j.inner: for k.inner: …`. A nest is tiled when between two uses of the same
    elements more than `cache_bytes` are touched (the default is a first-level cache; run the pass twice,
    largest cache first, for two levels), in tiles of the largest power of two that needs at most half of
    them: the other half is left to what the next tile brings in.
    """

    name = "loop-auto-tile"
    level_in = Level.LOOP
    level_out = Level.LOOP
    numerics = "reassociates"

    cache_bytes: int = 32768
    tail: str = "guard"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        nests = Nests(op)
        for function in functions_with_loops(op):
            for band in bands(function):
                if len(band) > 1 and all(for_op.mode is None for for_op in band):
                    self._tile(band, function, nests)

    def _tile(self, band: Sequence[loop.ForOp], function: func.FuncOp, nests: Nests) -> None:
        trips = trips_inside(nest_of(function, nests), band[0])
        refs = references(band[0])
        distance = reuse_distance(refs, band, trips)
        if distance <= self.cache_bytes:
            remark(
                band[0],
                f"loops {names_of(band)} not tiled: {distance} bytes between two uses of the same "
                f"elements, which {self.cache_bytes} hold",
                missed=True,
            )
            return
        size = next((s for s in _SIZES if self._fits(refs, band, trips, s)), _SIZES[-1])
        for part in _parts([op for op in band if trips[op] > size], band):
            factors = tuple(min(size, trips[op]) for op in part)
            step = Tile(target(function, part[0].loop_name.data), factors, self.tail)
            reason = (
                f"{distance} bytes between two uses of the same elements, more than "
                f"{self.cache_bytes}"
            )
            if try_step(step, nests, function, band[0], reason):
                return

    def _fits(
        self, refs: Sequence[Reference], band: Sequence[loop.ForOp], trips: Trips, size: int
    ) -> bool:
        tile = {op: min(trips[op], size) if op in band else trips[op] for op in trips}
        return footprint(refs, tile) <= self.cache_bytes // 2


def reuse_distance(refs: Sequence[Reference], band: Sequence[loop.ForOp], trips: Trips) -> int:
    """The most bytes touched between two uses of the same elements; 0 when nothing is used twice."""
    distances = [0]
    for position, for_op in enumerate(band[:-1]):
        if trips[for_op] > 1 and any(reference.is_reused_by(for_op) for reference in refs):
            outside = band[: position + 1]
            distances.append(footprint(refs, {op: trips[op] for op in trips if op not in outside}))
    return max(distances)


def _parts(
    long: Sequence[loop.ForOp], band: Sequence[loop.ForOp]
) -> Iterator[Sequence[loop.ForOp]]:
    """The runs of at least two loops to try, longest first: those from one long loop to another."""
    ends = [band.index(op) for op in long]
    runs = [(a, b) for a in ends for b in ends if a < b]
    for a, b in sorted(runs, key=lambda run: (run[0] - run[1], run[0])):
        yield band[a : b + 1]
