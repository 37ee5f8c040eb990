"""What threads that compute one reduction over windows wait for each other."""

from __future__ import annotations

from ...targets.target import Target
from ..facts import WindowReduction
from .threads import team, waiting_along
from .windows_copies import copied_along
from .windows_plan import WindowsPlan


def waiting_for_threads(
    plan: WindowsPlan, r: WindowReduction, seconds: float, target: Target
) -> float:
    """
    Seconds of all cores together in which one waits for another, where one core takes so many `seconds`: with the axis dealt out to
    threads by which it is least.

    A thread waits for the one that has most tiles along the axis, and for lines of buffers that the program's threads share another
    way. Loops keep their order: inside of others one is dealt out by equal blocks, and where no copy of the image is made around it,
    which all threads would wait for. (On two threads of a Granite Rapids core MobileNet-V2's layers of 14 x 14, whose neighbours deal out rows, took
    15.6 and 24 us where channels were dealt out, as plans with a copy of each channel's image have it, as long as one thread or longer.)
    """
    threads = team(target)
    if target.cores == 1:
        return 0.0
    waits, sizes, around = [seconds * (1 - 1 / threads)], dict(plan.tile), 1
    copied = copied_along(plan, r)[-1:]
    for axis in plan.order(r.parallel):
        blocks = -(-r.extent(axis) // sizes.get(axis, 1))
        if blocks >= threads and (around == 1 or blocks % threads == 0):
            most = -(-blocks // threads) / blocks
            waits.append(waiting_along(r.facts, r.statement, axis, most, seconds, target))
        around *= blocks
        if axis in copied:
            break
    return threads * min(waits)
