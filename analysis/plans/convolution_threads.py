"""What threads that compute one convolution directly wait for each other."""

from __future__ import annotations

from ...targets.target import Target
from ..facts import Contraction, Home
from ..partitioning import bytes_of_others
from .convolution_plan import ConvolutionPlan
from .cost import kept_bytes
from .threads import others_seconds, team

ASKED = 8
"""
Plans that are asked for, to find the one with which threads are done first: those that take one core least differ in the size of
their tiles, and so in how many blocks of which axis there are for the threads.
"""


def waiting_for_threads(
    plan: ConvolutionPlan, c: Contraction, seconds: float, target: Target
) -> float:
    """
    Seconds of all cores together in which one waits for another, where one core takes so many `seconds`: with the axis dealt out to
    threads by which it is least.

    A thread waits for the one that has most tiles along the axis, and for lines of buffers that the program's threads share another
    way.
    """
    threads = team(target)
    if target.cores == 1:
        return 0.0
    arguments = (one.bytes or 0 for one in c.facts.buffers if one.home is not Home.SCRATCH)
    stays = sum(arguments) <= threads * kept_bytes(target.core.cache(2))
    waits = [seconds * (1 - 1 / threads)]
    for axis in c.parallel:
        extent, size = c.extent((axis,)), plan.size(axis)
        blocks = -(-extent // size)
        if blocks >= threads:
            most = min(-(-blocks // threads) * size / extent, 1.0)
            others = bytes_of_others(c.facts, c.statement, axis) if stays else 0
            waits.append(seconds * (most - 1 / threads) + others_seconds(others, target))
    return threads * min(waits)
