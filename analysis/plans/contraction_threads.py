"""What threads that compute one product wait for each other."""

from __future__ import annotations

from .contraction_copies import packing
from .contraction_plan import ContractionPlan
from .contraction_rates import ContractionRates
from .threads import line_seconds, others_seconds


def waiting_for_threads(known: ContractionRates, plan: ContractionPlan, seconds: float) -> float:
    """
    Seconds of all cores together in which one waits for another, where tiles take so many `seconds`: by rows or by columns, whichever is less.

    None where there is one core. Threads that have entries of a batch of their own wait for lines alone. Blocks of rows of A are packed by
    one thread, which the others wait for. In a program the buffers between kernels are shared some way already: by another one, each thread waits for lines of
    what it reads that others have written, and of what it writes that others have had.
    """
    problem, threads = known.problem, known.threads
    if known.target.cores == 1 or threads == 1 or plan.mirrored:
        return 0.0
    of_rows, of_columns, of_batch = _lines_of_others(known)
    if problem.batch >= threads:
        return threads * of_batch
    right = 0 if problem.right.is_constant or not plan.pack_right else known.right_bytes
    left = 0 if problem.left.is_constant or not plan.pack_left else known.left_bytes
    by_rows = plan.mr if plan.innermost == "n" else plan.mc
    waits = [of_rows + _waiting(known, seconds, problem.m, by_rows, right)]
    if plan.nc < problem.n and not plan.k_outside:  # each block has a copy of B of its own
        waits.append(of_columns + _waiting(known, seconds, problem.n, plan.nc, left))
    elif (plan.innermost == "m" and plan.mc >= problem.m) or _may_turn(known, plan, right):
        waits.append(of_columns + _waiting(known, seconds, problem.n, plan.nr, left + right))
    has_blocks = plan.innermost == "m" and plan.mc < problem.m
    copying = problem.batch * packing(known, plan, "left") if left and has_blocks else 0.0
    return threads * (min(waits) + (1 - 1 / threads) * copying)


def _may_turn(known: ContractionRates, plan: ContractionPlan, packed: int) -> bool:
    """
    Whether tiles of columns can be made the outermost loop for threads, as is done where these share buffers: nothing is packed inside
    of the loop over rows.
    """
    is_shared = any(known.problem.of_others)
    whole = not packed and not plan.left_by_rows and not plan.k_outside
    return is_shared and plan.innermost == "n" and whole


def _lines_of_others(known: ContractionRates) -> tuple[float, float, float]:
    """
    Seconds in which each thread gets what others have had, with rows dealt out, with columns, and with entries of a batch. Nothing where
    buffers do not stay in the threads' caches from one kernel to the next. (With blocks of columns an expansion of MobileNet-V2 whose channels are shared took two
    threads 33 us, as long as one, on Intel's Granite Rapids.)
    """
    problem, threads = known.problem, known.threads
    if problem.batch * known.entry_bytes > threads * known.near_2:
        return 0.0, 0.0, 0.0
    rows, columns, batch = (others_seconds(bytes_, known.target) for bytes_ in problem.of_others)
    return rows, columns, batch


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
