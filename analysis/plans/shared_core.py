"""What tiles take beside a thread of somebody else's on the same core, which a virtual machine cannot see: simultaneous multithreading."""

from __future__ import annotations

from ...targets.target import Target

NEIGHBOURED = 1 / 4
"""
The part of the time in which somebody else's thread runs on the same core, as those of other virtual machines do. (On an Emerald Rapids core in one
it was a tenth to a half of most minutes.)
"""

BESIDE_NEIGHBOUR = 3
"""
Instructions that a core begins in a cycle for one of two threads: half of the six of Intel's since Golden Cove. (Intel 64 and IA-32 Architectures
Optimization Reference Manual.) Beside a neighbour on Emerald Rapids terms of 14 x 32 with 32 instructions took 1.2 times as long, and
those with 49 took 1.5 to 1.8.
"""

ONE_BANK = 1.1
"""
The time of a tile beside a neighbour whose multiply-adds load by themselves from rows of A that begin at the same place in a line, over that of one
whose rows do not: loads of different lines from one bank of L1 wait for each other. (On Emerald Rapids tiles of 14 x 32 and 10 x 32 reached 117 and 116 GFLOP/s
with rows 4160 bytes apart, 129 and 124 with 4104, and 129 and 128 with A packed; without a neighbour all of them 149 to 151.)
"""


def neighboured(target: Target) -> float:
    """
    `NEIGHBOURED`, of cores whose multiply-adds are known to have loads to spare: what a neighbour takes there was measured. Of others it is not
    known, and they count as alone.
    """
    return NEIGHBOURED if target.rates.own_loads_are_free else 0.0
