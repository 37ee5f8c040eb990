"""What the tiles of a contraction ask for before they use it: a plan's hints follow from its tile and its blocks."""

from __future__ import annotations

from .contraction_plan import Blocks, ContractionPlan
from .contraction_problem import Problem
from .contraction_rates import ContractionRates
from .cost import BESIDE_HINTS, TIMES_ASKED, terms_ahead
from .terms_written_out import BETWEEN_HINTS


def asks_for_result(
    known: ContractionRates, problem: Problem, mr: int, nr: int, blocks: Blocks, *, turned: bool
) -> bool:
    """
    Whether tiles of C, or of what is made of it, are written beyond L2 where they are, one after the other, and compute long enough to
    wait for no hint. Tiles of N innermost write on along the rows of the tile before, where prefetchers follow them: they ask for what they add
    to, or are finished with. (On Intel's Granite Rapids products of 512 to 1500 rows took 0.97 to 0.98 of the time without hints where sums
    have 256 to 450 terms, and 0.99 to 1.01 where they have more.)
    """
    _, _, kc, innermost, k_outside = blocks
    is_in_place = problem.updates_in_place or problem.is_finished
    if turned or not (is_in_place and known.result_is_far):
        return False
    follows = problem.m >= 2 * mr if innermost == "m" else problem.n >= 2 * nr
    if k_outside:
        return follows
    if innermost == "n" and not problem.finished_with:
        return False
    return follows and kc >= problem.k and _leaves_room(known, mr, nr, kc)


def _leaves_room(known: ContractionRates, mr: int, nr: int, kc: int) -> bool:
    """Whether L1 waits for the lines of a tile of C in no more than a part of the time in which the tile is computed; see `BESIDE_HINTS`."""
    core, line = known.core, known.level_1.line_bytes
    lines = mr * -(-nr * known.problem.result_bytes // line)
    computing = kc * mr * -(-nr // known.lanes) / core.fma_ports / known.clock
    return computing >= BESIDE_HINTS * lines * known.beyond_l2.latency / core.l1_misses


def asks_for_rows(known: ContractionRates, problem: Problem, plan: ContractionPlan) -> bool:
    """
    Whether the rows of A that the next tiles use are asked for while others are used: those that are read where they are, beyond
    L2. Prefetchers of some cores have to find each row anew, and begin again at each page.
    """
    return (
        plan.innermost == "n"
        and not (plan.turned or plan.mirrored)
        and problem.m >= 2 * plan.mr
        and known.rows_hints_gain
    )


def rows_ahead(known: ContractionRates, plan: ContractionPlan) -> int:
    """
    How many terms ahead tiles ask for rows of B that they read where they are, if these are lines of their own. 0 where L1 keeps all
    of them, or one panel for more tiles than are to ask for the same lines.
    """
    problem, right, line = known.problem, known.problem.right, known.level_1.line_bytes
    is_apart = right.along == 1 and (right.summed or 0) * right.stored_bytes >= line
    is_left_there = not (plan.turned or right.computing or problem.is_of_one_buffer)
    if not (is_apart and is_left_there and known.target.takes_hints_in_sums):
        return 0
    is_kept = plan.innermost == "m" and plan.kc <= known.terms_in_l1(plan.mr, plan.nr)
    is_kept = is_kept and known.keeps_rows(plan, plan.nr)
    is_kept_long = is_kept and min(plan.mc, problem.m) > TIMES_ASKED * plan.mr
    if is_kept_long or known.right_bytes <= known.near_1:
        return 0
    in_parts = plan.kc >= problem.k
    if plan.kc >= 2 * BETWEEN_HINTS and (plan.prefetch_result or plan.prefetch_left):
        in_parts = False  # of the length that is right for these
    return _terms_ahead_of(known, plan, -(-plan.nr * right.stored_bytes // line), in_parts=in_parts)


def panel_terms_ahead(known: ContractionRates, plan: ContractionPlan) -> int:
    """
    How many terms ahead the tiles of all plans with the tile and blocks of one ask L1 for packed panels of B: of those that come from L2,
    where that gains. Else 0.
    """
    is_kept = plan.innermost == "m" and plan.kc <= known.terms_in_l1(plan.mr, plan.nr)
    if is_kept or known.keeps_block(plan) or not known.panels_hints_gain:
        return 0
    lines = -(-plan.nr * known.problem.right.element_bytes // known.level_1.line_bytes)
    return _terms_ahead_of(known, plan, lines)


def lines_asked_for(known: ContractionRates, plan: ContractionPlan) -> int:
    """The lines of B that each term of a plan's tiles asks L1 for: of panels, or of rows, which may begin anywhere in a line."""
    right, line = known.problem.right, known.level_1.line_bytes
    if plan.prefetch_panel_terms:
        return -(-plan.nr * right.element_bytes // line)
    if plan.prefetch_terms and not plan.pack_in_tiles:
        return -(-plan.nr * right.stored_bytes // line) + 1
    return 0


def _terms_ahead_of(
    known: ContractionRates, plan: ContractionPlan, lines: int, *, in_parts: bool = False
) -> int:
    """As of `terms_ahead`, for a plan's tiles, of which each term asks for so many lines."""
    vectors = -(-plan.nr // known.lanes)
    sums, loads = plan.mr * vectors, plan.mr + vectors
    return terms_ahead(known.core, sums, loads, lines, plan.kc, in_parts=in_parts)


def packed_ahead(known: ContractionRates, plan: ContractionPlan) -> int | None:
    """
    How many terms ahead the tiles of the first rows ask for rows of B that they pack, in plans with the tile and blocks of one; 0 if they ask for
    none. None where they do not pack B, but a copy before them does:

    - where B comes from beyond L2, and prefetchers find its rows, or it is not in blocks;
    - where both operands would stay in L2, but the result of the last call has left nothing of B there;
    - where B is in blocks that are no whole panels: the tiles of the last columns stand behind the others;
    - where sums have fewer terms than twice those that a core has under way: nothing hides the stores.

    From L2 they ask as for panels. From beyond L2 as many ahead as memory takes to answer twice, since others ask meanwhile; too early
    does no harm.
    """
    problem, right = known.problem, known.problem.right
    nr, nc = plan.nr, plan.nc
    in_blocks = nc < problem.n or plan.k_outside
    is_whole = nc % nr == 0 or not in_blocks
    has_others = problem.m >= 2 * plan.mr and nc >= 2 * nr
    if not (plan.innermost == "n" and known.may_pack_in_tiles and is_whole and has_others):
        return None
    vectors = -(-nr // known.lanes)
    under_way = known.core.terms_under_way(plan.mr * vectors, plan.mr + vectors)
    if plan.kc < 2 * under_way:
        return None
    if not known.far_share(right):
        if known.result_share >= 1:
            return None
        lines = -(-nr * right.stored_bytes // known.level_1.line_bytes)
        return _terms_ahead_of(known, plan, lines)
    term = plan.mr * vectors / known.core.fma_ports / known.clock
    ahead = max(int(2 * known.rates.latency() / term), 1)
    is_apart = in_blocks and known.pieces_are_apart(right, nc)
    return ahead if plan.kc >= 2 * ahead and is_apart else None


def asks_for_panels(known: ContractionRates, mc: int, nr: int, kc: int, k_outside: bool) -> bool:
    """
    Whether panels of B of KC terms come from beyond L2, where two of them have room beside the rows of A that use them. Blocks
    of terms inside of the loop over tiles of columns are panels of their own, of which all of B's follow each other; else one of all columns
    has no next one.

    (Tiles of a triangle are fewer for each panel, and have no parts of the next one: they do not ask.)
    """
    left, right = known.problem.left.element_bytes, known.problem.right.element_bytes
    near, terms = known.near_2, kc if k_outside else known.problem.k
    size = known.in_a_call(known.problem.right, terms * known.problem.n * right)
    is_far = max(size, known.problem.right.least_between_calls) > near
    is_last = known.problem.n <= nr and (k_outside or kc >= known.problem.k)
    return is_far and not is_last and kc * (mc * left + 2 * nr * right) <= near
