"""
The roofs that `stepwell bench` holds programs against: multiply-adds as they ran by turns with the contestants, since a
clock is not the same at all hours; the bandwidths that `stepwell probe` measured; or what a contestant reached where that
is more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import median

from ..frozen import frozen
from ..runtime.measure import Roof, Work, roof
from ..targets.rates import Rate
from ..targets.target import Target
from .bench_peers import OURS
from .bench_worker import Outcome


@frozen
class Roofs:
    """
    The roofs of a machine for this many threads. `host` has its rates.

    `only_ours` says that libraries may run instructions that our target does not have: what they reach is no roof of ours.
    """

    host: Target
    threads: int
    only_ours: bool = False

    @property
    def is_known(self) -> bool:
        """Whether this machine was probed."""
        return self.host.is_measured

    def roof(self, outcome: Outcome) -> Roof | None:
        """
        The least time that the machine allows for a program: the roofline model's, or the median of the
        fastest contestant where that is less. None on a machine that was not probed.
        """
        if not self.is_known:
            return None
        work, target = Work(**outcome.work), self.host
        if outcome.peak:
            target = with_peak(target, work.dtype, outcome.peak)
        model = roof(work, target, self.threads)
        return replace(model, seconds=min(model.seconds, *self._medians(outcome).values()))

    def of_all(self, outcomes: Sequence[Outcome]) -> Target:
        """The host with what multiply-adds did beside all of the programs, in the median."""
        target = self.host
        for dtype in ("f32", "f64"):
            peaks = [o.peak for o in outcomes if o.peak and Work(**o.work).dtype == dtype]
            target = with_peak(target, dtype, median(peaks)) if peaks else target
        return target

    def _medians(self, outcome: Outcome) -> Mapping[str, float]:
        return {
            name: median(samples)
            for name, samples in outcome.samples.items()
            if name == OURS or not self.only_ours
        }


def with_peak(target: Target, dtype: str, flops: float) -> Target:
    """The target with cores that do so many FLOP/s in multiply-adds, each of them."""
    rate = Rate(flops, flops * target.cores)
    return replace(target, found=tuple({**dict(target.found), f"fma_{dtype}": rate}.items()))
