"""
The roofs that `stepwell bench` holds programs against: what `stepwell probe` measured, or what a contestant
reached where that is more. A probe that was made while the machine was busy cannot promise too little.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from statistics import median

from ..runtime.measure import Roof, Work, roof
from ..targets.rates import Rate
from ..targets.target import Target
from .bench_peers import OURS
from .bench_worker import Outcome


@dataclass
class Roofs:
    """
    The peaks of a machine for this many threads, which rise with what is measured.

    `target` has this machine's rates. `only_ours` says that libraries may run instructions that our target does
    not have: what they reach is no roof of ours.
    """

    target: Target
    threads: int
    only_ours: bool = False
    raised: dict[str, str] = field(default_factory=dict[str, str])
    """for each dtype whose peak rose above the probe's, a sentence on it"""

    @property
    def is_known(self) -> bool:
        """Whether this machine was probed."""
        return self.target.is_measured

    def roof(self, outcome: Outcome) -> Roof | None:
        """
        The least time that the machine allows for a program: the roofline model's, or the median of the
        fastest contestant where that is less. None on a machine that was not probed.
        """
        if not self.is_known:
            return None
        model = roof(Work(**outcome.work), self.target, self.threads)
        return replace(model, seconds=min(model.seconds, *self._medians(outcome).values()))

    def rise(self, outcome: Outcome) -> None:
        """
        Take a program's rate for the peak of multiply-adds when it is higher.

        Bandwidths stay as they were probed: a program may move fewer bytes than it is counted with, from
        caches nearer than all its arrays together fit into, or past them by stores without a read before.
        """
        work = Work(**outcome.work)
        if not self.is_known or not work.flops:
            return
        medians = self._medians(outcome)
        fastest = min(medians, key=medians.__getitem__)
        rate = work.flops / medians[fastest]
        if rate <= self.target.peak(work.dtype, self.threads):
            return
        name = f"fma_{work.dtype}"
        old = self.target.rates.named(name)
        new = Rate(max(old.core, rate / self.threads), max(old.machine, rate))
        self.target = with_rates(self.target, {name: new})
        self.raised[work.dtype] = (
            f"the {work.dtype} peak is taken as {rate / 1e9:.4g} GFLOP/s, which {fastest} reached in "
            f"{outcome.name}: the probe found less"
        )

    def _medians(self, outcome: Outcome) -> Mapping[str, float]:
        return {
            name: median(samples)
            for name, samples in outcome.samples.items()
            if name == OURS or not self.only_ours
        }


def with_rates(target: Target, rates: Mapping[str, Rate]) -> Target:
    """The target with other rates than those that were found."""
    return replace(target, found=tuple({**dict(target.found), **rates}.items()))


def roofs_of(target: Target, threads: int) -> Roofs:
    """
    The roofs for code compiled for `target`, which runs here. Caches and bandwidths are this machine's; the
    peaks of a target other than the host are measured now, with its vectors and registers.
    """
    from ..runtime.probe import fma_rates

    host = Target.host()
    if target == host or not host.is_measured:
        return Roofs(host, threads)
    return Roofs(with_rates(host, fma_rates(target, host.cores)), threads, only_ours=True)
