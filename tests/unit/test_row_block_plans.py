"""Plans for chains of statements that share their rows: what they depend on, and what their fields say."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
import stepwell as sw
from stepwell.analysis.facts import (
    Access,
    Axis,
    BufferFacts,
    Home,
    KernelFacts,
    Role,
    Statement,
    Subscript,
    can_inline,
    facts_of_loops,
    inlined,
)
from stepwell.analysis.plans.row_blocks import cost, propose
from stepwell.analysis.plans.row_blocks_cost import RowBlocksPlan
from stepwell.frontend.text import parse_text
from stepwell.targets.target import Target
from stepwell.tuning.rules import kernels
from xdsl.dialects.builtin import f32

ZEN4 = Target.parse("zen4")


def attention(q, k, v):
    return sw.softmax(q @ sw.swapaxes(k, -1, -2) * np.float32(0.3), axis=-1) @ v


def operands(rows: int, columns: int, width: int, batch: int = 3) -> list[np.ndarray]:
    shapes = ((batch, rows, width), (batch, columns, width), (batch, columns, width))
    return [np.zeros(shape, np.float32) for shape in shapes]


def loops(
    rows: int = 128, columns: int = 128, width: int = 64, function=attention, batch: int = 3
) -> str:
    """The loops before they are scheduled."""
    low = sw.jit(function).lower(*operands(rows, columns, width, batch))
    return str(sw.Schedule(low).module)


def facts(text: str) -> KernelFacts:
    (function,) = kernels(parse_text(text))
    return facts_of_loops(function).facts


def first(kernel: KernelFacts, target: Target = ZEN4) -> RowBlocksPlan:
    return propose(kernel, target)[0]


def test_names_do_not_matter() -> None:
    text = loops()
    names = dict.fromkeys(re.findall(r'loop\.for \w+ "([^"]+)"', text))
    renamed = text
    for number, name in enumerate(sorted(names, key=len, reverse=True)):
        renamed = renamed.replace(f'"{name}"', f'"l{number}"')
    renamed = re.sub(r"%([a-z]\w*)", r"%z_\1", renamed)
    assert renamed != text
    assert propose(facts(renamed), ZEN4, 5) == propose(facts(text), ZEN4, 5)


def test_attention_keeps_scores_near_and_reads_values_as_they_are() -> None:
    plan = first(facts(loops()))
    scores, values = plan.tiles
    assert scores.pack_right and not values.pack_right
    assert scores.keep_finished and scores.reduced is not None
    assert plan.rows % plan.mr == 0 and plan.near and not plan.ahead
    assert len(plan.merged) == 1  # the sum takes each exponential as it is made


def test_values_of_a_caller_cost_more_where_vectors_across_two_lines_take_longer() -> None:
    kernel = facts(loops(columns=1024))  # a panel of the values is not in L1
    slower = ZEN4.with_core(split_load=24)
    plans = propose(kernel, ZEN4, 100)
    packed = next(plan for plan in plans if plan.tiles[1].pack_right)
    as_it_is = next(plan for plan in plans if not plan.tiles[1].pack_right)
    assert cost(packed, kernel, slower) == cost(packed, kernel, ZEN4)
    assert cost(as_it_is, kernel, slower).seconds > cost(as_it_is, kernel, ZEN4).seconds
    assert first(kernel, slower).tiles[1].pack_right


def test_rows_of_scores_that_would_evict_each_other_stand_apart() -> None:
    """A row of 1024 scores takes a whole way of L1: all rows of a tile would be in one set."""
    plan = first(facts(loops(rows=1024, columns=1024)))
    ((_, distance),) = plan.apart
    assert distance == 1024 + 16
    assert f"{distance} elements apart" in str(plan)
    assert not first(facts(loops(rows=1024, columns=1024 + 32))).apart
    more_ways = ZEN4.with_core(
        caches=(replace(ZEN4.core.cache(1), bytes=4096 * 16, ways=16), *ZEN4.core.caches[1:])
    )
    assert not first(facts(loops(rows=1024, columns=1024)), more_ways).apart


def test_rows_that_stand_apart_compute_the_same() -> None:
    generator = np.random.default_rng(0)
    q, k, v = (generator.standard_normal((1, 1024, 64), np.float32) for _ in range(3))
    low = sw.jit(attention, target="zen4").lower(q, k, v)
    assert re.search(r"memref<1x\d+x1040xf32>", low.as_text("loop"))
    scores = np.exp(q @ np.swapaxes(k, -1, -2) * np.float32(0.3))
    expected = scores / scores.sum(axis=-1, keepdims=True) @ v
    here = sw.Schedule(low, script=low.script()).lowered(target="host").compile(threads=1)
    np.testing.assert_allclose(here(q, k, v), expected, rtol=1e-4, atol=1e-5)


def test_fewer_registers_give_smaller_tiles() -> None:
    kernel = facts(loops())
    plan, small = first(kernel), first(kernel, ZEN4.with_core(vector_registers=16))
    assert small.mr * small.tiles[0].nr < plan.mr * plan.tiles[0].nr


def test_a_smaller_l2_gives_smaller_blocks() -> None:
    kernel = facts(loops(1024, 1024))
    sizes = [first(kernel, Target.parse(f"zen4:l2={size}")).rows for size in ("128K", "1M")]
    assert sizes[0] < sizes[1]


def test_a_slower_l2_costs_more() -> None:
    kernel = facts(loops(1024, 1024))
    plan, slow = first(kernel), Target.parse("zen4:l2=128K")
    assert cost(plan, kernel, slow).seconds > cost(plan, kernel, ZEN4).seconds


def test_alternatives_differ_in_rows_tiles_and_packing() -> None:
    plans = propose(facts(loops()), ZEN4, 100)
    assert len(plans) == len(set(plans))
    assert len(plans) >= 20 and len({plan.mr for plan in plans}) > 2
    assert len({plan.rows for plan in plans}) > 2
    assert len({plan.tiles[1].pack_right for plan in plans}) == 2
    assert all(plan.tiles[0].pack_right for plan in plans)  # else columns would not lie in lanes


def test_statements_outside_tiles_have_lanes_by_what_they_compute() -> None:
    """The exponentials and their sum share a loop; what is one number for each row runs in lanes over rows."""
    kernel = facts(loops())
    plan = first(kernel)
    lanes = dict(plan.lanes)
    (made, _) = plan.merged[0]
    in_tiles = {number for tile in plan.tiles for number in tile.together}
    assert "math.exp" in dict(kernel.statements[made].operations)
    assert lanes[made] == 64 and not in_tiles & set(lanes)
    assert set(lanes) == {group[0] for group in plan.groups}


def test_code_is_in_lanes_as_the_plan_says() -> None:
    text = sw.jit(attention, target=ZEN4).lower(*operands(33, 100, 16)).as_text("loop")
    innermost = re.findall(r"loop\.for (\w+(?: \w+)?)[^{]*\{(?:(?!loop\.for)[^}])*\}", text)
    assert innermost and not any(words == "reduction" for words in innermost)


@pytest.mark.parametrize(("batch", "axis"), [(3, 1), (8, 0)])
def test_threads_are_part_of_the_plan(batch: int, axis: int) -> None:
    """The batch where each thread has as many entries; else the blocks of rows."""
    plan = first(facts(loops(1024, 1024, batch=batch)), Target.parse("zen4:cores=4"))
    assert plan.threads == ((plan.chain[0], axis),)
    assert not first(facts(loops(128, 128, 16))).threads


def test_operands_are_computed_where_they_are_packed() -> None:
    plan = first(facts(loops(function=lambda q, k, v: attention(q, sw.tanh(k), v))))
    assert plan.tiles[0].computed is not None and not plan.kept


@pytest.mark.parametrize("function", [lambda q, k, v: q + k, lambda q, k, v: sw.softmax(q)])
def test_other_kernels_have_none(function) -> None:
    assert propose(facts(loops(function=function)), ZEN4) == []


@pytest.mark.parametrize("number", range(6))
def test_every_plan_computes_the_same(number: int) -> None:
    """Of the alternatives too: what is left over of rows and columns, and operands packed or not."""
    from stepwell.analysis.facts import facts_of_loops as read
    from stepwell.tuning.families import Choice, RowBlocks
    from stepwell.tuning.session import Session

    rng = np.random.default_rng(0)
    arrays = [
        rng.standard_normal(shape, np.float32) for shape in ((2, 33, 8), (2, 48, 8), (2, 48, 16))
    ]
    low = sw.jit(attention).lower(*arrays)
    schedule = sw.Schedule(low)
    module = schedule.module
    (function,) = kernels(module)
    target = Target.host()
    plans = propose(read(function).facts, target, 12)
    plan = plans[min(2 * number, len(plans) - 1)]
    choice = Choice(RowBlocks(), plan, None)
    choice.family.schedule(Session(module, function), choice, read(function), target)
    result = schedule.lowered().compile(threads=1)(*arrays)
    assert np.allclose(result, sw.jit(attention)(*arrays), atol=1e-5)


def _pair() -> KernelFacts:
    """`s[i, j] = a[j, i] * 2` and `r[i, j] = s[j, i]`."""
    axes = (Axis(4, Role.PARALLEL), Axis(4, Role.PARALLEL))
    i, j = Subscript((1, 0)), Subscript((0, 1))
    buffers = tuple(
        BufferFacts((4, 4), (4, 1), f32, home)
        for home in (Home.ARGUMENT, Home.SCRATCH, Home.RESULT)
    )
    made = Statement(
        axes, 0, (Access(0, (j, i)),), Access(1, (i, j)), None, False, (("arith.mulf", 1),)
    )
    read = Statement(axes, 0, (Access(1, (j, i)),), Access(2, (i, j)), None, False, ())
    return KernelFacts(buffers, (made, read))


def test_inlining_composes_subscripts_and_adds_operations() -> None:
    pair = _pair()
    assert can_inline(pair, 0) and not can_inline(pair, 1)
    reader = inlined(pair, (0,)).statements[1]
    assert reader.reads == (Access(0, (Subscript((1, 0)), Subscript((0, 1)))),)
    assert reader.operations == (("arith.mulf", 1),)
