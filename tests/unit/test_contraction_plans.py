"""What the plans of products follow from: the facts of the core, and not the names in the kernel."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import stepwell as sw
from stepwell.analysis.facts import Contraction, facts_of_loops, find_contractions
from stepwell.analysis.plans import contraction as plans
from stepwell.analysis.plans import dot_products
from stepwell.analysis.plans.contraction_copies import CODE_TWICE
from stepwell.analysis.plans.contraction_cost import Model
from stepwell.analysis.plans.contraction_hints import rows_ahead
from stepwell.analysis.plans.contraction_plan import ContractionPlan
from stepwell.analysis.plans.contraction_problem import problem_of, tiles
from stepwell.analysis.plans.cost import lost_part
from stepwell.analysis.plans.kernel_cost import contraction_plans
from stepwell.analysis.plans.terms_written_out import terms_of_product
from stepwell.dialects import loop
from stepwell.dialects.schedule.steps import Unroll
from stepwell.frozen import replaced
from stepwell.targets.core import Cache
from stepwell.targets.target import Target
from stepwell.tuning.families import Contractions
from stepwell.tuning.rules import kernels, schedule_with

from .products import first, nearest_bounds, product

CORES = ("icelake-server", "zen3", "zen4", "zen5", "sapphire-rapids", "emerald-rapids")


@pytest.fixture(scope="module")
def squares() -> dict[int, Contraction]:
    return {size: product(size, size, size) for size in (256, 1000, 1024, 2048)}


def seconds(contraction: Contraction, target: str) -> float:
    """The predicted time of the plan that is chosen."""
    core = Target.parse(target)
    return plans.cost(first(contraction, target), contraction, core).seconds


def unpacked_rows(contraction: Contraction, target: str) -> int:
    """MR of the best plan that reads A as it is."""
    every = plans.propose(contraction, Target.parse(target), 300)
    return next(plan.mr for plan in every if not plan.pack_left)


def price_of_reading_in_place(contraction: Contraction, target: str) -> float:
    """
    The predicted time of the best plan that reads nine rows or more of A as they are at a time, by that of the best one that packs
    them.
    """
    core = Target.parse(target)
    every = [plan for plan in plans.propose(contraction, core, 300) if plan.mr > 8]
    best = {
        packs: next(plan for plan in every if plan.pack_left is packs) for packs in (True, False)
    }
    times = {packs: plans.cost(plan, contraction, core).seconds for packs, plan in best.items()}
    return times[False] / times[True]


@pytest.mark.parametrize("size", [1024, 2048])
@pytest.mark.parametrize("core", CORES)
def test_a_larger_second_cache_has_larger_blocks(
    squares: dict[int, Contraction], core: str, size: int
):
    """
    Most of it, or half of that, holds the block of A or of B, or the panel of B, that all tiles across use, and two
    panels where the next one is asked for.
    """
    found = [first(squares[size], f"{core}:l2={megabytes}M") for megabytes in (1, 2, 4)]
    blocks = [
        (
            plan.nc
            if plan.innermost == "n"
            else plan.mc
            if plan.k_outside or plan.mc < size
            else plan.nr
        )
        + 2 * plan.nr * plan.prefetch
        for plan in found
    ]
    sizes = [block * plan.kc * 4 for block, plan in zip(blocks, found, strict=True)]
    assert sizes == sorted(sizes) and sizes[0] < sizes[-1]
    for bytes_, megabytes in zip(sizes, (1, 2, 4), strict=True):
        assert bytes_ <= megabytes << 20


@pytest.mark.parametrize("core", ["zen4", "sapphire-rapids"])
def test_rows_that_l1_keeps_are_asked_for_where_few_tiles_use_them(core: str):
    """Tiles of all rows ask for the same lines of a panel: each of them three times at most, or not at all."""
    target = Target.parse(core)
    for rows, terms, asks in ((16, 32, True), (192, 32, False), (192, 2048, True)):
        problem = problem_of(product(rows, 3136, terms))
        tile = (6, 4 * target.core.lanes(4))
        plan = ContractionPlan(
            False,
            *tile,
            rows,
            3136,
            terms,
            "m",
            True,
            False,
            False,
            False,
            False,
            False,
            False,
            False,
        )
        assert (rows_ahead(Model(problem, target), plan) > 0) == asks
        by_columns = replace(plan, mc=6, innermost="n")
        assert rows_ahead(Model(problem, target), by_columns) > 0
    small = problem_of(product(6, 96, 32))
    assert not rows_ahead(
        Model(small, target), ContractionPlan(False, 6, 48, 6, 96, 32, "m", *[False] * 5)
    )


@pytest.mark.parametrize(("terms", "goes_on"), [(32, True), (30, False), (200, False)])
def test_hints_of_short_sums_go_on_with_the_next_panel(terms: int, goes_on: bool):
    """They are in parts of as many terms as are asked for ahead: the last one asks for the next columns."""
    lanes = 4 * Target.of("host").core.lanes(4)
    weights = np.ones((16, terms), np.float32)
    low = sw.jit(lambda x: weights @ x).lower(np.ones((terms, 5 * lanes), np.float32))
    module = low.unscheduled()
    (kernel,) = kernels(module)
    facts = facts_of_loops(kernel).facts
    (found,) = find_contractions(facts)
    (choice,) = Contractions().propose(facts, Target.of("host"), 1)
    plan = ContractionPlan(
        False, 6, lanes, 16, 5 * lanes, terms, "m", True, False, True, False, False, False, False,
        False, prefetch_terms=8,
    )  # fmt: skip
    assert schedule_with(module, kernel, replace(choice, plan=plan), Target.of("host"))
    hints = [op for op in kernel.walk() if isinstance(op, loop.PrefetchOp)]
    written_out = terms_of_product(Target.of("host").core, 6, 4, in_pairs=True)
    assert len(hints) == written_out + 1 and found.extent(found.k) == terms
    for hint in hints:
        row, column = hint.map.data.results
        assert (f"floordiv {terms}" in f"{row} {column}") == goes_on


def test_terms_of_the_last_columns_stand_alone():
    """No hints are between them, and LLVM spills sums: only the tiles before them have two terms in an iteration."""
    a, b = np.zeros((512, 512), np.float32), np.zeros((512, 517), np.float32)
    target = Target.parse("icelake-server")
    module = sw.jit(lambda a, b: a @ b, target=target).lower(a, b).unscheduled()
    (kernel,) = kernels(module)
    (choice,) = Contractions().propose(facts_of_loops(kernel).facts, target, 1)
    assert isinstance(choice.plan, ContractionPlan)
    plan = replaced(choice.plan, nc=240, peel_n=True, prefetch_left=False, pack_in_tiles=False)
    made = schedule_with(module, kernel, replace(choice, plan=plan), target)
    assert made is not None
    unrolled = [step for step in made.steps if isinstance(step, Unroll) and step.factor == 2]
    assert len(unrolled) == 1


def test_blocks_of_k_are_outside_where_operands_leave_l2(squares: dict[int, Contraction]):
    """As in BLIS: panels of whole columns would leave room for few rows of A in a small L2."""
    chosen = {size: first(squares[size], "x86-64-v3") for size in (256, 2048)}
    assert not chosen[256].k_outside and chosen[2048].k_outside
    assert not first(squares[2048], "x86-64-v3:l2=8M").k_outside
    assert chosen[2048].kc < 2048 and chosen[2048].pack_right


@pytest.mark.parametrize("core", ["zen4", "zen5"])
def test_a_large_result_of_short_sums_is_written_along_its_rows(core: str):
    """Rows of 537 floats share lines, which tiles of columns in turn would each write a part of."""
    plan = first(product(2556, 537, 80), core)
    assert plan.innermost == "n" and not plan.prefetch_result  # prefetchers follow its rows


@pytest.mark.parametrize("core", ["zen4", "zen5", "sapphire-rapids"])
def test_fewer_registers_have_smaller_tiles(squares: dict[int, Contraction], core: str):
    for contraction in squares.values():
        areas: list[int] = []
        for registers in (16, 32):
            lanes = Target.parse(core).lanes(4)
            plan = first(contraction, f"{core}:registers={registers}")
            vectors = plan.nr // lanes
            assert plan.mr * vectors + vectors < registers, str(plan)
            areas.append(plan.mr * plan.nr)
        assert areas[0] < areas[1]


@pytest.mark.parametrize("core", CORES)
def test_a_faster_region_beyond_l2_takes_no_longer(squares: dict[int, Contraction], core: str):
    rates = ("2e9", "5e9", "10e9", "20e9", "50e9", "100e9")
    for size, contraction in squares.items():
        times = [seconds(contraction, f"{core}:beyond_l2={rate}") for rate in rates]
        # A plan whose code stands there twice has to gain a part of the time: where it no longer does, another one is up to so much slower.
        assert all(faster <= slower * (1 + CODE_TWICE) for slower, faster in pairwise(times)), (
            size,
            times,
        )
    assert seconds(squares[2048], f"{core}:beyond_l2={rates[0]}") > seconds(
        squares[2048], f"{core}:beyond_l2={rates[-1]}"
    )


def test_fewer_loads_in_a_cycle_have_wider_tiles(squares: dict[int, Contraction]):
    """A row of A takes a load for all vectors of B beside it."""
    core = Target.parse("sapphire-rapids:read_l1=128e9").core
    assert (core.load_ports, core.l1_ports) == (1, 2)
    assert core.loading_cycles(8, 4) == 9
    fewer, more = (first(squares[256], f"zen5:load_ports={ports}") for ports in (1.1, 2))
    assert fewer.nr > more.nr


def test_pages_at_random_leave_a_cache_before_it_is_full():
    level_2 = Cache(2, 1 << 20, 8)
    lost = [lost_part(level_2, 4096, part * level_2.bytes, 0) for part in (0.25, 0.5, 0.75, 1, 4)]
    assert lost == sorted(lost) and lost[0] < 0.001 and 0.01 < lost[2] < 0.2 and lost[-1] == 1
    assert lost_part(level_2, level_2.way_bytes, level_2.bytes, 0) == 0
    assert lost_part(level_2, 4096, level_2.bytes, 3 * level_2.way_bytes) > lost[3]


@pytest.mark.parametrize("core", CORES)
def test_more_ways_let_more_rows_share_a_set(squares: dict[int, Contraction], core: str):
    """Rows of 1024 floats are 4096 bytes apart, so that all of a tile's fall into one set of L1."""
    rows = [unpacked_rows(squares[1024], f"{core}:l1_ways={ways}") for ways in (8, 16)]
    assert rows == sorted(rows)
    if core == "zen4":
        excess = [price_of_reading_in_place(squares[1024], f"{core}:l1_ways={w}") for w in (8, 16)]
        assert excess[0] > 1.2 > excess[1]


@pytest.mark.parametrize("core", CORES)
def test_a_faster_core_takes_no_longer(squares: dict[int, Contraction], core: str):
    """Of facts that nothing else is estimated from."""
    for contraction in squares.values():
        usual = seconds(contraction, core)
        # Tiles pack where that gains a part of the time: a copy that is nearly as fast is made before them.
        most = usual * (1 + CODE_TWICE)
        assert seconds(contraction, f"{core}:pack_near=500e9,pack_far=500e9") <= most
        assert seconds(contraction, f"{core}:fma_latency=2") <= usual


@pytest.mark.parametrize("rest", [20, 22, 26])
def test_the_last_columns_are_copied_once(rest: int):
    """They are padded to whole vectors in a copy, which all tiles of rows use."""
    a, b = np.zeros((60, 300), np.float32), np.zeros((300, 96 + rest), np.float32)
    low = sw.jit(lambda a, b: a @ b, target="sapphire-rapids").lower(a, b)
    module = low.unscheduled()
    (kernel,) = kernels(module)
    target = Target.parse("sapphire-rapids")
    choices = [
        choice
        for choice in Contractions().propose(facts_of_loops(kernel).facts, target, 300)
        if isinstance(choice.plan, ContractionPlan)
        and choice.plan.innermost == "n"
        and choice.plan.peel_n
        and not choice.plan.pack_right
        and not choice.plan.turned
    ]
    assert schedule_with(module, kernel, choices[0], target) is not None
    copies = [
        op
        for op in kernel.walk()
        if isinstance(op, loop.AllocOp) and op.scope.data is loop.Scope.ARENA
    ]
    assert len(copies) == 1 and copies[0].parent_op() is kernel


def test_rows_in_lanes_pay_for_a_result_that_is_stored_element_by_element():
    """Of A.T @ B.T, rows in lanes spare the transposition of B, which is a part of what the stores take more."""
    a, b = np.zeros((1024, 1024), np.float32), np.zeros((1024, 1024), np.float32)
    product = sw.jit(lambda a, b: a.T @ b.T, target="sapphire-rapids", threads=1)
    assert "rows in lanes" not in str(product.lower(a, b).plan()).splitlines()[1]


def test_weights_that_are_packed_before_the_call_come_from_where_they_are():
    """Packing an argument brings it near; packed weights that leave L2 between calls come from beyond it once at least."""
    w, target = np.zeros((768, 2304), np.float32), Target.parse("icelake-server")
    (kernel,) = kernels(
        sw.jit(lambda x: x @ w).lower(np.zeros((64, 768), np.float32)).unscheduled()
    )
    (found,) = find_contractions(facts_of_loops(kernel).facts)
    for plan in plans.propose(found, target, 20):
        terms = dict(plans.cost(plan, found, target).terms)
        assert terms["streaming B"] > 0.1 * w.nbytes / target.rates.beyond_l2.core


@pytest.mark.parametrize("target", CORES)
def test_what_is_computed_transposed_leaves_by_elements_wherever_it_goes(target: str):
    """Of one term the result is all that takes time: also in L2 its rows are stored in vectors."""
    assert not first(product(64, 2000, 1), target).turned
    assert not first(product(340, 80, 1), target).turned


def test_rows_on_more_pages_than_a_core_keeps_are_packed():
    """
    Each tile of rows that is read in place begins on pages of its own, whose addresses are gone by the next block of
    columns. Few rows are on fewer pages, and wait for these together.
    """

    def in_place(contraction: Contraction, entries: int | None) -> float:
        core = Target.parse("zen4").with_core(tlb_pages=entries)
        every = [plan for plan in plans.propose(contraction, core, 300) if not plan.pack_left]
        of_all = [plan for plan in every if plan.innermost == "n" or plan.mc >= len_of(contraction)]
        return min(plans.cost(plan, contraction, core).seconds for plan in of_all)

    def len_of(contraction: Contraction) -> int:
        return contraction.extent(contraction.m)

    many, few = product(1920, 1097, 1402), product(96, 1097, 1402)
    assert in_place(many, 3072) > 1.01 * in_place(many, None)
    assert in_place(few, 3072) == in_place(few, None)
    chosen = first(many, "zen4")
    assert chosen.pack_left or 8 * chosen.mc < 1920


@pytest.mark.parametrize("rows", [64, 128, 197, 1024])
def test_panels_of_long_sums_are_asked_for_ahead(rows: int):
    """
    Two panels of 3072 terms are more than L2 keeps beside rows of A: of a part of the terms they are not. And where rows are some
    pages apart, tiles of no more rows than L1 has ways read them as they are.
    """
    plan = first(product(rows, 768, 3072, with_weights=True), "zen4")
    assert plan.prefetch and plan.kc < 3072 and 3072 % plan.kc == 0, str(plan)
    panels = plan.kc * (min(plan.mc, rows) + 2 * plan.nr) * 4
    assert panels <= 3 << 18, str(plan)
    assert not plan.pack_left and plan.mr == 8 and plan.peel_m is (rows % 8 > 0), str(plan)


@pytest.mark.parametrize(("entries", "is_far"), [(2, False), (36, True)])
def test_weights_of_each_entry_of_a_batch_come_from_beyond_l2(entries: int, is_far: bool):
    """One matrix of 256 KB stays in L2 from call to call, and all of a batch do not: what the next tiles use is asked for ahead."""
    weights = np.zeros((entries, 256, 256), np.float32)
    low = sw.jit(lambda a: a @ weights).lower(np.zeros((entries, 16, 256), np.float32))
    (kernel,) = kernels(low.unscheduled())
    (found,) = find_contractions(facts_of_loops(kernel).facts)
    target = Target.parse("zen5")
    plan = first(found, "zen5")
    terms = dict(plans.cost(plan, found, target).terms)
    assert plan.prefetch is is_far, str(plan)
    assert (terms["streaming B"] > 0) is is_far, str(plan)


@pytest.mark.parametrize(
    "shape",
    [(256, 256, 256), (1000, 1000, 1000), (55, 2, 1399), (472, 834, 439), (848, 1908, 1813)],
)
@pytest.mark.parametrize("core", CORES)
def test_plans_that_are_not_looked_at_are_not_the_cheapest(
    core: str, shape: tuple[int, int, int]
) -> None:
    """When all plans are asked for, each is worked out whole."""
    contraction, target = product(*shape), Target.parse(core)
    every = plans.propose(contraction, target, 1 << 20)
    times = [plans.cost(plan, contraction, target).rank for plan in every]
    assert times == pytest.approx(sorted(times), rel=1e-12)
    for count in (1, 3):
        assert plans.propose(contraction, target, count) == every[:count]


@pytest.mark.parametrize("kind", [{}, {"turned": True}, {"with_weights": True}])
@pytest.mark.parametrize("core", (*CORES, "sapphire-rapids:tile_rows_long=90e9,tile_rows_far=90e9"))
def test_no_plan_takes_less_than_its_blocks_say(core: str, kind: dict[str, bool]) -> None:
    """Rows of A as they are, and its columns; weights come from beyond L2 the first time, too."""
    near = nearest_bounds(product(848, 1908, 1813, **kind), Target.parse(core))
    assert near["m"] > 0.5 and near["n"] > 0.1, near


@pytest.mark.parametrize("core", CORES)
def test_no_plan_takes_less_than_its_blocks_say_where_rows_are_computed(core: str) -> None:
    """Tiles find rows that are computed for a block of them in a copy, and do not wait for rows as they are."""
    nearest_bounds(product(1000, 500, 1000, computed=True), Target.parse(core))


@pytest.mark.parametrize(
    "shape", [(256, 256, 256), (55, 2, 1399), (8, 9, 4096), (64, 16, 512), (848, 1908, 1813)]
)
@pytest.mark.parametrize("core", CORES)
def test_dot_products_that_are_not_looked_at_are_not_the_cheapest(
    core: str, shape: tuple[int, int, int]
) -> None:
    """They are left out where the tiles' best plan is faster than any of them can be."""
    contraction, target = product(*shape), Target.parse(core)
    every = dot_products.propose(contraction, target, 1 << 20)
    least = dot_products.least_seconds(contraction, target)
    times = [dot_products.cost(plan, contraction, target).seconds for plan in every]
    assert every and all(time >= least for time in times)
    one, several = (contraction_plans(contraction.facts, target, n) for n in (1, 4))
    assert one[0] == several[0]


@pytest.mark.parametrize("core", CORES)
def test_tiles_of_a_square_are_faster_than_any_dot_products(
    squares: dict[int, Contraction], core: str
) -> None:
    for size in (256, 1000):
        least = dot_products.least_seconds(squares[size], Target.parse(core))
        assert seconds(squares[size], core) < least


@pytest.mark.parametrize(("m", "n"), [(52, 13), (53, 32), (52, 49), (30, 5), (40, 100)])
@pytest.mark.parametrize("peels", [(False, False), (True, False), (False, True), (True, True)])
def test_tiles_cover_the_result_once(m: int, n: int, peels: tuple[bool, bool]):
    """Fewer columns than a tile has are one tile, and not two."""
    counted = list(tiles(problem_of(product(m, n, 8)), 26, 16, peels))
    assert sum(count for count, _, _ in counted) == -(-m // 26) * -(-n // 16)
    if peels == (True, True):
        assert sum(count * rows * columns for count, rows, columns in counted) == m * n


@pytest.mark.parametrize("core", CORES)
def test_tiles_of_all_widths_are_looked_at(core: str):
    """Wide ones compute faster, but narrow panels of B stay in L1 and may need no copy."""
    contraction, target = product(53, 43, 224), Target.parse(core)
    widths = {plan.nr for plan in plans.propose(contraction, target, 1 << 20)}
    assert widths >= set(range(target.core.lanes(4), max(widths), target.core.lanes(4))), widths


def test_dot_products_write_their_result_beyond_l2():
    """It is read and written once, as by other plans, and not where it stays there."""
    target = Target.parse("generic")
    small, large = product(64, 64, 200), product(500, 1000, 200)
    plan = dot_products.propose(large, target)[0]
    waits, none = (
        dict(dot_products.cost(plan, each, target).terms)["writing C"] for each in (large, small)
    )
    assert none == 0
    assert waits == pytest.approx(2 * 500 * 1000 * 4 / target.rates.beyond_l2.core)


@pytest.mark.parametrize("core", CORES)
def test_dot_products_of_a_batch_wait_for_what_leaves_l2_between_entries(core: str):
    """Each entry's operands would stay in L2; those of all entries come from beyond it, each once."""
    target = Target.parse(core)
    x, w = np.zeros((64, 4, 512), np.float32), np.zeros((64, 512, 512), np.float32)
    (kernel,) = kernels(sw.jit(lambda x: x @ w).lower(x).unscheduled())
    (facts,) = find_contractions(facts_of_loops(kernel).facts)
    plan = dot_products.propose(facts, target)[0]
    waiting = dict(dot_products.cost(plan, facts, target).terms)["streaming"]
    assert waiting > 0.5 * 64 * 512 * 512 * 4 / target.rates.beyond_l2.core


@pytest.mark.parametrize("core", CORES)
def test_rows_from_beyond_l2_are_read_by_tiles_of_all_columns(core: str):
    """Dot products wait for the rows whatever the tile: for a part of the time the one that computes least is quicker."""
    contraction, target = product(1828, 4, 2385), Target.parse(core)
    plan = dot_products.propose(contraction, target)[0]
    assert plan.nr == 4 and plan.prefetch, str(plan)
    rate = target.rates.beyond_l2.core
    assert dot_products.cost(plan, contraction, target).seconds > 4 * 1828 * 2385 / rate


@pytest.mark.parametrize(
    ("columns", "wide", "narrow"),
    [(196, 3 / 4, 1 / 4), (49, 15 / 16, 7 / 16), (784, 0, 0), (200, 1 / 2, 0)],
)
def test_rows_that_are_no_whole_vectors_have_vectors_across_lines(columns, wide, narrow):
    """The first row begins with a line. With AVX2 each second vector of a row that begins amid one lies across two lines."""
    low = sw.jit(lambda x, w: w @ x).lower(
        np.zeros((64, columns), np.float32), np.zeros((96, 64), np.float32)
    )
    (found,) = find_contractions(facts_of_loops(kernels(low.unscheduled())[-1]).facts)
    right = replace(problem_of(found).right, may_split=False)
    for name, share in (("zen4", wide), ("zen3", narrow)):
        core = Target.of(name).core
        assert right.split_part(core, is_packed=False) == share
        assert right.split_part(core, is_packed=True) == 0
        anywhere = replace(right, may_split=True)
        assert anywhere.split_part(core, is_packed=False) == core.vector_bits / 512


@pytest.mark.parametrize("columns", [8, 16])
def test_one_panel_of_all_columns_has_no_next_one_to_ask_for(columns: int):
    """The loop over panels is gone then, and steps that stand in it were refused: blocked layers ran as they were written."""
    x, w = np.zeros((20, 49, 960), np.float32), np.zeros((20, 960, columns), np.float32)
    low, target = sw.jit(lambda x: x @ w).lower(x), Target.of("x86-64-v3")
    for number in range(20):
        module = low.unscheduled()
        (function,) = kernels(module)
        found = Contractions().propose(facts_of_loops(function).facts, target, 20)
        plan = found[number].plan
        if isinstance(plan, ContractionPlan) and plan.innermost == "m" and plan.nr == columns:
            assert not plan.prefetch or plan.kc < 960, plan
            assert schedule_with(module, function, found[number], target) is not None, plan
