"""Which products pack B in the tiles that use it, or read it where L1 keeps it, and what the plans that do gain."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import stepwell as sw
from stepwell.analysis.facts import Contraction, facts_of_loops, find_contractions
from stepwell.analysis.plans import contraction as plans
from stepwell.analysis.plans.contraction_cost import Model
from stepwell.analysis.plans.contraction_problem import problem_of
from stepwell.analysis.plans.kernel_cost import contraction_plans
from stepwell.targets.target import Target
from stepwell.tuning.rules import kernels

from .products import first, product

CORES = ("icelake-server", "zen3", "zen4", "zen5", "sapphire-rapids")


@pytest.fixture(scope="module")
def squares() -> dict[int, Contraction]:
    return {size: product(size, size, size) for size in (256, 1000, 1024, 2048)}


def test_tiles_pack_where_hints_are_in_time(squares: dict[int, Contraction]):
    """As many lines as L1 waits for come in each latency: where that is long, a copy of longer pieces is faster."""
    contraction = product(128, 3072, 768)
    assert first(contraction, "zen5").pack_in_tiles
    assert not first(contraction, "zen5:chase_l3=3e8,chase_memory=3e8").pack_in_tiles


def test_tiles_pack_pieces_of_rows_that_are_apart_and_far(squares: dict[int, Contraction]):
    """A copy would wait for each of these pieces. B of 256 columns has rows that prefetchers follow, and L2 has all of a small one."""
    plan = first(squares[1024], "zen5")
    assert plan.pack_in_tiles and plan.prefetch_terms > 0
    target, contraction = Target.parse("zen5"), squares[1024]
    apart = replace(plan, pack_in_tiles=False, prefetch_terms=0)
    waits, hides = (
        dict(plans.cost(each, contraction, target).terms)["packing B"] for each in (apart, plan)
    )
    assert waits > 1.25 * hides
    assert not any(p.pack_in_tiles for p in plans.propose(product(1024, 256, 1024), target))
    assert not any(p.pack_in_tiles for p in plans.propose(product(64, 1024, 128), target))


def test_tiles_pack_what_is_in_l2_where_that_gains_enough():
    """Of many rows the copy is a small part of the time, and not worth the code of another tile."""
    for rows, packs in ((96, True), (256, True), (4096, False)):
        plan = first(product(rows, 256, 256), "sapphire-rapids")
        assert plan.pack_right and plan.pack_in_tiles == plan.packs_from_l2 == packs, plan
    plan = first(product(256, 256, 256), "sapphire-rapids")
    assert 0 < plan.prefetch_terms == plan.prefetch_panel_terms


def test_tiles_of_short_sums_do_not_pack():
    """Nothing hides their stores; of one term there is no loop in which they could stand."""
    target = Target.parse("sapphire-rapids")
    for terms, packs in ((1, False), (4, False), (16, False), (64, True)):
        every = plans.propose(product(159, 480, terms), target, 300)
        assert any(plan.pack_in_tiles for plan in every) == packs, terms


def test_tiles_do_not_pack_from_l2_what_the_result_has_left_nothing_of():
    """Their hints come too late for what is beyond: on a Granite Rapids core such plans took 1.01 to 1.03 of the time of others."""
    target = Target.parse("sapphire-rapids")
    for columns, packs in ((512, True), (3136, False)):
        contraction = product(256, columns, 64)
        model = Model(problem_of(contraction), target)
        assert not model.far_share(model.problem.right) and (model.result_share < 1) == packs
        every = plans.propose(contraction, target, 300)
        assert any(plan.packs_from_l2 for plan in every) == packs, columns


def test_the_result_takes_the_place_of_b_in_l2():
    """What has left L2 since the last call comes from beyond to be copied, though both operands would have stayed there."""
    target = Target.parse("sapphire-rapids")
    rates = target.rates

    def copying(size: int) -> float:
        contraction = product(size, size, size)
        model = Model(problem_of(contraction), target)
        plan = next(p for p in plans.propose(contraction, target, 300) if p.pack_right)
        plan = replace(plan, pack_in_tiles=False, packs_from_l2=False, prefetch_terms=0)
        assert not model.far_share(model.problem.right)
        seconds = dict(plans.cost(plan, contraction, target).terms)["packing B"]
        moved = model.moved_by_copy(4 * size * size, 4 * size * size) * 4 * size * size
        return (seconds - moved / model.beyond_l2.rate) / (4 * size * size)

    assert copying(256) == pytest.approx(1 / rates.pack_near.core)
    assert 1.05 / rates.pack_near.core < copying(416) < 1 / rates.pack_far.core


def test_what_tiles_pack_from_l2_takes_less_than_a_copy():
    contraction, target = product(256, 256, 256), Target.parse("sapphire-rapids")
    plan = first(contraction, "sapphire-rapids")
    apart = replace(plan, pack_in_tiles=False, packs_from_l2=False, prefetch_terms=0)
    copied, hidden = (
        dict(plans.cost(each, contraction, target).terms)["packing B"] for each in (apart, plan)
    )
    assert 0 < hidden < 0.25 * copied
    # Rows on more pages than are translated at once are found anew for each panel.
    wider = product(256, 512, 256)
    far = dict(plans.cost(replace(plan, nc=512), wider, target).terms)["packing B"]
    assert far > 2.5 * hidden


def test_the_last_columns_may_be_in_a_block_with_others():
    """Fewer blocks then read A, and none of one narrow tile: such a plan has to gain what its code is worth."""
    contraction, target = product(1024, 1024, 1024), Target.parse("sapphire-rapids")
    every = plans.propose(contraction, target, 1 << 20)
    shared = [plan for plan in every if plan.peels_in_block(1024)]
    assert shared and all(1024 % plan.nr < 1024 % plan.nc for plan in shared)
    least, chosen = (plans.cost(plan, contraction, target) for plan in (shared[0], every[0]))
    assert least.seconds < chosen.seconds == chosen.rank < least.rank
    assert first(product(2259, 355, 1546), "sapphire-rapids").peels_in_block(355)


@pytest.mark.parametrize("core", CORES)
def test_of_several_plans_the_first_is_the_one_that_is_chosen(core: str) -> None:
    """Also where another one takes less, and has to gain more."""
    for size in (256, 512, 1024):
        facts, target = product(size, size, size).facts, Target.parse(core)
        several = contraction_plans(facts, target, 3)
        assert several[0] == contraction_plans(facts, target, 1)[0]


def test_plans_of_a_batch_are_in_the_order_in_which_they_are_chosen() -> None:
    """What its code has to gain is a part of the time of all entries, which are packed one by one."""
    x, target = np.zeros((8, 96, 96), np.float32), Target.parse("sapphire-rapids")
    (kernel,) = kernels(sw.jit(lambda a, b: a @ b).lower(x, x).unscheduled())
    (contraction,) = find_contractions(facts_of_loops(kernel).facts)
    every = plans.propose(contraction, target, 60)
    assert len({plan.packs_from_l2 for plan in every}) == 2
    ranks = [plans.cost(plan, contraction, target).rank for plan in every]
    assert ranks == pytest.approx(sorted(ranks), rel=1e-9)


def test_a_block_of_b_that_stays_in_l1_comes_there_once():
    """All tiles of rows use it with N innermost: nothing asks L1 for it again. Of twice the terms it does not stay."""
    target = Target.parse("sapphire-rapids")
    for terms, stays in ((32, True), (64, True), (128, False)):
        problem = problem_of(product(1960, 96, terms))
        model = Model(problem, target)
        plan = next(
            plan
            for plan in plans.propose(product(1960, 96, terms), target, 300)
            if plan.innermost == "n" and plan.nc == 96 and plan.pack_right and plan.nr == 48
        )
        (_, right), _ = model.brought(plan, packs_right=True)
        assert (right == 4 / -(-1960 // plan.mr)) == stays
        assert (plan.prefetch_panel_terms == 0) == stays, plan


def test_tiles_pack_no_columns_that_are_fewer_than_theirs():
    """Their own tiles stand behind the loop over whole ones, which makes the copy."""
    target = Target.parse("sapphire-rapids")
    found = [*plans.propose(product(700, 700, 1500), target, 1000)]
    in_one_block = {plan.pack_in_tiles for plan in found if plan.k_outside and plan.nc == 700}
    assert in_one_block == {False}
    assert all(plan.nc % plan.nr == 0 for plan in found if plan.pack_in_tiles)
    assert any(plan.pack_in_tiles for plan in found)
