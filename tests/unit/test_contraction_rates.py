"""What plans of products are charged with, by the rates that a probe measures of tiles and caches."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import pytest
from stepwell.analysis.facts import Contraction
from stepwell.analysis.plans import contraction as plans
from stepwell.analysis.plans.contraction_copies import packing
from stepwell.analysis.plans.contraction_cost import Model
from stepwell.analysis.plans.contraction_hints import asks_for_result, panel_terms_ahead
from stepwell.analysis.plans.contraction_plan import Blocks, ContractionPlan, Innermost
from stepwell.analysis.plans.contraction_problem import problem_of
from stepwell.analysis.plans.cost import TileSteps, issued, unhidden_part
from stepwell.analysis.plans.shared_core import NEIGHBOURED
from stepwell.analysis.plans.terms_written_out import terms_between_hints, terms_of_product
from stepwell.frozen import replaced
from stepwell.targets.rates import Rate, Source
from stepwell.targets.target import Target

from .products import first, product


@pytest.fixture(scope="module")
def squares() -> dict[int, Contraction]:
    return {size: product(size, size, size) for size in (256, 1024, 2048)}


def packed(mr: int, nr: int, blocks: Blocks) -> ContractionPlan:
    """A plan with these tiles and blocks that packs both operands and asks for its result."""
    mc, nc, kc, innermost, k_outside = blocks
    return ContractionPlan(
        turned=False,
        mr=mr,
        nr=nr,
        mc=mc,
        nc=nc,
        kc=kc,
        innermost=innermost,
        pack_left=True,
        pack_right=True,
        peel_m=False,
        peel_n=False,
        prefetch=False,
        prefetch_result=True,
        k_outside=k_outside,
    )


def test_what_a_tile_loses_in_l1_is_no_wait_for_l2():
    """Of two cores whose tile is as slow with operands in L2, one is as slow in L1: there L2 costs less, and all tiles take longer."""
    near = Target.parse("zen5:tile_near=200e9")
    in_l1 = Target.parse("zen5:tile_near=200e9,tile_in_l1=210e9")
    assert 2 < issued(in_l1) < 8 < issued(near) == inf
    assert unhidden_part(in_l1) < 0.5 * unhidden_part(near)
    tiles = [TileSteps.of(target).cycles(9, 3, (0, 0)) for target in (near, in_l1)]
    assert 1.1 < tiles[1] / tiles[0] < 1.25
    both = [TileSteps.of(target).cycles(9, 3, (4, 64)) for target in (near, in_l1)]
    assert both[0] == pytest.approx(both[1], rel=0.05), "the rate that was probed"


def test_a_core_that_begins_few_instructions_likes_wide_tiles(squares: dict[int, Contraction]):
    """They broadcast fewer elements for each multiply-add; tiles of one vector broadcast by their multiply-adds."""
    free, half = (
        Target.parse("sapphire-rapids"),
        Target.parse("sapphire-rapids:tile_in_l1=108e9,tile_near=104e9"),
    )

    def lost(rows: int, vectors: int) -> float:
        terms = [TileSteps.of(target).cycles(rows, vectors, (0, 0)) for target in (free, half)]
        return terms[1] / terms[0]

    assert 1.2 < lost(14, 2) < 1.3
    assert 1.1 < lost(6, 4) < lost(9, 3) < lost(14, 2)
    assert 1 < lost(28, 1) < lost(6, 4)


def test_terms_stand_in_pairs_where_multiply_adds_load_by_themselves():
    """Elements take no registers then: also in tiles that are long beside their control, and without hints."""
    core = Target.parse("emerald-rapids").core
    for rows, vectors, own in ((14, 2, True), (13, 2, True), (9, 3, False), (4, 6, False)):
        terms = [
            terms_of_product(core, rows, vectors, in_pairs=False, own_loads=own_loads)
            for own_loads in (False, True)
        ]
        assert terms == [1, 2 if own else 1]
    assert terms_of_product(core, 15, 2, in_pairs=False, own_loads=True) == 1


def test_beside_neighbours_terms_of_few_instructions_lose_least(squares: dict[int, Contraction]):
    """
    Tiles two vectors wide have least where their multiply-adds load by themselves, but not where terms ask L1 for lines of B: then the loads of the
    elements are instructions, too. Where it was not measured that own loads are free, nobody counts on neighbours.
    """
    own, shared = (
        TileSteps.of(Target.parse(f"emerald-rapids:own_loads={slowdown}"))
        for slowdown in (1.0, 1.07)
    )

    def of_sums(steps: TileSteps, rows: int, vectors: int, hints: int = 0) -> float:
        cycles = steps.cycles(rows, vectors, (0, 0), 0, 0, 1, hints)
        return 2 * cycles / (rows * vectors)

    tiles = (14, 2), (9, 3), (6, 4)
    lost = {tile: of_sums(own, *tile) / of_sums(shared, *tile) for tile in tiles}
    assert lost[14, 2] < lost[6, 4] < lost[9, 3]
    assert of_sums(own, 14, 2) < 1.03 < of_sums(own, 9, 3)
    assert of_sums(own, 14, 2, hints=3) > 1.05 * of_sums(own, 14, 2)
    assert of_sums(shared, 14, 2, hints=3) == of_sums(shared, 14, 2)
    # B of 512 rows, read as it is in L2, is asked for by each term: it is packed where neighbours are counted on.
    alone, beside = (
        first(product(512, 512, 512), f"emerald-rapids:own_loads={slowdown}")
        for slowdown in (1.07, 1.0)
    )
    assert beside.pack_right and beside.nr == 32 and not alone.pack_right


def test_rows_that_begin_in_one_bank_are_charged_beside_neighbours():
    """Those of 1040 floats begin at the same place in a line, those of 1042 do not; where nobody counts on neighbours it is the same."""

    def of_rows(terms: int, slowdown: float) -> float:
        target = Target.parse(f"emerald-rapids:own_loads={slowdown}")
        model = Model(problem_of(product(400, 400, terms)), target)
        plan = replaced(packed(10, 32, (10, 384, terms, "n", False)), pack_left=False)
        return model.colliding(plan, 32) / model.computing(32)

    assert of_rows(1040, 1.0) == pytest.approx(0.025) and of_rows(1042, 1.0) == 0
    assert of_rows(1040, 1.07) == 0


def test_neighbours_take_half_of_l2():
    """A block that fits half of it comes as often as alone; the more of one does not, the more of its uses find nothing left."""
    beside, alone = (
        Model(problem_of(product(400, 400, 400)), Target.parse(f"emerald-rapids:own_loads={s}"))
        for s in (1.0, 1.07)
    )
    half = beside.near_2 / 2
    assert beside.beside_neighbours(1, 9, half) == 1
    assert beside.beside_neighbours(1, 9, 1.5 * half) == 1 + NEIGHBOURED * 4
    assert beside.beside_neighbours(1, 9, 3 * half) == 1 + NEIGHBOURED * 8
    assert alone.beside_neighbours(1, 9, 3 * half) == 1


def test_a_wider_tile_is_tried_beside_the_best_of_one_width():
    """On Emerald Rapids the best five are two vectors wide, as their multiply-adds load by themselves; wider ones read A less often."""
    every = plans.propose(product(1000, 1000, 1000), Target.parse("emerald-rapids"), 500)
    assert {16, 32, 48} <= {plan.nr for plan in every}


def test_rows_of_b_that_share_sets_of_l1_come_from_l2_for_each_tile():
    """Rows of 1024 bytes fall into a few sets. Of 1152 bytes, L1 keeps as many as are in a panel, and it keeps any copy."""

    def of_a_tile(columns: int, *, packs: bool) -> float:
        contraction, target = product(256, columns, 128), Target.parse("icelake-server")
        blocks = {"mc": 256, "nc": columns, "kc": 128, "peel_m": False, "peel_n": False}
        plan = replace(
            plans.propose(contraction, target)[0],
            mr=8,
            nr=32,
            innermost="m",
            pack_right=packs,
            **blocks,
        )
        terms = dict(plans.cost(plan, contraction, target).terms)
        return terms["arithmetic"] / (columns // 32)

    assert of_a_tile(256, packs=False) > 1.02 * of_a_tile(288, packs=False)
    assert of_a_tile(256, packs=True) == pytest.approx(of_a_tile(288, packs=True))


def test_rows_are_asked_for_where_that_gains(squares: dict[int, Contraction]):
    """Where it was measured that prefetchers find rows as soon as hints do, there are none; they are where nothing is known."""
    assert first(squares[2048], "zen5").prefetch_left
    assert first(squares[2048], "zen5:tile_rows_far=230e9,tile_rows_asked=250e9").prefetch_left
    assert not first(squares[2048], "zen5:tile_rows_far=250e9,tile_rows_asked=252e9").prefetch_left


def test_rows_from_beyond_l2_wait_as_long_as_the_probed_tile_beside_long_rows_in_l2():
    """Nothing where that tile loses as much by rows as long that stay in L2, and once: what was probed holds all of it."""
    blocks = (9, 96, 2164, "n", False)
    plan = replace(packed(9, 48, blocks), pack_left=False)
    contraction = product(2114, 2716, 2164)

    def waiting(long: int, far: int) -> float:
        target = Target.parse(
            f"sapphire-rapids:tile_near=110e9,tile_rows_near=110e9,tile_rows_long={long}e9,tile_rows_far={far}e9"
        )
        return dict(plans.cost(plan, contraction, target).terms)["streaming A"]

    work = (
        2 * 4 * 48 / 4
    )  # multiply-adds and additions for each byte of rows that come for four panels
    bytes_ = -(-2716 // 96) * 4 * 2114 * 2164
    assert waiting(100, 100) == waiting(90, 90)
    probed = bytes_ * work * (1 / 80e9 - 1 / 100e9)
    assert waiting(100, 80) == pytest.approx(probed, rel=0.01)


@pytest.mark.parametrize("source", ["measured", "busy"])
def test_rows_in_one_set_of_l1_take_as_much_longer_as_was_probed(source: Source):
    """On a busy machine, too: the formula knows nothing of what is under way meanwhile."""
    target = Target.parse("sapphire-rapids")
    probed = replace(target, found=(*target.found, ("strided_14", Rate(1.05, 1.05, source))))
    plan = replace(packed(13, 32, (13, 256, 1024, "n", False)), pack_left=False)
    formula, known = (
        dict(plans.cost(plan, product(1024, 1024, 1024), each).terms)["streaming A"]
        for each in (target, probed)
    )
    assert known < 0.5 * formula


def test_panels_from_l2_are_asked_for_where_that_gains(squares: dict[int, Contraction]):
    """A tile has to lose something by what comes from L2, and no more with hints. What was gained is not waited for."""
    assert first(squares[1024], "sapphire-rapids").prefetch_panel_terms
    assert not first(squares[1024], "zen5").prefetch_panel_terms  # which loses less than 1 % in L2
    slow = "zen5:tile_in_l1=260e9,tile_near=230e9,tile_near_asked={}e9"
    asked, idle = (Target.parse(slow.format(rate)) for rate in (245, 229))
    plan = first(squares[1024], slow.format(245))
    vectors = plan.nr // 16
    under_way = asked.core.terms_under_way(plan.mr * vectors, plan.mr + vectors)
    assert plan.prefetch_panel_terms == int(under_way)
    assert not first(squares[1024], slow.format(229)).prefetch_panel_terms
    times = [dict(plans.cost(plan, squares[1024], each).terms) for each in (asked, idle)]
    assert times[0]["arithmetic"] < 0.97 * times[1]["arithmetic"]


def test_short_sums_do_not_ask_for_the_result():
    """
    Their tiles wait for what they load themselves, behind the hints; those of blocks of a sum that are added up ask however short they are, and
    of whole sums tiles that are on other rows than the one before, or finished with what they load.
    """
    for target, long_asks in (("sapphire-rapids", True), ("sapphire-rapids:chase_l3=0.1e9", False)):
        for terms, asks in ((64, False), (512, long_asks)):
            known = Model(problem_of(product(1024, 1024, terms)), Target.parse(target))
            finished = replace(known.problem, is_finished=True, finished_with=4)
            for problem, innermost, expected in (
                (known.problem, "m", asks),
                (known.problem, "n", False),
                (finished, "n", asks),
            ):
                blocks = (1024 if innermost == "m" else 9, 1024, terms, innermost, False)
                assert asks_for_result(known, problem, 9, 48, blocks, turned=False) == expected
    known = Model(problem_of(product(1024, 1024, 2048)), Target.parse("sapphire-rapids"))
    assert asks_for_result(known, known.problem, 9, 48, (9, 1024, 32, "n", True), turned=False)


def test_panels_that_l1_keeps_are_not_asked_for():
    contraction = product(512, 512, 1024)
    near, far = (packed(9, 32, (510, 512, kc, "m", True)) for kc in (128, 1024))
    model = Model(problem_of(contraction), Target.parse("sapphire-rapids"))
    assert panel_terms_ahead(model, near) == 0 < panel_terms_ahead(model, far)


def test_tiles_that_are_added_to_a_result_bring_it_from_l2_and_back():
    """For each block of the sum, even where it is asked for in time: sums that stay in registers cost nothing of the kind."""
    contraction, slow, fast = product(848, 1908, 1813), "zen5:copy_l2=40e9", "zen5:copy_l2=80e9"

    def writing(target: str, kc: int) -> float:
        core = Target.parse(target)
        plan = packed(9, 48, (108, 1908, kc, "m", kc < 1813))
        return dict(plans.cost(plan, contraction, core).terms)["writing C"]

    moved = 2 * 848 * 1908 * 4
    for kc, blocks in ((182, 10), (364, 5)):
        expected = blocks * moved * (1 / 40e9 - 1 / 80e9)
        assert writing(slow, kc) - writing(fast, kc) == pytest.approx(expected)
    assert writing(slow, 1813) == writing(fast, 1813)


def test_rows_of_a_come_again_for_each_block_of_columns():
    """Each is a stream of its own, though they are dense; and more goes by from one block to the next than both operands."""
    contraction = product(512, 512, 512)
    target = Target.parse("sapphire-rapids:tile_rows_far=120e9,tile_rows_long=120e9")
    model = Model(problem_of(contraction), target)

    def streaming(columns: int) -> float:
        plan = packed(9, 48, (9, columns, 512, "n", False))
        plan = replace(plan, pack_left=False, peel_m=True, peel_n=True)
        return dict(plans.cost(plan, contraction, target).terms)["streaming A"]

    share, size = model.far_share(model.problem.left), 4 * 512 * 512
    each = size * model.row_waiting(512 * 4, model.beyond_l2)
    assert 0 < share < 1 and 2 * share * each < streaming(240) - streaming(512) <= 2 * each


def test_rows_of_a_come_from_l2_to_the_first_tile_of_columns():
    """A product of few columns has no others, in which they would be in L1. The block of B comes from L2 to each tile, as L1 does not keep it."""
    target = Target.parse("zen5")

    def of_a_tile(columns: int) -> float:
        contraction = product(1400, columns, 240)
        plan = packed(14, 32, (14, columns, 240, "n", False))
        terms = dict(plans.cost(plan, contraction, target).terms)
        return terms["arithmetic"] / (columns // 32)

    one, few, many = of_a_tile(32), of_a_tile(64), of_a_tile(320)
    assert one > many and one - few == pytest.approx((one - many) * 5 / 9)


def test_weights_among_many_constants_come_from_memory():
    """As many bytes go by from one call to the next. Hints for the next panel hide that, where tiles of M are innermost."""
    alone = product(197, 768, 768, with_weights=True)
    facts = replace(alone.facts, constants=1 << 30)
    among = replace(alone, facts=facts)
    target = Target.parse("sapphire-rapids:read_memory=9e9")

    def streaming(contraction: Contraction, plan: ContractionPlan) -> float:
        return dict(plans.cost(plan, contraction, target).terms)["streaming B"]

    by_columns = replace(packed(11, 32, (11, 256, 768, "n", False)), pack_left=False, peel_m=True)
    assert streaming(among, by_columns) > 1.3 * streaming(alone, by_columns)
    by_rows = replace(packed(9, 48, (197, 768, 768, "m", False)), prefetch=True)
    assert streaming(among, by_rows) < 0.3 * streaming(among, by_columns)
    few = product(128, 96, 96, with_weights=True)
    models = [
        Model(problem_of(replace(few, facts=replace(few.facts, constants=n))), target)
        for n in (0, 1 << 30)
    ]
    assert [model.far_share(model.problem.right) for model in models] == [0, 1]


def test_panels_that_nothing_has_asked_for_wait_as_the_probed_tile_does():
    """With a wide operand beyond L2, and beyond what its bandwidth explains; those that tiles ask for come meanwhile."""
    contraction = product(512, 3072, 768)
    slow, quick = (
        Target.parse(f"sapphire-rapids:beyond_l2=20e9,tile_wide_far={rate}")
        for rate in (60e9, 95e9)
    )

    def streaming(target: Target, plan: ContractionPlan) -> float:
        return dict(plans.cost(plan, contraction, target).terms)["streaming B"]

    by_columns = packed(14, 32, (14, 256, 768, "n", False))
    assert Model(problem_of(contraction), slow).waiting_right > 0
    assert streaming(slow, by_columns) > streaming(quick, by_columns)
    asking = replace(packed(9, 48, (261, 3072, 768, "m", False)), prefetch=True)
    assert streaming(slow, asking) == streaming(quick, asking)


def test_rows_that_wait_in_l2_are_packed(squares: dict[int, Contraction]):
    """Tiles wait more for rows of A than for its panels on a core that shares its caches; nothing is known of that at first."""
    assert not first(squares[1024], "zen5").pack_left
    assert not first(squares[1024], "zen5:tile_rows_near=259e9").pack_left
    assert first(squares[1024], "zen5:tile_rows_near=200e9").pack_left


def test_vectors_across_two_lines_are_waited_for_as_measured(squares: dict[int, Contraction]):
    """So B is packed where they cost more than its copy. Where that was not measured, the load ports tell."""
    asked = "sapphire-rapids:tile_split={}e9"
    free, waiting = (TileSteps.of(Target.parse(asked.format(rate))) for rate in (124, 108))
    fetched = 4, 64
    lost = waiting.cycles(9, 3, fetched, split=1) - free.cycles(9, 3, fetched, split=1)
    whole = waiting.cycles(9, 3, fetched)
    assert lost == pytest.approx(whole * (124 / 108 - 1), rel=0.1), "what the probed tile loses"
    assert whole == free.cycles(9, 3, fetched) == free.cycles(9, 3, fetched, split=1)
    unknown = TileSteps.of(Target.parse("sapphire-rapids"))
    assert unknown.cycles(9, 3, fetched, split=1) > 1.2 * unknown.cycles(9, 3, fetched), "1.3 ports"

    def packed_gain(rate: int) -> float:
        """How much longer the best plan takes that reads B as it is."""
        every = plans.propose(squares[256], Target.parse(asked.format(rate)), 300)
        times = {
            packs: min(
                plans.cost(plan, squares[256], Target.parse(asked.format(rate))).seconds
                for plan in every
                if plan.pack_right == packs
            )
            for packs in (True, False)
        }
        return times[False] / times[True]

    assert packed_gain(108) > 1.03 * packed_gain(124)


def test_short_pieces_of_rows_wait_for_the_latency(squares: dict[int, Contraction]):
    """Prefetchers find the rest of a row of A, but not the beginning of the next one; hints are in time."""
    contraction, near, far = squares[2048], "zen5", "zen5:chase_l3=4e8,chase_memory=4e8"

    def waiting(target: str, kc: int, **others: bool) -> float:
        plan = replace(first(contraction, "zen5"), kc=kc, mc=2048, nc=2048, innermost="m", **others)
        return dict(plans.cost(plan, contraction, Target.parse(target)).terms)["streaming A"]

    asks = {"pack_in_tiles": False, "prefetch_terms": 0, "pack_left": False}
    short, whole = (waiting(far, kc, **asks, prefetch_left=False) for kc in (128, 2048))
    assert short > 2 * whole
    assert short > 1.5 * waiting(near, 128, **asks, prefetch_left=False)
    assert waiting(far, 128, **asks, prefetch_left=True) < short / 4


def test_pieces_of_rows_wait_as_long_as_was_probed():
    """For each piece, and each page of a longer one; nothing where the tile is as fast with pieces, whatever it does with long rows."""
    contraction, bytes_ = product(512, 768, 3072), 16 * 4 * 512 * 3072
    near = "sapphire-rapids:tile_near=120e9,tile_rows_near=120e9,tile_rows_far=60e9"

    def waiting(pieces: int, kc: int) -> float:
        target = Target.parse(f"{near},tile_pieces_far={pieces}e9")
        plan = replace(packed(9, 48, (512, 768, kc, "m", False)), pack_left=False)
        return dict(plans.cost(plan, contraction, target).terms)["streaming A"]

    work = 2 * 48 / 4  # multiply-adds and additions for each byte of pieces that come for one panel
    for kc, run in ((256, 1024), (512, 2048), (1536, 4096)):
        assert waiting(120, kc) < waiting(100, kc)
        probed = 1024 * bytes_ / run * work * (1 / 100e9 - 1 / 120e9)
        assert waiting(100, kc) - waiting(120, kc) == pytest.approx(probed, rel=0.01)


@pytest.mark.parametrize(("innermost", "operand"), [("n", "B"), ("m", "A")])
def test_lines_that_l2_has_lost_come_alone(
    innermost: Innermost, operand: str, monkeypatch: pytest.MonkeyPatch
):
    """Nothing asks for them before they are used: multiply-adds hide none of their time, where they would hide a stream."""
    model = Model(problem_of(product(1020, 1020, 1020)), Target.parse("zen5:beyond_l2=80e9"))
    assert model.computing(12) > 4 / 80e9, "a stream would be hidden"

    def streaming(size: int) -> float:
        block = (size, 1020, 1020) if innermost == "m" else (12, size, 1020)
        plan = packed(12, 32, (*block, innermost, False))
        return dict(model.cost(plan).terms)[f"streaming {operand}"]

    few, many = streaming(96), streaming(160)
    monkeypatch.setattr(Model, "demand_misses", lambda *_: 0.0)
    other = 32 if innermost == "m" else 12
    times = -(-1020 // other) - 1
    lost = model.lost(160 * 1020 * 4, other * (1020 + 160) * 4)
    assert 0.01 < lost < 0.15
    alone = times * lost * (1 - lost) * 1020 * 1020 * 4 / 80e9
    assert many - streaming(160) == pytest.approx(alone, rel=0.1)
    assert few - streaming(96) < alone / 10


@pytest.mark.parametrize(("size", "copies"), [(256, 0), (512, 2), (1024, 3)])
def test_lines_of_a_copy_come_to_be_written_and_leave(
    squares: dict[int, Contraction], size: int, copies: int
):
    """
    Tiles of N innermost read a copy of all of A, which is 256 KiB, 1 or 4 MiB. It stays in an L2 of 2 MiB from call to call, or comes and goes,
    or comes once more for the tiles. A block of rows that is packed by itself is written where the one before was.
    """
    contraction = squares.get(size) or product(size, size, size)
    target = Target.parse("sapphire-rapids")
    model = Model(problem_of(contraction), target)
    whole = packed(14, 32, (14, 64, size, "n", False))
    seconds = {plan: packing(model, plan, "left") for plan in (whole, replace(whole, mc=size))}
    assert seconds[whole] == seconds[replace(whole, mc=size)], "all of A before the tiles"
    by_blocks = packing(model, packed(14, 32, (14, size, size, "m", False)), "left")
    moved = (seconds[whole] - by_blocks) * model.beyond_l2.rate
    assert moved == pytest.approx(copies * 4 * size * size)


def test_hints_for_a_tile_stand_in_few_places():
    """Each is for 8 lines at most, after a number of times 32 terms that leaves none over where 32 do not; a tile asks twice at least."""
    assert terms_between_hints(1024, 28) == 256
    assert terms_between_hints(96, 28) == terms_between_hints(100, 28) == 32
    assert terms_between_hints(1024, 8) == 512
    assert terms_between_hints(480, 14) == 160, "three parts, as two would be of 240"
    assert terms_between_hints(1000, 28) == 224


def test_a_read_across_waits_for_pages_and_for_sets_of_l2():
    """Terms are lines 1.3, 2.7 or 4 KiB apart: of few the pages are known, and of many at 4 KiB L2 keeps no more than half."""
    target = Target.parse("sapphire-rapids")
    model = Model(problem_of(product(336, 336, 1024)), target)
    few, pages, sets = (
        model.read_across(14, terms, apart, 32)
        for terms, apart in ((96, 1344), (1024, 2688), (1024, 4096))
    )
    assert few < pages < sets
    assert pages - few == pytest.approx(3.5 / model.clock / 14)
    assert sets - pages == pytest.approx(64 / model.beyond_l2.rate / 14)
