"""Seconds of the copies of a contraction's operands, and of computing them, before tiles read them."""

from __future__ import annotations

from math import log2
from typing import Literal

from .computed_operands import keeps_rows
from .contraction_plan import ContractionPlan
from .contraction_problem import Operand
from .contraction_rates import TRANSLATION, ContractionRates
from .cost import TRANSLATED

FOUND_AFTER = 4
"""
Lines of a piece after which prefetchers have found it. (On Sapphire Rapids pieces of 128 and 256 bytes came at 4.6 GB/s, whether loads or
hints asked for them, which are 12 lines in 160 ns; of 512, 1024 and 2048 bytes at 5.4, 7.7 and 7.0, where a stream has 10.)
"""

CODE_TWICE = 1 / 64
"""
The part of the multiply-adds' time that tiles which pack B from L2, or which are the last ones of a block with others, gain at least: their
code stands there twice, which compiling takes longer for.
"""


def packing(
    known: ContractionRates, plan: ContractionPlan, which: Literal["left", "right"]
) -> float:
    """Seconds to copy an operand that the plan packs into panels."""
    is_packed = plan.pack_left if which == "left" else plan.pack_right
    return copying(known, plan, which) if is_packed else 0.0


def copying(
    known: ContractionRates, plan: ContractionPlan, which: Literal["left", "right"]
) -> float:
    """The same where it is packed by the plan's blocks; constants are packed when the program is loaded."""
    is_left, operand = which == "left", _operand(known, which)
    if operand.is_constant:
        return 0.0
    written, size = _bytes_of_copy(known, which)
    is_near = known.is_near(2 * size) or (is_left and plan.left_by_rows)
    seconds = size / (known.rates.pack_near if is_near else known.rates.pack_far).core
    if is_near and not known.far_share(operand) and not (is_left and plan.left_by_rows):
        # What L2 has kept of it since the last call, in which the result went by as well, and the rest.
        far = size / known.rates.pack_far.core
        seconds += known.result_share * max(far - seconds, 0.0)
    if not is_left and plan.packs_from_l2:
        seconds = _copying_in_tiles(known, plan, size)
    elif not is_left and not is_near and known.far_share(operand):
        seconds = _copying_pieces(known, plan, size, seconds)
    # What is read along the sum is transposed in registers: log2(lanes) shuffles for each vector.
    vectors = written / operand.element_bytes / known.lanes
    if operand.read_along != 1 and not (is_left and plan.left_in_rows):
        seconds += vectors * log2(max(known.lanes, 2)) / known.clock
        # Neighbours in a panel are stored in pieces whose lengths are powers of two, one a cycle as each is in another line.
        neighbours = plan.mr if is_left else plan.nr
        pieces = neighbours // known.lanes + (neighbours % known.lanes).bit_count()
        seconds += written / operand.element_bytes / neighbours * pieces / known.clock
    if operand.computing is not None:
        seconds += vectors * operand.computing.work / known.core.fma_ports / known.clock
    if is_left and plan.left_by_rows:
        source = written * operand.source_bytes / operand.element_bytes
        seconds += known.far_share(operand) * source / known.beyond_l2.rate
    else:
        moved = known.moved_by_copy(*_blocks(known, plan, which))
        seconds += written * moved / known.beyond_l2.rate
    # Blocks of A are copied for each block of columns around them.
    is_again = is_left and (plan.k_outside or plan.left_by_rows)
    again = -(-known.problem.n // plan.nc) if is_again else 1
    return seconds * again


def least_copying(known: ContractionRates, which: Literal["left", "right"]) -> float:
    """What any plan takes to copy all of an operand at least, once, before tiles read it or in the first of them."""
    is_left, operand = which == "left", _operand(known, which)
    if operand.is_constant:
        return 0.0
    written, size = _bytes_of_copy(known, which)
    in_tiles = not is_left and known.may_pack_in_tiles
    is_near = known.is_near(2 * size) or in_tiles
    seconds = size / (known.rates.pack_near if is_near else known.rates.pack_far).core
    if in_tiles and not known.far_share(operand):
        seconds = min(seconds, _moving_in_tiles(known, size))
    vectors = written / operand.element_bytes / known.lanes
    if operand.read_along != 1 and not operand.is_extended:  # else it may be copied as it lies
        seconds += vectors * log2(max(known.lanes, 2)) / known.clock
    if operand.computing is not None:
        seconds += vectors * operand.computing.work / known.core.fma_ports / known.clock
    return seconds


def _operand(known: ContractionRates, which: Literal["left", "right"]) -> Operand:
    return known.problem.left if which == "left" else known.problem.right


def _bytes_of_copy(known: ContractionRates, which: Literal["left", "right"]) -> tuple[float, float]:
    """The bytes that a copy of an operand has, and the mean of these and of those that are read for it."""
    operand = _operand(known, which)
    written = known.left_bytes if which == "left" else known.right_bytes
    return written, (written + written * operand.source_bytes / operand.element_bytes) / 2


def _blocks(
    known: ContractionRates, plan: ContractionPlan, which: Literal["left", "right"]
) -> tuple[float, float]:
    """
    The bytes of an operand that are copied together, and those that go by until the same lines are written again: see `moved_by_copy`.

    Tiles of N innermost read all of a block of B from its beginning to its end: the next one finds its lines near. With A, which tiles of
    M innermost read so, that was not seen: other programs run between calls. (On Intel's Granite Rapids copies of A of 1 and 4 MiB took 0.13
    and 0.65 ms, 0.06 and 0.25 with their lines in L2; one of B of 1 MiB for tiles of N innermost no more than with its lines there.)
    """
    problem, is_left = known.problem, which == "left"
    terms = plan.kc if plan.k_outside else problem.k
    by_rows = plan.mc < problem.m and plan.innermost == "m"
    rows = plan.mc if by_rows else problem.m
    left = rows * terms * problem.left.element_bytes
    right = plan.nc * terms * problem.right.element_bytes
    own, is_kept = (left if is_left else right), not is_left and plan.innermost == "n"
    if is_kept or ((by_rows if is_left else plan.nc < problem.n) and not plan.k_outside):
        return own, own
    if plan.k_outside:
        return own, left + right + problem.m * plan.nc * problem.result_bytes
    return own, known.entry_bytes + own


def _copying_pieces(
    known: ContractionRates, plan: ContractionPlan, size: float, seconds: float
) -> float:
    """
    Seconds to pack so many bytes of B from beyond L2, for which a copy of neighbours takes so many. Lines of pieces that prefetchers do not
    find are waited for, as many at once as L1 has under way. Those that are asked for while the tiles of the first rows compute with others
    come no faster, but meanwhile, and are copied as if they were near.
    """
    problem = known.problem
    if plan.pack_in_tiles:
        coming = _coming_in_pieces(known, plan.nr)
        near = size / known.rates.pack_near.core
        return near + max(coming - problem.k * problem.n * known.computing(plan.mr), 0.0)
    if known.pieces_are_apart(problem.right, plan.nc):
        return max(seconds, _coming_in_pieces(known, plan.nc))
    return seconds


def gains_by_tiles(
    known: ContractionRates, bare: ContractionPlan, packing: ContractionPlan
) -> bool:
    """Whether tiles that pack B gain by that, beside a copy before them, more than their code has to."""
    gained = copying(known, bare, "right") - copying(known, packing, "right")
    return gained >= worth_of_code(known, packing)


def worth_of_code(known: ContractionRates, plan: ContractionPlan) -> float:
    """
    Seconds by which a plan has to be faster than others in each entry of the batch: `CODE_TWICE` of the multiply-adds' time for each reason for which
    the code of its tiles stands there twice.
    """
    problem = known.problem
    reasons = plan.packs_from_l2 + plan.peels_in_block(problem.n)
    arithmetic = problem.m * problem.k * problem.n * known.computing(1) if reasons else 0.0
    return CODE_TWICE * arithmetic * reasons


def _copying_in_tiles(known: ContractionRates, plan: ContractionPlan, size: float) -> float:
    """
    Seconds for which the tiles of the first rows wait, where they pack so many bytes of B that are in L2. Rows on more pages than are
    translated at once are found anew for each panel.
    """
    problem, right = known.problem, known.problem.right
    seconds = _moving_in_tiles(known, size)
    apart = (right.read_summed or 0) * right.stored_bytes
    if plan.kc * min(apart / known.core.page_bytes, 1) > TRANSLATED:
        rows = problem.k * -(-problem.n // plan.nr)
        seconds += rows * TRANSLATION / 2 / known.clock
    return seconds


def _moving_in_tiles(known: ContractionRates, size: float) -> float:
    """
    The same without translations: stores have a port that multiply-adds do not use, but lines of the copy come to L1 as well, and go back to L2.
    """
    return 2 * size * known.unhidden / known.rates.copy_l2.core


def _coming_in_pieces(known: ContractionRates, columns: int) -> float:
    """
    Seconds in which B comes from beyond L2, in pieces of so many columns of which each has to be found anew: its first lines are asked for
    one by one, and the others come as fast as a stream.
    """
    size = known.problem.k * known.problem.n * known.problem.right.stored_bytes
    first = min(
        FOUND_AFTER * known.level_1.line_bytes / (columns * known.problem.right.stored_bytes), 1.0
    )
    asked = known.beyond_l2.latency / (known.level_1.line_bytes * known.core.l1_misses)
    streamed = 1 / known.beyond_l2.rate
    return size * (first * max(asked, streamed) + (1 - first) * streamed)


def computing_ahead(
    known: ContractionRates, plan: ContractionPlan, which: Literal["left", "right"]
) -> float:
    """
    Seconds to compute an operand that is not packed: its arithmetic goes on while data move, but loads and stores
    and what moves between caches take turns (as of `rows_cost.py`). What does not stay in L2 comes back.
    """
    problem = known.problem
    is_left = which == "left"
    operand = problem.left if is_left else problem.right
    made = operand.computing
    if made is None or (plan.pack_left if is_left else plan.pack_right):
        return 0.0
    elements = problem.k * (problem.m if is_left else problem.n)
    written, read = elements * operand.stored_bytes, elements * made.read_bytes
    again, kept = 1, written
    if is_left and makes_rows(known, plan):
        again, kept = -(-problem.n // plan.nc), plan.mc * plan.kc * operand.stored_bytes
    every = problem.batch * (known.left_bytes + known.right_bytes + read)
    near, far = known.rates.read_l2.core, known.beyond_l2.rate
    moving = read * known.rates.arriving(near if known.is_near(every) else far)
    moving += 0.0 if kept <= known.near_1 else written * known.rates.arriving(near)
    if kept == written:
        beyond = written * known.moved_by_copy(written, known.entry_bytes + written)
    else:
        beyond = 0.0 if known.is_near(kept + read * kept / written) else written
    accesses = max(made.loads / known.core.load_ports, 1 / known.core.store_ports)
    vectors = elements / known.lanes / known.clock
    work = vectors * made.work / known.core.fma_ports
    return again * (max(work, vectors * accesses + moving) + beyond / far)


def makes_rows(known: ContractionRates, plan: ContractionPlan) -> bool:
    """Whether A is computed, and not packed, for one block of rows after the other."""
    is_computed = known.problem.left.computing is not None and not plan.pack_left
    return is_computed and keeps_rows(plan, known.problem.m, known.problem.k)
