"""Seconds in which the result of a contraction is read, written, and mirrored at its diagonal."""

from __future__ import annotations

from ...targets.estimates import L3_SECONDS
from .contraction_plan import ContractionPlan
from .contraction_rates import ContractionRates
from .cost import TRANSLATED, found_anew, split_part


def writing(known: ContractionRates, plan: ContractionPlan) -> float:
    """
    C goes to where it came from: read and written once, and once more for each further block of the sum where
    these are outside of the loops over rows. Then it is initialised by itself before, too, and a tile ends
    when its part of C has come, of which all lines are asked for at once: while the tile's sums are made, or after that. With
    tiles of N innermost each row of C is on a page of its own, and comes after that is found. Where they are inside, the MC × NR
    elements that are used again stay near. What C is finished with comes once.
    """
    problem = known.problem
    elements = problem.m * problem.n
    size = elements * problem.result_bytes
    times = -(-problem.k // plan.kc) if plan.k_outside else 1
    if times == 1 and not known.result_share:
        return 0.0
    far, share = known.beyond_l2, known.result_share if times == 1 else 1.0
    # What hints ask for in time comes while sums are made.
    is_hidden = (
        plan.k_outside and plan.innermost == "m" and plan.prefetch_result and problem.reassociates
    )
    moved = (1 if is_hidden else 2) * size * times
    seconds = share * (moved + elements * problem.finished_with) / far.rate
    tiles = elements * computed_part(plan, known.problem.n) / (plan.mr * plan.nr)
    if plan.k_outside:
        seconds += 2 * size / far.rate + _adding(known, times * elements)
        if is_hidden:
            seconds += known.unhidden * size * times / far.rate
        else:
            seconds += times * tiles * far.latency
        if plan.innermost == "n":
            found = known.lost_pages(plan) * times * problem.m * -(-problem.n // plan.nc)
            seconds += 2 * L3_SECONDS * found
    if plan.innermost == "m":
        seconds += share * times * tiles * plan.mr * _row_seconds(known, plan)
    if plan.turned and plan.innermost == "n":  # no tile before was near these lines
        begun = min(plan.mr * problem.result_bytes / known.level_1.line_bytes, 1.0)
        seconds += share * tiles * plan.nr * begun * known.rates.latency("L3")
    return seconds


def least_writing(known: ContractionRates, times: int = 1) -> float:
    """
    Seconds in which C comes from beyond L2 and goes back at least, with what it is finished with: once, the part of it that has left L2,
    or for each of so many blocks of the sum.
    """
    elements = known.problem.m * known.problem.n
    size, finished = elements * known.problem.result_bytes, elements * known.problem.finished_with
    if times == 1:
        return known.result_share * (2 * size + finished) / known.beyond_l2.rate
    moved = (2 + times) * size + finished
    return moved / known.beyond_l2.rate + _adding(known, times * elements)


def _adding(known: ContractionRates, elements: float) -> float:
    """
    Seconds in which tiles are added to so many elements of C, once for each block of the sum. The part of C that a tile takes comes from L2,
    where hints have brought it or what the tile waits for, and goes back there; vectors across two lines take a port twice. (Blocks of 182 terms of a sum of 1820 took 0.98 and 1.01 of the time of one block on Sapphire Rapids, with C of 0.4 and 1.7 MB,
    where 0.89 and 0.93 were predicted without this.)
    """
    core = known.core
    vectors = elements / known.lanes * (1 + split_part(core))
    cycles = vectors * (1 / core.load_ports + 1 / core.store_ports)
    return (
        cycles / known.clock + 2 * elements * known.problem.result_bytes / known.rates.copy_l2.core
    )


def _row_seconds(known: ContractionRates, plan: ContractionPlan) -> float:
    """
    Seconds of waiting for the lines of a row of a tile, where the next tile is not to the right of it.

    Rows that do not begin with a line end in one more, which comes late. (That was measured when hints did not ask for it.) Rows on more pages than a core translates at
    once are found anew in each tile. (With blocks of K outside, tiles wait for their part of C anyway.)
    """
    problem = known.problem
    row = problem.n * problem.result_bytes
    streams = 1 + problem.finished_with / problem.result_bytes
    pages = plan.mc * min(1.0, row / known.core.page_bytes) * streams
    is_asked_for = row % known.level_1.line_bytes == 0 and pages <= TRANSLATED
    if is_asked_for or plan.k_outside or plan.nr >= problem.n:
        return 0.0
    return found_anew(plan.kc * known.computing(plan.nr), streams)


def writing_columns(known: ContractionRates, plan: ContractionPlan) -> float:
    """Seconds in which tiles that are computed transposed leave by elements, in a loop over each short row."""
    each = 1 / known.core.store_ports + known.core.mispredict / plan.mr
    return known.problem.m * known.problem.n * each / known.clock if plan.turned else 0.0


def mirroring(known: ContractionRates, plan: ContractionPlan) -> float:
    """
    Seconds to copy the elements below the diagonal one by one, and to finish the result after that. What is read
    along columns is a line for each row: it is there for the next column if L1 keeps so many lines.
    """
    if not plan.mirrored:
        return 0.0
    problem, line = known.problem, known.level_1.line_bytes
    size = problem.n * problem.n * problem.result_bytes
    stays = problem.n * line <= known.near_1
    fetched = problem.result_bytes if stays else line
    rate = known.rates.read_l2.core if known.is_near(size) else known.beyond_l2.rate
    seconds = problem.n * problem.n / 2 * (1 / known.clock + fetched / rate)
    if problem.is_finished:
        packing = known.rates.pack_near if known.is_near(2 * size) else known.rates.pack_far
        seconds += size / packing.core
    return seconds


def computed_part(plan: ContractionPlan, columns: int) -> float:
    """The part of the result's elements that tiles compute."""
    if not plan.mirrored:
        return 1.0
    return min(0.5 + max(plan.mr, plan.nr) / (2 * columns), 1.0)
