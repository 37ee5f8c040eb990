"""What threads that compute one convolution directly wait for each other."""

from __future__ import annotations

from ...targets.target import Target
from ..facts import Contraction
from .convolution_plan import ConvolutionPlan
from .threads import team, waiting_along

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
    waits = [seconds * (1 - 1 / threads)]
    for axis in c.parallel:
        extent, size = c.extent((axis,)), plan.size(axis)
        blocks = -(-extent // size)
        if blocks >= threads:
            most = min(-(-blocks // threads) * size / extent, 1.0)
            waits.append(waiting_along(c.facts, c.statement, axis, most, seconds, target))
    return threads * min(waits)
