"""Tiles that leave across their lanes: in which pieces, what that takes, and what is computed on the way."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest
import stepwell as sw
from stepwell.analysis.plans import convolution
from stepwell.analysis.plans.convolution_cost import Model
from stepwell.analysis.plans.convolution_plan import ConvolutionPlan
from stepwell.analysis.plans.turned_tiles import least_turning, turning_cycles
from stepwell.analysis.turned import pieces
from stepwell.targets.target import Target

from .planned_convolutions import compiled_as_is, convolution_of, scheduled_by


@pytest.mark.parametrize(
    ("rows", "lanes", "expected"),
    [
        (8, 16, [[4, 4]]),
        (9, 16, [[4, 4, 1]]),
        (14, 16, [[4, 4, 4, 2]]),
        (28, 16, [[16], [4, 4, 4]]),
        (6, 8, [[4, 2]]),
        (8, 8, [[8]]),
        (48, 16, [[32], [16]]),
    ],
)
def test_rows_that_fill_no_vector_leave_chunk_by_chunk(
    rows: int, lanes: int, expected: list[list[int]]
):
    assert pieces(rows, lanes, 4) == expected


def test_rows_in_whole_chunks_leave_soonest():
    """A row by itself is a store for each lane, as a chunk of four is."""
    core = Target.of("sapphire-rapids").core
    each = {rows: turning_cycles(core, rows, 16, 4, 0.0) / rows for rows in range(2, 40)}
    assert each[8] == each[12] < min(each[rows] for rows in (7, 9, 10, 11, 13, 14))
    assert turning_cycles(core, 9, 16, 4, 1.0) - turning_cycles(core, 9, 16, 4, 0.0) == 3 * 16


@pytest.mark.parametrize("name", ["x86-64-v2", "zen3:store_ports=2", "sapphire-rapids"])
@pytest.mark.parametrize("element_bytes", [1, 2, 4, 8])
def test_no_rows_leave_sooner_than_the_bound_says(name: str, element_bytes: int):
    """With two ports for stores five rows of eight lanes take no longer than the shuffles of four of them."""
    core = Target.parse(name).core
    for lanes in range(2, core.lanes(element_bytes) + 1):
        least = least_turning(core, lanes, element_bytes) * (1 - 1e-9)
        for rows in range(1, 4 * lanes):
            assert least <= turning_cycles(core, rows, lanes, element_bytes, 0.0) / rows, rows


@pytest.mark.parametrize("target", ["x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize(("channels", "outputs", "side"), [(96, 288, 14), (33, 70, 9)])
def test_what_is_done_to_a_tile_before_and_after_it_is_turned(
    target: str, channels: int, outputs: int, side: int
):
    """The bias and a function of it are of whole rows; what else is added is read along columns, and used with both."""
    rng = np.random.default_rng(3)

    def floats(*shape: int) -> np.ndarray:
        return rng.standard_normal(shape).astype(np.float32)

    x, w = floats(1, channels, side, side), floats(outputs, channels, 1, 1)
    bias, other = floats(1, outputs, 1, 1), floats(1, outputs, side, side)

    def finished(x, other):
        y = sw.conv(x, w) + bias
        return sw.clip(y, 0, 6), y * sw.sigmoid(y) + other * y

    low = sw.jit(finished, target=target).lower(x, other)
    y = np.einsum("nchw,fc->nfhw", x, w[:, :, 0, 0], optimize=True) + bias
    expected = np.clip(y, 0, 6), y / (1 + np.exp(-y)) + other * y
    for one, right in zip(low.compile(threads=1)(x, other), expected, strict=True):
        np.testing.assert_allclose(one, right, rtol=1e-4, atol=1e-4)


def turned_plan(low: sw.Lowered, target: Target) -> tuple[ConvolutionPlan, Model]:
    """The first plan whose tiles have several vectors of outputs, and leave across them."""
    found = convolution_of(low)
    plans = convolution.propose(found, target, 200)
    wide = 2 * target.core.lanes(4)
    plan = next(p for p in plans if p.lanes in found.n and p.size(p.lanes) >= wide)
    return plan, Model(found, target)


@pytest.mark.parametrize("is_little", [True, False])
def test_tiles_are_turned_in_the_registers_that_they_are_in(is_little: bool):
    """Only what finishes a tile by many instructions is in a loop over its vectors, which takes them from the stack."""
    rng = np.random.default_rng(5)
    w = rng.standard_normal((96, 32, 1, 1)).astype(np.float32)
    x = rng.standard_normal((1, 32, 14, 14)).astype(np.float32)

    def finished(x):
        y = sw.conv(x, w)
        return sw.clip(y, 0, 6) if is_little else sw.gelu(y)

    target = Target.of("x86-64-v4").alone
    low = sw.jit(finished, target="x86-64-v4").lower(x)
    plan, model = turned_plan(low, target)
    assert model.is_finish_written_out == is_little
    run = compiled_as_is(scheduled_by(low, plan, target), target)
    assert ("alloca" in run.llvm_ir()) != is_little
    np.testing.assert_allclose(run(x), low.compile(threads=1)(x), rtol=1e-4, atol=1e-4)


def test_tiles_that_go_through_the_stack_are_charged_with_their_stores_there():
    w, x = np.zeros((384, 64, 1, 1), np.float32), np.zeros((1, 64, 14, 14), np.float32)
    target = Target.of("sapphire-rapids").alone
    plan, model = turned_plan(sw.jit(lambda x: sw.conv(x, w)).lower(x), target)
    straight = dict(model.cost(plan).terms)["arithmetic"]
    model.is_finish_written_out = False
    through = dict(model.cost(plan).terms)["arithmetic"]
    vectors = 384 * 14 * 14 / target.core.lanes(4)
    stores = vectors / target.core.store_ports / model.clock
    assert prod(size for _, size in plan.tile) % target.core.lanes(4) == 0
    assert through - straight == pytest.approx(stores)
