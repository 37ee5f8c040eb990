"""What the tiles of a convolution ask for before it is used: weights, blocks of them, and the image, from beyond L2."""

from __future__ import annotations

from ...frozen import replaced
from .convolution_cost import Model
from .convolution_plan import ConvolutionPlan
from .cost import terms_ahead

TIMES_ASKED = 3
"""How often a cache line is asked for at most, where tiles ask for one together: a hint costs what a load does."""


def with_hints(model: Model, plan: ConvolutionPlan) -> ConvolutionPlan:
    """A plan with the hints that its order of tiles has a use for."""
    plan = replaced(plan, prefetch_image=asks_for_image(model, plan))
    plan = replaced(plan, prefetch_terms=image_terms_ahead(model, plan))
    plan = replaced(plan, prefetch_weights=plan.packs and asks_for_weights(model, plan))
    return replaced(plan, prefetch_block=asks_for_blocks(model, plan))


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
    c, last = model.c, plan.summed[-1]
    step = model.step(plan.halo, c.left, last) * c.left_bytes
    if plan.written_out or last in c.window or step < model.line:
        return 0
    loads = model.loaded(plan, c.left) + model.loaded(plan, c.right)
    lines = model.image_lines(plan) + model.read_from_l2(plan) / model.terms / model.line
    return terms_ahead(model.core, model.accumulators(plan), loads, lines, model.terms_of_run(plan))


def asks_for_weights(model: Model, plan: ConvolutionPlan) -> bool:
    """Whether weights leave L2 between calls, and are more than the part of the image that all of them go by for."""
    size = model.traffic.image / model.traffic.parts(plan)
    return model.result_is_far and model.traffic.weights > size


def asks_for_blocks(model: Model, plan: ConvolutionPlan) -> bool:
    """
    Whether weights come from beyond L2, in blocks that are each in one piece and used by several tiles, though so few that
    a step of their sums has much of a cache line to ask for. L2 keeps a block beside what comes during one of these.
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
    has_room = block + (block + traffic.image_part(plan)) / tiles <= model.near_2
    return has_room and TIMES_ASKED * block / tiles >= model.terms * model.line
