"""What threads that compute one product wait for each other."""

from __future__ import annotations

from .contraction_copies import packing
from .contraction_plan import ContractionPlan
from .contraction_rates import ContractionRates
from .threads import line_seconds


def waiting_for_threads(known: ContractionRates, plan: ContractionPlan, seconds: float) -> float:
    """
    Seconds of all cores together in which one waits for another, where tiles take so many `seconds`: by rows or by columns, whichever is less.

    None where there is one core, and where each thread has entries of a batch of its own. Blocks of rows of A are packed by one thread, which
    the others wait for.
    """
    problem, threads = known.problem, known.threads
    if known.target.cores == 1 or threads == 1 or problem.batch >= threads or plan.mirrored:
        return 0.0
    right = 0 if problem.right.is_constant or not plan.pack_right else known.right_bytes
    left = 0 if problem.left.is_constant or not plan.pack_left else known.left_bytes
    by_rows = plan.mr if plan.innermost == "n" else plan.mc
    waits = [_waiting(known, seconds, problem.m, by_rows, right)]
    if plan.nc < problem.n and not plan.k_outside:  # each block has a copy of B of its own
        waits.append(_waiting(known, seconds, problem.n, plan.nc, left))
    elif plan.innermost == "m" and plan.mc >= problem.m:
        waits.append(_waiting(known, seconds, problem.n, plan.nr, left + right))
    has_blocks = plan.innermost == "m" and plan.mc < problem.m
    copying = problem.batch * packing(known, plan, "left") if left and has_blocks else 0.0
    return threads * (min(waits) + (1 - 1 / threads) * copying)


def _waiting(
    known: ContractionRates, seconds: float, extent: int, block: int, shared: int
) -> float:
    """
    What a thread waits for where blocks of an extent are dealt out: for the one that has most of them, and for lines of the copies that all
    share, as each has made a part of these. (Two threads took 0.74 of the time of one for 256 x 256 x 256 with rows dealt out, and 0.51 with
    columns of which each packs its own, on Intel's Granite Rapids.)
    """
    threads = known.threads
    blocks = -(-extent // block)
    most = min(-(-blocks // threads) * block / extent, 1.0)
    return seconds * (most - 1 / threads) + line_seconds(shared * (1 - 1 / threads), known.target)
