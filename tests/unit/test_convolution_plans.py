"""Which plans for convolutions are proposed."""

from dataclasses import replace
from math import prod

import numpy as np
import pytest
import stepwell as sw
from stepwell.analysis.facts import Contraction, facts_of_loops, find_convolutions
from stepwell.analysis.plans import convolution
from stepwell.analysis.plans.convolution_bound import Bound
from stepwell.analysis.plans.convolution_cost import Model
from stepwell.analysis.plans.convolution_hints import terms_between_hints
from stepwell.analysis.plans.convolution_padding import Padding
from stepwell.analysis.plans.convolution_plan import ConvolutionPlan
from stepwell.analysis.plans.cost import terms_ahead
from stepwell.frontend.lowered import Lowered
from stepwell.frontend.text import parse_text
from stepwell.targets.target import Target
from stepwell.tuning.families import Contractions
from stepwell.tuning.rules import kernels

from .planned_convolutions import compiled_as_is, convolution_of, plans_for, scheduled_by

BESIDE_ANOTHER = "fma_f32=130e9,tile_in_l1=114e9,tile_near=108e9,tile_split=98e9"
"""Rates of such a core whose other thread is somebody else's."""

BY_ITSELF = "fma_f32=244e9,tile_in_l1=236e9,tile_near=233e9,tile_split=215e9"
"""Those of another one by itself."""


SMALL = (
    ((1, 16, 14, 14), (32, 16, 3, 3), 1),
    ((2, 3, 23, 21), (8, 3, 7, 7), 2),
    ((1, 64, 7, 7), (100, 64, 1, 1), 1),
    ((1, 16, 5, 6), (24, 16, 3, 3), 1),
)
"""Images, weights and strides."""


@pytest.mark.parametrize(("image", "weights", "stride"), SMALL)
@pytest.mark.parametrize("name", ["x86-64-v3", "x86-64-v4", "zen4"])
def test_no_plan_is_better_than_those_proposed(
    image: tuple[int, ...], weights: tuple[int, ...], stride: int, name: str
):
    """Most plans are left out by a bound of their time: the others must be the same as without it."""
    found, target = small_convolution(image, weights, stride), Target.of(name)
    every = convolution.propose(found, target, 10**6)
    best = sorted(convolution.cost(plan, found, target).seconds for plan in every)
    for n in (1, 3):
        proposed = convolution.propose(found, target, n)
        assert proposed == every[:n]
        assert [convolution.cost(plan, found, target).seconds for plan in proposed] == best[:n]


@pytest.mark.parametrize(("image", "weights", "stride"), SMALL)
@pytest.mark.parametrize("name", ["x86-64-v3", "zen4", "zen5", f"sapphire-rapids:{BY_ITSELF}"])
def test_no_plan_takes_less_than_its_bounds(
    image: tuple[int, ...], weights: tuple[int, ...], stride: int, name: str
):
    """That of its tile, before there is a plan; that of the plan before its hints are worked out; and that with these."""
    found, target = small_convolution(image, weights, stride), Target.parse(name)
    model, close = Model(found, target), 0.0
    for plan in convolution.propose(found, target, 10**6):
        took = convolution.cost(plan, found, target).seconds
        *others, row, channels = (0, 0, *plan.summed)
        summed = (*others, channels, row)[2:] if plan.window_inside else plan.summed
        axes, sizes = zip(*plan.tile[:-1], strict=True) if plan.tile[1:] else ((), ())
        bound = Bound(model, plan.tile[-1], axes, plan.packs, (plan.halo, summed))
        table = np.array([sizes], np.float64).reshape(1, len(axes))
        (apart,), (of_tile,) = bound.apart_and_together(table, bound.counted(table))
        bounds = [of_tile, model.least(plan, hints=False), model.least(plan)]
        bounds += [] if plan.shares_row else [apart]
        assert max(bounds) <= took * (1 + 1e-9), str(plan)
        close = max(close, of_tile / took)
    assert close > 0.9


@pytest.mark.parametrize(
    ("image", "weights", "stride"), [*SMALL, ((1, 64, 14, 14), (96, 64, 3, 3), 1)]
)
@pytest.mark.parametrize("name", ["x86-64-v3:cores=2", "zen4:cores=8", "sapphire-rapids:cores=4"])
def test_what_is_left_out_for_threads_is_not_the_best(
    image: tuple[int, ...], weights: tuple[int, ...], stride: int, name: str
):
    """Of a single plan nothing is looked at that takes longer alone than another with what its threads wait for."""
    found, target = small_convolution(image, weights, stride), Target.parse(name)
    every = convolution.propose_for_threads(found, target, 8, 8)
    assert convolution.propose_for_threads(found, target, 1, 8) == every[:1]
    (plan, cost) = every[0]
    assert cost.seconds >= convolution.cost(plan, found, target).seconds
    assert convolution.propose_for_threads(found, target, 1, 8, cost.rank) == every[:1]
    most = convolution.propose(found, target, 1)[0]
    least = convolution.cost(most, found, target).seconds
    assert convolution.propose_for_threads(found, target, 1, 8, least / 2) == []


def test_single_elements_take_a_port_however_few_lanes_they_are_for():
    """Where vectors are executed as two halves, too: tiles at an edge took less for each element of their lanes than whole ones, and the bound."""
    found, target = small_convolution((1, 8, 24, 3), (1, 8, 3, 3), 1), Target.of("zen4")
    model, plans = Model(found, target), convolution.propose(found, target, 10**6)
    assert any(plan.tile == ((0, 16),) for plan in plans)
    assert all(model.least(plan) <= model.cost(plan).seconds * (1 + 1e-9) for plan in plans)


def small_convolution(image: tuple[int, ...], weights: tuple[int, ...], stride: int) -> Contraction:
    arrays = np.zeros(image, np.float32), np.zeros(weights, np.float32)
    return convolution_of(sw.jit(lambda x, w: sw.conv(x, w, stride=stride)).lower(*arrays))


@pytest.mark.parametrize(
    ("name", "outputs", "window"),
    [
        ("zen4", 64, 7),
        (f"sapphire-rapids:{BY_ITSELF}", 64, 7),
        (f"sapphire-rapids:{BESIDE_ANOTHER}", 64, 7),
    ],
)
def test_a_first_layer_with_steps_has_channels_in_lanes(name: str, outputs: int, window: int):
    """
    Every other pixel in lanes takes a shuffle for each vector, in the place of a multiply-add, and both vectors that this is of lie across
    lines.
    """
    weights = np.zeros((outputs, 3, window, window), np.float32)
    low = sw.jit(lambda x: sw.conv(x, weights, stride=2, padding=window // 2)).lower(
        np.zeros((1, 3, 224, 224), np.float32)
    )
    found = convolution_of(low)
    (plan,) = convolution.propose(found, Target.parse(name), 1)
    assert plan.lanes in found.n and plan.packs


def test_elements_begin_as_fast_as_l1_serves_them():
    """Each of 14 pixels is one, for the 16 channels of a group in lanes; with pixels in lanes, vectors lie across lines."""
    core = Target.parse("sapphire-rapids:read_l1=128e9").core
    assert (core.load_ports, core.l1_ports) == (1, 2)
    assert core.loading_cycles(2, 0, 14) == 9
    weights = np.zeros((512, 16, 3, 3), np.float32)
    name = f"sapphire-rapids:read_l1=391e9,{BY_ITSELF}"
    low = sw.jit(lambda x: sw.conv(x, weights, padding=1, groups=32), target=name)
    text = low.lower(np.zeros((1, 512, 14, 14), np.float32)).plan()
    assert "direct, tile 14x16" in text and "packs weights" in text


def test_results_come_and_go_while_tiles_go_through_a_window():
    """Those of 1x1 are set against products, which are charged with all of it."""
    writing: list[float] = []
    for window in (1, 3):
        x, weights = np.zeros((1, 64, 56, 56), np.float32), np.zeros((64, 64, window, window))
        low = sw.jit(lambda x, w: sw.conv(x, w, padding=w.shape[-1] // 2)).lower(
            x, weights.astype(np.float32)
        )
        found = convolution_of(low)
        target = Target.parse(f"sapphire-rapids:l2=1M,{BY_ITSELF}")
        (plan,) = convolution.propose(found, target, 1)
        assert plan.prefetch_result == (window == 3)
        writing.append(dict(convolution.cost(plan, found, target).terms)["writing"])
    assert writing[1] < 0.5 * writing[0]


def test_channels_that_share_sets_of_l1_are_waited_for_at_each_element_of_the_window():
    """As those of 96 x 128 pixels do, 48 KiB apart, and of 96 x 127 do not: loads of theirs begin again when their line has come."""
    target, weights = Target.of("sapphire-rapids"), np.zeros((32, 64, 3, 3), np.float32)
    missing: list[float] = []
    arithmetic: list[float] = []
    for wide in (127, 128):
        low = convolved(np.zeros((1, 64, 96, wide), np.float32), weights)
        found = convolution_of(low)
        model, (first,) = Model(found, target), convolution.propose(found, target)
        plan = replace(
            first,
            tile=((found.m[-1], 26), (found.n[-1], 16)),
            summed=(*found.window, *(axis for axis in found.k if axis not in found.window)),
            halo=(),
            packs=True,
            prefetch_terms=0,
            block=0,
            window_inside=False,
        )
        assert model.keeps_run(plan, 8) and model.keeps_run(plan, 64) == (wide == 127)
        assert model.demand_miss_ratio(replace(plan, prefetch_terms=12)) == 0
        missing.append(model.demand_miss_ratio(plan))
        terms = dict(model.cost(plan).terms)
        arithmetic.append(terms["arithmetic"] / wide)
    assert missing[0] < 0.5 and missing[1] == 1
    assert arithmetic[1] > 1.3 * arithmetic[0]


def test_vectors_do_not_leave_in_short_pieces():
    """With blocks of channels in lanes a tile would have a few of the elements of each line of the result."""
    text = """
        func.func @f(%x: tensor<1x64x14x14x16xf32>, %w: tensor<32x16x64x16x1x1xf32> {stepwell.constant})
            -> tensor<1x32x14x14x16xf32> {
          %y = graph.blocked_conv %x, %w strides = [1, 1] dilations = [1, 1] pad = [0, 0], [0, 0] blocks = 16, 16
              : tensor<1x64x14x14x16xf32>, tensor<32x16x64x16x1x1xf32> -> tensor<1x32x14x14x16xf32>
          func.return %y : tensor<1x32x14x14x16xf32>
        }"""
    (kernel,) = kernels(Lowered(parse_text(text, "blocked.mlir")).unscheduled())
    (found,) = find_convolutions(facts_of_loops(kernel).facts)
    target = Target.of("sapphire-rapids")
    (plan,) = convolution.propose(found, target, 1)
    assert found.stride(found.result, plan.lanes) == 1


@pytest.mark.parametrize(("name", "most"), [("zen4", 0.6), ("x86-64-v4", 1.1)])
def test_half_a_vector_takes_half_of_the_time_where_full_ones_are_executed_as_two(name, most):
    """8 outputs of f32 are half a vector of 512 bits: elsewhere the other half of a unit is idle."""
    seconds: list[float] = []
    for lanes in (8, 16):
        x, w, y = "1x4x28x28x16xf32", f"3x{lanes}x4x16x1x1xf32", f"1x3x28x28x{lanes}xf32"
        text = f"""
            func.func @f(%x: tensor<{x}>, %w: tensor<{w}> {{stepwell.constant}}) -> tensor<{y}> {{
              %y = graph.blocked_conv %x, %w strides = [1, 1] dilations = [1, 1] pad = [0, 0], [0, 0] blocks = 16, {lanes}
                  : tensor<{x}>, tensor<{w}> -> tensor<{y}>
              func.return %y : tensor<{y}>
            }}"""
        (kernel,) = kernels(Lowered(parse_text(text, "blocked.mlir")).unscheduled())
        choice = Contractions().propose(facts_of_loops(kernel).facts, Target.of(name), 1)[0]
        assert choice.cost is not None
        seconds.append(choice.cost.seconds)
    assert most - 0.2 < seconds[0] / seconds[1] < most


def with_channels_inside(low, target):
    """The best plan of which the innermost loop of a sum is over channels."""
    return next(plan for plan in plans_for(low, target, 100) if not plan.window_inside)


def convolved(x, weights):
    return sw.jit(lambda x: sw.conv(x, weights, padding=1)).lower(x)


def test_weights_go_by_inside_of_rows_where_the_image_leaves_l2():
    """An image that leaves L2 comes once, then, and not for each block of weights, all of which stay there."""
    weights = np.zeros((256, 64, 1, 1), np.float32)
    low = sw.jit(lambda x: sw.conv(x, weights)).lower(np.zeros((2, 64, 56, 56), np.float32))
    found = convolution_of(low)
    for size, is_inside in (("640K", True), ("8M", False), ("64K", False)):
        (plan,) = convolution.propose(found, Target.of(f"zen4:l2={size}"), 1)
        assert (plan.outside == found.m) == is_inside, size


def test_channels_that_share_sets_of_l2_come_again_for_each_block_of_weights():
    """As those of 64 x 64 pixels do, 16 KiB apart, and of 60 x 60 do not: products that pack the image are faster there."""
    target, weights = Target.of("sapphire-rapids"), np.zeros((128, 256, 1, 1), np.float32)
    times: dict[int, float] = {}
    for side in (60, 64):
        x = np.zeros((1, 256, side, side), np.float32)
        low = sw.jit(lambda x: sw.conv(x, weights), target="sapphire-rapids").lower(x)
        assert ("chosen  contraction: direct" in str(low.plan())) == (side == 60)
        found = convolution_of(low)
        plans = convolution.propose(found, target, 300)
        plan = next(plan for plan in plans if plan.outside == found.m)
        times[side] = Model(found, target).traffic.coming(plan).image / x.nbytes
    assert times[60] == pytest.approx(1, rel=0.05) and times[64] > 3


def test_weights_go_by_for_one_image_after_the_other_where_l2_has_room_for_one():
    """Then all of them come once for each image, and the image once from beyond L2: whether L2 has room for all weights or not."""
    for outputs, stride, images, outside in (
        (512, 2, 16, True),
        (512, 2, 1, False),
        (256, 1, 16, True),
    ):
        weights = np.zeros((outputs, 512, 1, 1), np.float32)
        x = np.zeros((images, 512, 14, 15), np.float32)
        low = sw.jit(lambda x, w=weights, s=stride: sw.conv(x, w, stride=s)).lower(x)
        found = convolution_of(low)
        (plan,) = convolution.propose(found, Target.of("zen4"), 1)
        assert plan.outside == (found.m[:1] if outside else ())


def test_a_block_of_weights_comes_while_its_first_tile_is_computed():
    """Smaller tiles of the image are computed while less of it comes, and wait for more."""
    low = convolved(np.zeros((1, 512, 7, 7), np.float32), np.zeros((512, 512, 3, 3), np.float32))
    found = convolution_of(low)
    target = Target.of("zen4:l2=512K,read_l3=10e9,beyond_l2=10e9")
    (plan,) = convolution.propose(found, target, 1)
    smaller = replace(plan, tile=tuple((a, 1 if a in found.m else n) for a, n in plan.tile))
    waits = [
        dict(convolution.cost(one, found, target).terms)["streaming"] for one in (plan, smaller)
    ]
    assert waits[1] > 1.1 * waits[0]


def test_weights_come_from_memory_where_all_constants_leave_the_last_cache():
    """Those of one layer would stay there."""
    weights = np.zeros((512, 2048, 1, 1), np.float32)
    low = sw.jit(lambda x: sw.conv(x, weights)).lower(np.zeros((1, 2048, 7, 7), np.float32))
    found = convolution_of(low)
    assert found.facts.constants == 4 << 20
    target = Target.of("zen5:l3=32M,read_memory=40e9")
    near, far = (
        replace(found, facts=replace(found.facts, constants=megabytes << 20))
        for megabytes in (32, 64)
    )
    (plan,) = convolution.propose(near, target, 1)
    waits = [
        dict(convolution.cost(plan, one, target).terms)["streaming"] for one in (found, near, far)
    ]
    assert waits[0] == waits[1] < waits[2]


def test_pixels_on_many_pages_serve_many_channels():
    """A tile of few channels waits for lines of L2 that prefetchers do not foresee."""
    weights = np.zeros((64, 256, 1, 1), np.float32)
    low = sw.jit(lambda x: sw.conv(x, weights)).lower(np.zeros((1, 256, 56, 56), np.float32))
    found = convolution_of(low)
    target = Target.of("zen5")
    (plan,) = convolution.propose(found, target, 1)
    (channels, tall), (pixels, _) = plan.tile
    assert tall >= 6
    flat = replace(plan, tile=((channels, 4), (pixels, 64)))
    waits = [dict(convolution.cost(one, found, target).terms)["from L2"] for one in (plan, flat)]
    assert waits[1] > 3 * waits[0]


def test_tiles_ask_for_an_image_that_l2_gives_up_and_for_rows_that_are_lines_apart():
    """Of an image that goes by once, for the next tile; not where tiles of neighbouring rows read the same of it."""
    target = Target.of("zen5")
    for kernel, size, asks in ((1, 56, True), (1, 14, False), (3, 56, False)):
        x = np.zeros((1, 256, size, size), np.float32)
        weights, border = np.zeros((64, 256, kernel, kernel), np.float32), kernel // 2
        low = sw.jit(lambda x, w=weights, b=border: sw.conv(x, w, padding=b)).lower(x)
        found = convolution_of(low)
        (plan,) = convolution.propose(found, target, 1)
        assert plan.prefetch_image == asks
        sums = prod(size for _, size in plan.tile[:-1]) * plan.tile[-1][1] // 16
        (rows,) = (size for _, size in plan.tile[:-1] if size > 1)
        elements = (rows + 2) / 3 if plan.shares_row else rows
        assert plan.shares_row == (kernel == 3)
        ahead = int(448 / (sums + elements + plan.tile[-1][1] // 16))
        assert plan.prefetch_terms == (16 if plan.between_hints == 16 else ahead)  # a whole part


def test_hints_stand_between_parts_of_sums_that_ask_for_few_lines_at_once():
    """The image of 256 channels brings four times as many lines for each term as the result, and more where fewer outputs share it."""
    known = Target.of("sapphire-rapids")
    for channels, outputs, misses, found in (
        (256, 64, 12, 16),
        (256, 64, 4, 16),  # eight lines at least
        (256, 64, 96, 32),
        (256, 16, 12, 0),  # a part would be too short
        (64, 512, 12, 16),
        (48, 512, 12, 0),
    ):
        target = replace(known, core=replace(known.core, l1_misses=misses))
        x = np.zeros((1, channels, 56, 56), np.float32)
        weights = np.zeros((outputs, channels, 1, 1), np.float32)
        low = sw.jit(lambda x, w=weights: sw.conv(x, w)).lower(x)
        one = convolution_of(low)
        model, (first,) = Model(one, target), convolution.propose(one, known)
        hints = {"prefetch_image": True, "prefetch_result": True, "prefetch_terms": 0}
        plan = replace(first, outside=one.m, **hints)
        assert terms_between_hints(model, plan) == found, (channels, misses)
        apart = replace(plan, prefetch_image=False, prefetch_result=False)
        assert terms_between_hints(model, apart) == 0


@pytest.mark.parametrize("between", [8, 32])
def test_parts_of_sums_with_hints_add_up_to_the_same_sums(between: int):
    rng = np.random.default_rng(14)
    x = rng.standard_normal((1, 96, 9, 35), np.float32)
    low = convolved(x, rng.standard_normal((50, 96, 1, 1), np.float32))
    target = Target.of("host")
    first, *_ = convolution.propose(convolution_of(low), target)
    plan = replace(first, prefetch_result=True, prefetch_image=True, between_hints=between)
    module = scheduled_by(low, plan, target)
    text = f"{module}"
    assert f"= 0 to {96 // between} " in text and f"= 0 to {between} " in text
    found = compiled_as_is(module, target)(x)
    np.testing.assert_allclose(found, low.compile(threads=1)(x), rtol=1e-5, atol=1e-4)


def test_terms_are_asked_for_beyond_what_is_under_way_where_ports_have_room():
    core = Target.of("zen5").core
    assert terms_ahead(core, 26, 15, 2, 512) == core.window // 41
    assert terms_ahead(core, 26, 15, 2, 2 * (core.window // 41) - 1) == 0  # few terms
    assert terms_ahead(core, 8, 8, 4, 512) == 0  # as many loads as ports begin already
    slow = replace(core, load_ports=1.2, l1_ports=core.load_ports)
    assert terms_ahead(slow, 26, 15, 4, 512) == core.window // 41  # hints load nothing


@pytest.mark.parametrize("outputs", [7, 100])
def test_either_order_of_rows_and_weights_computes_the_convolution(outputs: int):
    rng, target = np.random.default_rng(14), Target.of("host")
    x = rng.standard_normal((2, 3, 17, 33), np.float32)
    low = convolved(x, rng.standard_normal((outputs, 3, 3, 3), np.float32))
    results: list[np.ndarray] = []
    for outside in (3, 1, 0):  # axes of rows: all, that of the images, none
        (first,) = plans_for(low, target)
        plan = replace(first, outside=convolution_of(low).m[:outside])
        results.append(compiled_as_is(scheduled_by(low, plan, target), target)(x))
    expected = low.compile(threads=1)(x)
    for found in results:
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("rows", "columns", "is_written_out"), [(4, 96, True), (5, 80, False), (9, 48, False)]
)
def test_two_terms_are_written_out_where_registers_hold_what_they_load(
    rows: int, columns: int, is_written_out: bool
):
    """25 accumulators and 5 elements of the image leave 2 of 32 registers: some accumulators would be on the stack."""
    low = convolved(np.zeros((1, 16, 8, 20), np.float32), np.zeros((480, 16, 3, 3), np.float32))
    target = Target.of("sapphire-rapids")
    *_, outputs, _, width = convolution_of(low).parallel
    tile = ((width, rows), (outputs, columns))
    plan = replace(with_channels_inside(low, target), tile=tile, packs=True)
    assert ("stepwell.unrolled" in f"{scheduled_by(low, plan, target)}") == is_written_out


@pytest.mark.parametrize(("block", "is_written_out"), [(64, False), (2, True)])
def test_blocks_of_many_channels_stay_loops(block: int, is_written_out: bool):
    """64 terms of 28 multiply-adds, one after the other, would be more code than cores keep decoded."""
    low = convolved(np.zeros((1, 128, 8, 30), np.float32), np.zeros((32, 128, 3, 3), np.float32))
    target = Target.of("sapphire-rapids")
    *_, outputs, _, width = convolution_of(low).parallel
    first, tile = with_channels_inside(low, target), ((width, 14), (outputs, 32))
    plan = replace(first, tile=tile, packs=True, block=block, between_hints=0)
    module = scheduled_by(low, plan, target)
    (loop,) = (line for line in f"{module}".splitlines() if '.channel" %' in line)
    assert (" unroll " in loop) == is_written_out


@pytest.mark.parametrize(("window", "is_written_out"), [("", True), ("innermost", False)])
def test_two_terms_are_written_out_where_pixels_are_in_lanes(window: str, is_written_out: bool):
    """Channels share no elements of the image; places in a window do, which LLVM would keep for one another."""
    low = convolved(np.zeros((1, 16, 8, 48), np.float32), np.zeros((32, 16, 3, 3), np.float32))
    target, found = Target.of("sapphire-rapids"), convolution_of(low)
    *_, outputs, _, width = found.parallel
    channels = [axis for axis in found.k if axis not in found.window]
    summed = (*channels, *found.window) if window else (*found.window, *channels)
    first, tile = with_channels_inside(low, target), ((outputs, 8), (width, 48))
    plan = replace(first, tile=tile, packs=False, summed=summed, skips=())
    plan = replace(plan, prefetch_terms=0, prefetch_weights=False, prefetch_block=False)
    assert ("stepwell.unrolled" in f"{scheduled_by(low, plan, target)}") == is_written_out


@pytest.mark.parametrize("packs", [True, False])
@pytest.mark.parametrize("size", [7, 30])
def test_blocks_of_channels_add_up_to_the_same_sums(size: int, packs: bool):
    rng = np.random.default_rng(3)
    x = rng.standard_normal((2, 24, size, size + 3), np.float32)
    low = convolved(x, rng.standard_normal((100, 24, 3, 3), np.float32))
    target = Target.of("host")
    first = with_channels_inside(low, target)
    plan = replace(first, packs=packs, block=8, prefetch_block=packs, prefetch_weights=packs)
    found = compiled_as_is(scheduled_by(low, plan, target), target)(x)
    np.testing.assert_allclose(found, low.compile(threads=1)(x), rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("hints", [0, 7])
@pytest.mark.parametrize(("window", "stride"), [(3, 1), (3, 2), (5, 1)])
def test_a_row_of_the_window_for_each_channel_adds_up_to_the_same_sums(
    window: int, stride: int, hints: int
):
    """Tiles at the edges, which leave terms out, have loops over channels inside of the window: no two terms stand beside each other."""
    rng, target = np.random.default_rng(5), Target.of("host")
    x = rng.standard_normal((2, 24, 9, 33 * stride), np.float32)
    weights = rng.standard_normal((100, 24, window, window), np.float32)
    low = sw.jit(lambda x: sw.conv(x, weights, stride=stride, padding=window // 2)).lower(x)
    found = convolution_of(low)
    lanes, (kh, kw) = found.n[-1], found.window
    (channels,) = (axis for axis in found.k if axis not in found.window)
    tile = ((found.m[-1], 6), (lanes, 2 * target.core.lanes(4)))
    plan = ConvolutionPlan(
        tile,
        (kh, channels, kw),
        (),
        packs=True,
        skips=Padding(found).skipped(dict(tile), lanes),
        prefetch_terms=hints,
        window_inside=True,
    )
    assert len(plan.skips) == 2
    found = compiled_as_is(scheduled_by(low, plan, target), target)(x)
    np.testing.assert_allclose(found, low.compile(threads=1)(x), rtol=1e-5, atol=1e-4)


def test_rows_of_the_window_are_inside_of_channels_where_few_tiles_leave_terms_out():
    """Of four tiles in a row two do, of two both; the loop over 64 channels ends three times in a sum, and not nine times."""
    target = Target.parse(f"sapphire-rapids:l2=2M,read_l1=391e9,{BY_ITSELF}")
    for size, channels, is_inside in ((56, 64, True), (28, 128, False)):
        weights = np.zeros((channels, channels, 3, 3), np.float32)
        low = convolved(np.zeros((1, channels, size, size), np.float32), weights)
        found = convolution_of(low)
        plans = convolution.propose(found, target, 600)
        plan = next(plan for plan in plans if not plan.shares_row)
        assert plan.window_inside == is_inside
        whole = replace(plan, tile=((found.m[-1], 14), (found.n[-1], 32)))
        assert Model(found, target).written_out_part(whole) == (0.5 if is_inside else 1)
