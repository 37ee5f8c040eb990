"""Which plans of a contraction are looked at: branch and bound, from what plans with something in common take at least."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from heapq import heapify, heappop, heappush
from math import inf
from typing import Any, cast

from .contraction_cost import Model
from .contraction_plan import ContractionPlan

ROUNDED = 1 + 1e-9
"""By so much sums of the same numbers may differ."""

Number = tuple[int, ...]
"""Of a plan: that of its tile, that of its blocks among those with this tile, and its own among those with these blocks."""

Planned = tuple[ContractionPlan, float]
"""A plan, and the seconds for which it works, as of `OfBlocks.least`."""

Part = Callable[[], "Iterable[tuple[float, Planned | Part]]"]
"""Plans that have something in common: parts of them, or the plans, each with the seconds that it takes at least."""


class Cheapest:
    """
    The plans of least time of those that were offered, at most `n`; of equal ones those that pack less, in larger blocks, and
    have a smaller number.
    """

    def __init__(self, n: int):
        self.n = n
        self.plans: list[ContractionPlan] = []
        self.offered = 0
        self._keys: list[tuple[float, int, int, Number]] = []
        self._most = inf

    def offer(self, parts: Sequence[Part], model: Model) -> None:
        """
        Keep those of the plans that are among the cheapest, by branch and bound: what takes least as far as is found at once
        comes first. The plans of a part are made when the part is not too slow.
        """
        left: list[tuple[float, Number, Any]] = []
        for number, part in enumerate(parts, self.offered):
            left += [(least, (number, n), inner) for n, (least, inner) in enumerate(part())]
        self.offered += len(parts)
        heapify(left)
        while left and left[0][0] <= self._most * ROUNDED:
            _, number, found = heappop(left)
            if isinstance(found, tuple):
                plan, working = cast("Planned", found)
                seconds = model.seconds(plan, working, self._most * ROUNDED)
                if seconds is not None:
                    self._keep(plan, seconds, number)
                continue
            for n, (at_least, inner) in enumerate(found()):
                if at_least <= self._most * ROUNDED:
                    heappush(left, (at_least, (*number, n), inner))

    def _keep(self, plan: ContractionPlan, seconds: float, number: Number) -> None:
        key = seconds, plan.pack_left + plan.pack_right, -plan.mc, number
        place = bisect_right(self._keys, key)
        self._keys.insert(place, key)
        self.plans.insert(place, plan)
        del self._keys[self.n :], self.plans[self.n :]
        if len(self.plans) == self.n:
            self._most = self._keys[-1][0]
