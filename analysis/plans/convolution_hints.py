"""What the tiles of a convolution ask for before it is used: weights, blocks of them, and the image, from beyond L2."""

from __future__ import annotations

from math import prod

from ...frozen import replaced
from .convolution_cost import Model
from .convolution_plan import ConvolutionPlan
from .cost import BESIDE_HINTS, TIMES_ASKED, round_up, terms_ahead
from .terms_written_out import BETWEEN_HINTS, BEYOND, LINES_AT_ONCE, has_parts

LEAST_BETWEEN = BETWEEN_HINTS // 4
"""Terms of a part of a sum at least: the address of a hint takes about as many instructions as a term of a small tile has."""


def with_hints(model: Model, plan: ConvolutionPlan) -> ConvolutionPlan:
    """A plan with the hints that its order of tiles has a use for."""
    plan = _with(plan, prefetch_result=asks_for_result(model, plan))
    plan = _with(plan, prefetch_image=asks_for_image(model, plan))
    plan = _with_blocks(model, plan)
    plan = _with(plan, prefetch_terms=image_terms_ahead(model, plan))
    plan = _with(plan, prefetch_weights=_asks_a_page_ahead(model, plan))
    plan = _with(plan, between_hints=terms_between_hints(model, plan))
    return _with(plan, prefetch_terms=_in_whole_parts(plan))


def _with(plan: ConvolutionPlan, **hints: bool | int) -> ConvolutionPlan:
    """The plan with these hints: most have what they are to have already."""
    is_same = all(getattr(plan, name) == hint for name, hint in hints.items())
    return plan if is_same else replaced(plan, **hints)


def asks_for_result(model: Model, plan: ConvolutionPlan) -> bool:
    """
    Whether a result leaves L2 between calls, and the next tile's part of it is on other pages than a tile's own, where prefetchers follow
    no stores, while tiles compute long enough to wait for no hint (`BESIDE_HINTS`). Tiles that go through a window ask for it; and what a
    result is finished with is loaded, and would be waited for without. (On Intel's Granite Rapids layers of 512 and 1024 outputs at 14 x 14,
    of 512 at 28 x 28 and 7 x 7 took 0.96 to 0.98 of the time without hints, of 144 x 24 at 56 x 56 0.92; of 256 x 128 at 56 x 56, whose
    tiles have other rows than those before and compute long enough, 1.03.)
    """
    if plan.depth:  # the result is written after all sums, along rows of its own
        return False
    if not model.result_is_far or model.has_window or len(model.c.streams) > 1:
        return model.result_is_far
    if not model.traffic.has_rows_outside(plan):
        return False
    core, lines = model.core, _hints_of_results(model, replaced(plan, prefetch_result=True))
    computing = model.terms * model.accumulators(plan) / core.fma_ports / model.clock
    return computing >= BESIDE_HINTS * lines * model.far_latency / core.l1_misses


def asks_for_image(model: Model, plan: ConvolutionPlan) -> bool:
    """
    Whether an image that does not stay in L2 goes by once, in tiles that all weights are used with, on more pages by turns than
    prefetchers follow. The sums of a tile are long enough to bring the next one's part of it, which no tile before has read.
    """
    traffic = model.traffic
    is_apart = all(traffic.is_apart(axis) for axis in plan.outside)
    return traffic.has_rows_outside(plan) and is_apart and model.is_scattered(plan)


def image_terms_ahead(model: Model, plan: ConvolutionPlan) -> int:
    """How many terms ahead a tile asks for its elements of the image, where those of each channel are lines of their own."""
    c, channels = model.c, plan.summed[-2 if plan.window_inside else -1]
    step = model.step(plan.halo, c.left, channels) * c.left_bytes
    if plan.written_out or channels in c.window or step < model.line:
        return 0
    loads = model.loaded(plan, c.left) * model.shared(plan) + model.loaded(plan, c.right)
    lines = model.asked_lines(plan) + model.read_from_l2(plan) / model.terms / model.line
    terms = model.terms_of_channels(plan)
    in_parts = not (model.has_window or plan.block)
    has_others = plan.prefetch_result or plan.prefetch_image or plan.block_by_parts
    if terms >= 2 * BETWEEN_HINTS and has_others:
        in_parts = False  # of the length that is right for these
    return terms_ahead(model.core, model.accumulators(plan), loads, lines, terms, in_parts=in_parts)


def _in_whole_parts(plan: ConvolutionPlan) -> int:
    """
    How many terms ahead a tile asks for where its sums are in parts: as many as the least whole parts that are no fewer, if these are twice as many
    at most. The last parts then ask for the first terms of the next tile, and no others. (On Intel's Granite Rapids 128 outputs of 256 channels
    of 56 x 56 took 0.94 of the time with parts of 16 terms that ask 16 ahead, where they had asked 12 ahead.)
    """
    ahead, part = plan.prefetch_terms, plan.between_hints
    whole = round_up(ahead, part) if part else ahead
    return whole if whole <= 2 * ahead else ahead


def asks_for_weights(model: Model, plan: ConvolutionPlan) -> bool:
    """Whether weights leave L2 between calls, and are more than the part of the image that all of them go by for."""
    size = model.traffic.image / model.traffic.parts(plan)
    return model.result_is_far and model.traffic.weights > size


def _asks_a_page_ahead(model: Model, plan: ConvolutionPlan) -> bool:
    """
    Whether tiles ask for the weights of terms a page ahead: packed ones that come from beyond L2. Beside hints for the next block in parts of sums
    a hint in each term gains nothing. (With AVX2 on Intel's Granite Rapids 512 x 2048 outputs of 7 x 7 took 0.99 of the time without it, 2048 x 512
    1.01, 320 x 1280 0.98.)
    """
    in_vectors = plan.packs and plan.lanes in model.c.n
    return in_vectors and not plan.block_by_parts and asks_for_weights(model, plan)


def _with_blocks(model: Model, plan: ConvolutionPlan) -> ConvolutionPlan:
    """
    A plan whose tiles ask for the next block of weights, if that is one (`asks_for_blocks`): in each term where there is much of a cache line
    for it to ask for; else in each part of their sums, where these have parts, and it is worth going by parts. (On Intel's Granite Rapids, which
    has twice the bandwidth beyond L2 that is estimated of others, tiles of 5 x 16 over 2048 channels took 0.98 of the time so with AVX2, over 512
    channels 1.01, and 1.03 where all weights are in L2 and need not come.)
    """
    if not asks_for_blocks(model, plan):
        return _with(plan, prefetch_block=False, block_by_parts=False)
    if TIMES_ASKED * model.lines_of_block(plan) >= model.terms_of_tile(plan):
        return replaced(plan, prefetch_block=True, block_by_parts=False)
    asking = replaced(plan, prefetch_block=True, block_by_parts=True)
    asking = replaced(asking, prefetch_terms=image_terms_ahead(model, asking))
    by_parts = _comes_late(model, plan) and terms_between_hints(model, asking) > 0
    return replaced(asking, prefetch_block=by_parts, block_by_parts=by_parts)


def _comes_late(model: Model, plan: ConvolutionPlan) -> bool:
    """
    Whether a block of weights comes so much later than its first tile is computed that parts of sums are worth it. (On Intel's Granite Rapids
    1024 outputs of 14 x 14, of which 14 tiles wait for a twentieth of their time, took 1.02 of the time where they asked by parts.)
    """
    terms = model.terms_of_tile(plan)
    computing = terms * model.accumulators(plan) / model.core.fma_ports / model.clock
    waiting = model.traffic.block(plan) / model.weights_rate - computing
    return waiting > BEYOND * model.traffic.tiles(plan) * computing


def asks_for_blocks(model: Model, plan: ConvolutionPlan) -> bool:
    """
    Whether weights come from beyond L2, in blocks that are each in one piece and used by several tiles. L2 keeps a block beside what comes
    during one of these.
    """
    c, traffic = model.c, model.traffic
    cut = [axis for axis in c.n if plan.size(axis) < model.extents[axis]]
    if not asks_for_weights(model, plan) or plan.written_out or len(cut) != 1:
        return False
    if traffic.has_rows_outside(plan):
        return False
    tiles, block = traffic.tiles(plan), traffic.block(plan)
    weights = block * traffic.blocks(plan)
    step = (model.right[cut[0]] or 0) * c.right_bytes
    if tiles == 1 or not (plan.packs or step * model.extents[cut[0]] == weights):
        return False
    return block + (block + traffic.image_part(plan)) / tiles <= model.near_2


def terms_between_hints(model: Model, plan: ConvolutionPlan) -> int:
    """
    The terms of a part of a tile's sum, before each of which stand the hints for pieces that are apart in memory; 0 where a loop over
    the window is around many terms, or where a sum is short.

    Each of them in every term, or all at once before a tile, would take what the multiply-adds need: ports for its address, or
    places among the lines that L1 waits for. A part has so many terms that its hints are `LINES_AT_ONCE` at most, or half
    of these places where that is more. (On Intel's Granite Rapids parts of 16 terms with 7 hints took 0.97 of the time of parts of 8 with
    4, in tiles of 14 x 32 over 64 channels of 56 x 56; those of 32 took 0.99.)
    """
    *others, last = (model.extents[axis] for axis in plan.summed)
    if plan.written_out or any(extent > 1 for extent in others):
        return 0
    last = plan.depth or last
    if last < 2 * BETWEEN_HINTS:  # those of which each asks for the next one
        return 0 if model.has_window or plan.block else plan.prefetch_terms
    hints = _hints_of_results(model, plan) + _hints_of_image(model, plan)
    hints += model.lines_of_block(plan) if plan.block_by_parts else 0.0
    if not hints:
        ahead, is_alone = plan.prefetch_terms, not (model.has_window or plan.block)
        return ahead if ahead and is_alone and has_parts(last, ahead) else 0
    at_once = max(LINES_AT_ONCE, model.core.l1_misses // 2)
    most = min(BETWEEN_HINTS, int(at_once * last / hints))
    return next((terms for terms in range(most, LEAST_BETWEEN - 1, -1) if last % terms == 0), 0)


def _hints_of_results(model: Model, plan: ConvolutionPlan) -> float:
    """The lines of a tile of what it goes to and is finished with, if they are asked for."""
    if not plan.prefetch_result:
        return 0.0
    pieces = prod(size for axis, size in plan.tile if not model.is_along[axis])
    run = prod(size for axis, size in plan.tile if model.is_along[axis]) * model.c.result_bytes
    bytes_ = run if run % model.line == 0 else run + model.line - model.c.result_bytes
    return len(model.c.streams) * pieces * bytes_ / model.line


def _hints_of_image(model: Model, plan: ConvolutionPlan) -> float:
    """The lines of a tile's part of the image for each of the tiles that use it, if they are asked for."""
    if not plan.prefetch_image:
        return 0.0
    every = tuple((axis, model.extents[axis]) for axis in plan.summed)
    return model.touched(plan, model.c.left, every) / model.line / model.traffic.blocks(plan)
