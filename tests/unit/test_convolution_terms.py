"""How many terms of their sums the tiles of convolutions have in an iteration, and what one alone costs."""

from __future__ import annotations

import numpy as np
import pytest
import stepwell as sw
from stepwell.analysis.facts import Contraction
from stepwell.analysis.plans import convolution
from stepwell.analysis.plans.convolution_cost import Model
from stepwell.analysis.plans.convolution_plan import ConvolutionPlan
from stepwell.analysis.plans.terms_written_out import terms_of_convolution
from stepwell.frozen import replaced
from stepwell.targets.target import Target

from .planned_convolutions import convolution_of


def pixels_in_tiles(rows: int, target: Target) -> tuple[ConvolutionPlan, Contraction]:
    """A plan of a 1x1 convolution of 56 x 56 pixels with so many of them, of 32 channels, in a tile."""
    x, w = np.zeros((4, 64, 56, 56), np.float32), np.zeros((96, 64, 1, 1), np.float32)
    found = convolution_of(sw.jit(lambda x, w: sw.conv(x, w), target=target).lower(x, w))
    plan = next(
        plan
        for plan in convolution.propose(found, target, 10**6)
        if plan.lanes in found.n and plan.size(plan.lanes) == 32 and not plan.block
    )
    others = [axis for axis, _ in plan.tile[:-1] if axis in found.m]
    tile = ((others[-1], rows), plan.tile[-1])
    return replaced(plan, tile=tile), found


def test_an_iteration_has_two_terms_where_registers_allow_it():
    target = Target.of("sapphire-rapids")
    terms = {
        rows: terms_of_convolution(*pixels_in_tiles(rows, target), target.core)
        for rows in (6, 12, 13, 14)
    }
    assert terms[13] == terms[12] == 2 and terms[14] == 1 and terms[6] >= 2, terms


def test_one_term_an_iteration_takes_ports_where_control_has_the_same():
    """Half a cycle, of which two terms take half each: on cores whose additions have ports of their own, nothing."""
    for rows, charged in ((13, 0.0), (14, 0.25)):
        cycles: list[float] = []
        for name in ("sapphire-rapids", "sapphire-rapids:add_ports=2"):
            target = Target.parse(name)
            plan, found = pixels_in_tiles(rows, target)
            sizes = tuple(size for _, size in plan.tile)
            cycles.append(Model(found, target).tile_cycles(plan, sizes, 0.0, exact=True))
        assert cycles[0] - cycles[1] == pytest.approx(64 * charged), rows
