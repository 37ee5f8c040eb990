"""Plans for elements, reductions, rows and transpositions: what they follow from, and that all of them are right."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import stepwell as sw
from stepwell.analysis.facts import KernelFacts, facts_of_loops
from stepwell.analysis.plans import rows, rows_cost
from stepwell.analysis.plans.cost import RESOLUTION
from stepwell.analysis.plans.lanes import hiding_vectors
from stepwell.analysis.plans.rows_plan import RowsPlan
from stepwell.dialects import loop
from stepwell.driver.options import Options
from stepwell.frontend.text import parse_text
from stepwell.targets.core import Cache
from stepwell.targets.overrides import parse_overrides
from stepwell.targets.target import Target
from stepwell.transforms.remarks import listening
from stepwell.tuning.families import FAMILIES, Choice
from stepwell.tuning.rules import kernels, schedule, schedule_with
from xdsl.dialects import func

ZEN = Target.parse("zen4")
ICE_LAKE = Target.parse("icelake-server")
SMALL = Target.host().with_core(caches=(Cache(1, 8 << 10), Cache(2, 8 << 10), Cache(3, 16 << 10)))
"""A machine whose caches a few thousand elements overflow."""

PROGRAMS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "softmax": (
        lambda x: sw.softmax(x, axis=-1),
        lambda x: (
            np.exp(x - x.max(-1, keepdims=True))
            / np.exp(x - x.max(-1, keepdims=True)).sum(-1, keepdims=True)
        ),
    ),
    "sum of rows": (lambda x: sw.sum(x, axis=1), lambda x: x.sum(1)),
    "sum of columns": (lambda x: sw.sum(x, axis=0), lambda x: x.sum(0)),
    "largest of columns": (lambda x: sw.max(x, axis=0), lambda x: x.max(0)),
    "transpose": (lambda x: sw.transpose(x) * 2, lambda x: x.T * 2),
    "elements": (lambda x: sw.tanh(x) + x, lambda x: np.tanh(x) + x),
    "two results": (
        lambda x: (sw.exp(x), sw.sum(sw.exp(x), axis=-1)),
        lambda x: (np.exp(x), np.exp(x).sum(-1)),
    ),
}


def facts_of(name: str | Callable[..., Any], shape: tuple[int, ...]) -> KernelFacts:
    function = PROGRAMS[name][0] if isinstance(name, str) else name
    low = sw.jit(function).lower(np.zeros(shape, np.float32))
    (kernel,) = kernels(low.unscheduled())
    return facts_of_loops(kernel).facts


def first(name: str, shape: tuple[int, ...], target: Target = ZEN) -> RowsPlan:
    return rows.propose(facts_of(name, shape), target)[0]


@pytest.mark.sampled(1, by="name")
@pytest.mark.parametrize("shape", [(66, 100), (33, 1030), (300, 17)])
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_proposal_computes_the_same(name: str, shape: tuple[int, ...]):
    function, expected = PROGRAMS[name]
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    low = sw.jit(function, target=SMALL).lower(x)
    for number in range(0, 32, 6):
        module = low.unscheduled()
        chosen: list[Choice] = []
        for kernel in kernels(module):
            choices = FAMILIES[-1].propose(facts_of_loops(kernel).facts, SMALL, 32)
            chosen.append(choices[min(number, len(choices) - 1)])
            remarks: list[Any] = []
            with listening(remarks.append):
                assert schedule_with(module, kernel, chosen[-1], SMALL) is not None, remarks
        found = sw.Lowered(module, options=Options(target=SMALL)).compile()(x)
        wanted = expected(x)
        pairs = zip(found, wanted, strict=True) if isinstance(wanted, tuple) else [(found, wanted)]
        for one, other in pairs:
            np.testing.assert_allclose(one, other, 1e-4, 1e-4, err_msg=str(chosen))


@pytest.mark.parametrize("name", PROGRAMS)
def test_times_have_positive_terms(name: str):
    facts = facts_of(name, (1000, 300))
    for plan in rows.propose(facts, ZEN, 32):
        cost = rows.cost(plan, facts, ZEN)
        assert cost.seconds > 0 and all(seconds >= 0 for _, seconds in cost.terms), str(plan)


@pytest.mark.parametrize("name", PROGRAMS)
def test_plans_do_not_depend_on_names(name: str):
    low = sw.jit(PROGRAMS[name][0]).lower(np.zeros((50, 300), np.float32))
    text = str(low.unscheduled())
    renamed = re.sub(r'(loop\.for (?:\w+ )+)"([^"]*)"', r'\1"tail.\2.back"', text)
    renamed = re.sub(r"%([a-z])\b", r"%k\1.lane", renamed)
    assert renamed != text
    plans = [
        [
            str(rows.propose(facts_of_loops(f).facts, ZEN)[0])
            for f in parse_text(t, "f.mlir").ops
            if isinstance(f, func.FuncOp) and f.sym_visibility is not None
        ]
        for t in (text, renamed)
    ]
    assert plans[0] == plans[1] != []


def test_wider_vectors_make_wider_blocks():
    narrow = Target.parse("x86-64-v3")
    wide = Target.parse("x86-64-v4")
    for name in ("elements", "softmax", "sum of rows"):
        lanes = [
            max(nest.lanes for nest in first(name, (16, 1000), t).nests) for t in (narrow, wide)
        ]
        assert lanes[1] >= 2 * lanes[0]


def test_fewer_registers_make_smaller_squares():
    few = ZEN.with_core(vector_registers=16)
    sides = [first("transpose", (512, 512), target).nests[0].square for target in (ZEN, few)]
    assert sides[0] is not None and sides[1] is not None
    assert sides[1].side < sides[0].side


def test_what_is_finished_with_a_number_for_each_row_is_transposed_in_squares():
    """The number is read once for a row, so that the transposed operand alone decides."""
    x, bias = np.zeros((112, 64), np.float32), np.zeros((64, 1), np.float32)
    low = sw.jit(lambda x, bias: sw.nn.relu(x.T + bias)).lower(x, bias)
    (kernel,) = kernels(low.unscheduled())
    (plan,) = rows.propose(facts_of_loops(kernel).facts, ZEN)[0].nests
    assert plan.square is not None


def test_a_larger_second_cache_makes_larger_blocks_of_squares():
    (near,) = (cache for cache in ZEN.core.caches if cache.level == 2)
    caches = tuple(
        Cache(2, 4 * near.bytes, near.ways) if cache is near else cache for cache in ZEN.core.caches
    )
    squares = [
        first("transpose", (8192, 8192), target).nests[0].square
        for target in (ZEN, ZEN.with_core(caches=caches))
    ]
    assert squares[0] is not None and squares[1] is not None
    assert squares[1].across == 2 * squares[0].across


def test_squares_follow_each_other_along_what_is_read_where_their_lines_would_leave_l1():
    """
    Rows of squares are of two lines each. A row of a few squares leaves them in L1, unless rows begin at one place of
    a page; results whose rows are no whole lines share lines as well.
    """

    def is_turned(*shape: int) -> bool:
        square = first("transpose", shape).nests[0].square
        assert square is not None
        return square.turned

    assert is_turned(2048, 2048)
    assert is_turned(128, 8192) and not is_turned(128, 8208)
    assert not is_turned(1000, 3000)


def test_what_the_last_cache_loses_is_stored_past_it():
    *inner, last = ZEN.core.caches
    huge = ZEN.with_core(caches=(*inner, Cache(last.level, 1 << 30, last.ways)))
    shape = (8192, 1024)
    assert first("softmax", shape).nontemporal and not first("softmax", shape, huge).nontemporal


def test_squares_wait_for_lines_that_they_store():
    """Of an L3 that copies rows as fast as memory takes what passes the caches: lines of squares come one by one."""
    target = Target.parse(
        "sapphire-rapids:last_cache=120e6,read_l3=29e9,copy_l3=28e9,beyond_l2=27e9,read_memory=16e9,"
        "copy_memory=14.5e9,copy_past=19.5e9"
    )
    assert not first("softmax", (2000, 1024), target).nontemporal
    assert first("transpose", (2048, 2048), target).nontemporal


def test_what_is_stored_past_the_caches_leaves_the_rest_there():
    """Where that is slow to be stored, the other array is still there from the call before; not where it is very slow."""
    shape = (4096, 1024)
    slower = (Target.parse(f"zen4:copy_past={rate}") for rate in (36e9, 9e9))
    assert [bool(first("softmax", shape, target).nontemporal) for target in slower] == [True, False]


def test_a_smaller_first_cache_keeps_fewer_results_of_a_sum():
    smaller = ZEN.with_core(caches=(Cache(1, 16 << 10), *ZEN.core.caches[1:]))
    results = [first("sum of columns", (64, 100_000), t).nests[-1].results for t in (ZEN, smaller)]
    assert 0 < results[1] < results[0]


def test_a_row_that_leaves_the_caches_is_asked_for():
    near, far = (first("softmax", (rows_, 1024)) for rows_ in (16, 8192))
    assert far.fetched and not near.fetched
    assert far.fused == 1


def test_rows_are_asked_for_where_most_is_computed_meanwhile():
    """All of the next row, by the nest of the exponentials, and by that of the variance, which stores no results."""
    ones = np.ones(512, np.float32)
    norm = sw.jit(lambda x: sw.layer_norm(x, ones, ones)).lower(np.zeros((16384, 512), np.float32))
    (kernel,) = kernels(norm.unscheduled())
    chain, haswell = facts_of_loops(kernel).facts, Target.parse("haswell")
    cases = (facts_of("softmax", (16384, 512)), ZEN, 2), (chain, haswell, 4)
    for facts, target, nest in cases:
        plan = next(plan for plan in rows.propose(facts, target, 100) if plan.fetched)
        (fetch,) = plan.fetched
        assert fetch.nest == nest and fetch.distance * plan.nests[nest].lanes == 512


def test_few_instructions_load_sums_of_far_rows():
    """Each of them is a stream that a prefetcher learns, where additions leave it time; those of maxima take longer."""
    far, extreme = (
        rows.propose(facts_of(function, (2048, 2048)), ZEN)[0].nests[1]
        for function in ("sum of rows", lambda x: sw.max(x, axis=1))
    )
    most = hiding_vectors(ZEN.core) * 16
    assert far.lanes < extreme.lanes <= most and far.rows == extreme.rows == 1


def test_additions_have_ports_of_their_own_where_a_core_has_such():
    """A sum of squares of differences is half additions: on their own ports they pass beside the multiplications."""
    facts = facts_of(lambda x: sw.layer_norm(x), (723, 90))
    plan = rows.propose(facts, ZEN)[0]
    beside, among = (
        rows_cost.model(facts, ZEN.with_core(add_ports=ports)).cost(plan).seconds
        for ports in (1, 0)
    )
    assert beside < 0.95 * among


def test_a_copy_takes_what_was_measured_of_copies():
    """Loads and stores are counted once: measured bandwidths have them in already."""
    for name, elements in (("L2", 1 << 16), ("memory", 1 << 26)):
        facts = facts_of(lambda x: -x, (elements,))
        stored = next(p for p in rows.propose(facts, ZEN, 100) if not p.nontemporal)
        seconds = rows.cost(stored, facts, ZEN).seconds
        assert seconds == pytest.approx(8 * elements / ZEN.rates.bandwidth(name, "copy"), rel=0.1)


def test_vectors_of_half_the_width_take_half_the_time_of_a_core_of_halves():
    """Squares of eight take as many loads and stores as those of sixteen, and a shuffle fewer of each vector."""
    facts = facts_of("transpose", (1000, 1000))
    cost = rows_cost.model(facts, ZEN)
    (nest,) = cost.nests
    plans = rows.propose(facts, ZEN, 100)
    by_side = {p.nests[0].square.side: p.nests[0] for p in plans if p.nests[0].square is not None}
    wide, narrow = (cost.instructions(nest, by_side[side], frozenset()) for side in (16, 8))
    assert narrow[0] < 0.85 * wide[0] and narrow[1] == pytest.approx(wide[1], rel=0.1)


def test_the_model_prefers_what_is_known_to_be_faster():
    """Nests that are fused to nests apart, and squares to single elements."""
    for name in ("softmax", "transpose"):
        facts = facts_of(name, (4096, 1024))
        chosen, *_, plain = rows.propose(facts, ZEN, 16)
        assert rows.cost(chosen, facts, ZEN).seconds < rows.cost(plain, facts, ZEN).seconds


@pytest.mark.parametrize("name", ["softmax", "two results"])
def test_there_are_twenty_plans_of_which_none_is_much_cheaper_than_the_first(name: str):
    facts = facts_of(name, (400, 900))
    plans = rows.propose(facts, ZEN, 1000)
    seconds = [rows.cost(plan, facts, ZEN).seconds for plan in plans]
    assert len(plans) == len(set(plans)) >= 20
    assert seconds[0] <= min(seconds) * RESOLUTION
    assert seconds[1:-1] == sorted(seconds[1:-1])


def test_blocks_hide_latency_as_far_as_registers_hold_them():
    slow = ZEN.with_core(fma_latency=8)
    assert hiding_vectors(slow.core) == 2 * hiding_vectors(ZEN.core)
    few = ZEN.with_core(vector_registers=16)
    lanes = [first("elements", (64, 64), target).nests[0].lanes for target in (ZEN, few)]
    assert lanes[1] < lanes[0]


def test_short_rows_hide_the_latency_of_each_other():
    """As far as the instructions that are under way at once reach: with few, each nest goes through all rows."""
    few, many = (ICE_LAKE.with_core(window=window) for window in (8, 2048))
    assert first("softmax", (733, 53), many).fused == 1
    assert first("softmax", (733, 53), few).fused == 0
    facts = facts_of("softmax", (733, 53))
    (fused,) = rows.propose(facts, many)
    there, here = (rows_cost.cost(fused, facts, target).seconds for target in (many, few))
    assert here > 1.5 * there


def test_a_row_that_fused_nests_share_is_loaded_once():
    """Where it is one block of lanes, whose vectors stay in registers."""
    for columns, is_held in ((53, True), (900, False)):
        facts = facts_of("softmax", (733, columns))
        model = rows_cost.Model(facts, ICE_LAKE)
        (plan,) = rows.propose(facts, ICE_LAKE.with_core(window=2048))
        wide = replace(plan, nests=tuple(replace(n, lanes=n.lanes and 128) for n in plan.nests))
        held = [model.held(model.nests, wide, n) for n in range(len(model.nests))]
        assert not held[0] and any(held) == is_held


def test_tables_that_registers_hold_leave_fewer_for_vectors():
    def lanes_of(entries: int) -> tuple[int, int]:
        arrays = np.zeros(4096), np.zeros(entries), np.zeros(4096, np.int64)
        low = sw.jit(lambda x, table, i: x * table[i]).lower(*arrays)
        (kernel,) = kernels(low.unscheduled())
        facts = facts_of_loops(kernel).facts
        return facts.statements[0].entries, rows.propose(facts, ZEN)[0].nests[0].lanes

    held, loaded = lanes_of(8), lanes_of(100)
    assert (held[0], loaded[0]) == (8, 0)
    assert held[1] < loaded[1]


def test_results_beyond_l2_are_summed_from_one_row_at_a_time():
    """Rows in turns are streams of their own; within L2 that saves loads and stores of the results."""
    shapes = (40, 1500), (5000, 1500)
    near, far = (first("sum of columns", shape).nests[-1].jam for shape in shapes)
    assert near > far == 1


def test_a_vector_beside_rows_comes_again_for_each_unless_l1_holds_it():
    """And for each group of rows that are summed up side by side."""
    low = sw.jit(lambda a, x: a @ x).lower(*(np.zeros(s, np.float32) for s in ((800, 8192), 8192)))
    (kernel,) = kernels(low.unscheduled())
    facts = facts_of_loops(kernel).facts
    larger = ZEN.with_core(caches=(Cache(1, 1 << 20, 8), *ZEN.core.caches[1:]))
    plans = rows.propose(facts, ZEN, 100)
    for count in (1, 8):
        plan = next(each for each in plans if [n.rows for n in each.nests] == [1, count])
        near, far = (rows_cost.model(facts, t).cost_and_moving(plan)[1] for t in (larger, ZEN))
        again = 4 * 8192 * (800 / count - 1)
        coming = ZEN.rates.arriving(ZEN.rates.read_l2.core)
        assert far - near == pytest.approx(again * coming, rel=1e-2)


def test_rows_from_beyond_l2_are_read_in_turns_where_that_was_measured_to_be_faster():
    """More memory instructions than a prefetcher follows would be none the better for it."""
    rate = ICE_LAKE.rates.beyond_l2.core
    for per_rate, is_faster in ((1.35, True), (0.7, False)):
        target = Target.parse(f"icelake-server:rows_beyond_l2={per_rate * rate}")
        summed = first("sum of rows", (4096, 2048), target).nests[1]
        assert (summed.rows > 1) == is_faster
        assert summed.rows == 1 or summed.rows * summed.lanes // 16 < rows_cost.FOLLOWED
        added = first("sum of columns", (5000, 1500), target).nests[-1]
        assert (added.jam > 1) == is_faster


@pytest.mark.parametrize("per_rate", [0.93, 1.07])
def test_a_difference_that_measurements_have_anyway_changes_no_plan(per_rate: float):
    rate = ICE_LAKE.rates.beyond_l2.core
    same, other = (
        Target.parse(f"icelake-server:rows_beyond_l2={factor * rate}") for factor in (1, per_rate)
    )
    for kernel, shape in (("sum of rows", (4096, 2048)), ("sum of columns", (5000, 1500))):
        assert first(kernel, shape, same) == first(kernel, shape, other)


@pytest.mark.parametrize("size", [1_000_003, 1 << 20])
def test_a_long_sum_is_read_in_turns(size: int):
    """Every element is added once, those behind the last whole part too."""
    x = np.random.default_rng(0).integers(-9, 9, size).astype(np.float64)
    target = Target.of("host").overridden(parse_overrides("rows_beyond_l2=9e9,beyond_l2=6e9"), "x")
    for function in (sw.sum, sw.max, lambda x: x @ x):
        low = sw.jit(function, target=target, threads=1).lower(x)
        assert "parts in turns" in low.plan(1)
        assert low.compile()(x) == np.asarray(function(x))


def test_rows_on_one_page_are_one_stream():
    """A result that is short is stored and loaded again seldom then: each time waits for the last."""
    jam = first("sum of columns", (50_000, 20)).nests[-1].jam
    assert jam * 20 * 4 <= ZEN.core.page_bytes and jam == max(rows.JAMS)


def test_longer_rows_on_one_page_are_read_one_by_one_from_memory():
    """Pieces of rows that jump to and fro on a page are waited for where they come from memory, and not from L3."""
    for rows_, is_waited_for in ((4_000, False), (100_000, True)):
        facts, plan = (
            facts_of("sum of columns", (rows_, 240)),
            first("sum of columns", (rows_, 240)),
        )
        nest = plan.nests[-1]
        assert (nest.jam == 1) == is_waited_for and nest.lanes < 240

        def seconds(jam: int, facts=facts, plan=plan, nest=nest) -> float:
            nests = (*plan.nests[:-1], replace(nest, jam=jam))
            return rows.cost(replace(plan, nests=nests), facts, ZEN).seconds

        assert (seconds(4) > 1.2 * seconds(1)) == is_waited_for


def test_more_memory_instructions_than_a_prefetcher_follows_cost_more_beyond_l2():
    for shape, is_slower in (((50, 300), False), ((4000, 1000), True)):
        facts = facts_of("sum of columns", shape)
        plan = first("sum of columns", shape)
        width = ZEN.core.lanes(4)
        costs: list[float] = []
        for vectors in (2, 8):
            nest = replace(plan.nests[-1], lanes=vectors * width)
            wider = replace(plan, nests=(*plan.nests[:-1], nest))
            costs.append(rows.cost(wider, facts, ZEN).seconds)
        assert (costs[1] > 1.5 * costs[0]) == is_slower


def test_plans_are_printed():
    assert str(first("softmax", (4096, 1024))) == str(first("softmax", (4096, 1024)))
    text = str(first("softmax", (8192, 1024)))
    assert "1 outer loops fused" in text and "stored past the caches" in text


SUM = """
func.func @sum(%X: memref<{rows}x{columns}xf32>, %Y: memref<{rows}xf32> {{stepwell.result}}) {{
  %zero = arith.constant 0.0 : f32
  loop.for parallel "a" %a = 0 to {rows} {{
    loop.store %zero, %Y[%a] : memref<{rows}xf32>
  }}
  loop.for parallel "i" %i = 0 to {rows} {{
    loop.for reduction "j" %j = 0 to {columns} {{
      %x = loop.load %X[%i, %j] : memref<{rows}x{columns}xf32>
      %y = loop.load %Y[%i] : memref<{rows}xf32>
      %s = arith.addf %y, %x fastmath<reassoc> : f32
      loop.store %s, %Y[%i] : memref<{rows}xf32>
    }}
  }}
  func.return
}}
"""


@pytest.mark.parametrize(("rows_", "columns"), [(16, 256), (33, 301), (18, 1024)])
def test_rows_are_summed_side_by_side(rows_: int, columns: int):
    module = parse_text(SUM.format(rows=rows_, columns=columns), "sum.mlir")
    (kernel,) = kernels(module)
    choices = FAMILIES[-1].propose(facts_of_loops(kernel).facts, SMALL, 32)
    choice = next(c for c in choices if c.plan.nests[1].rows == 4 and not c.plan.fused)
    assert schedule_with(module, kernel, choice, SMALL) is not None
    x = np.random.default_rng(0).standard_normal((rows_, columns)).astype(np.float32)
    found = sw.Lowered(module, options=Options(target=SMALL)).compile()(x)
    np.testing.assert_allclose(found, x.sum(1), 1e-4, 1e-4)


SERIAL = """
func.func @f(%X: memref<64x64xf32>) {{
  loop.for serial "i" %i = 1 to 64 {{
    loop.for {kind} "j" %j = 1 to 64 {{
      %a = loop.load %X[%i - 1, %j{shift}] : memref<64x64xf32>
      %b = loop.load %X[%i, %j] : memref<64x64xf32>
      %s = arith.addf %a, %b : f32
      loop.store %s, %X[%i, %j] : memref<64x64xf32>
    }}
  }}
  func.return
}}
"""


@pytest.mark.parametrize(
    ("kind", "shift"), [("parallel", ""), ("parallel", " - 1"), ("serial", "")]
)
def test_what_is_carried_by_a_loop_stays_in_order(kind: str, shift: str):
    """Waves of imported code: a plan leaves serial loops as they are."""
    x = np.random.default_rng(0).standard_normal((64, 64)).astype(np.float32)
    expected = x.copy()
    by = 1 if shift else 0
    for i in range(1, 64):
        expected[i, 1:] += expected[i - 1, 1 - by : 64 - by]
    module = parse_text(SERIAL.format(kind=kind, shift=shift), "f.mlir")
    (kernel,) = kernels(module)
    assert schedule(module, kernel, SMALL) is not None
    assert not any(
        op.mode and op.mode.data == "threads" for op in kernel.walk() if isinstance(op, loop.ForOp)
    )
    sw.Lowered(module, options=Options(target=SMALL)).compile()(x)
    np.testing.assert_allclose(x, expected, 1e-5)


def test_iterations_over_rows_are_joined():
    x = np.random.default_rng(0).standard_normal((66, 1001)).astype(np.float32)
    low = sw.jit(lambda x: sw.sum(x, axis=1), target=SMALL).lower(x)
    module = low.unscheduled()
    (kernel,) = kernels(module)
    choices = FAMILIES[-1].propose(facts_of_loops(kernel).facts, SMALL, 32)
    choice = next(c for c in choices if any(nest.rows == 2 for nest in c.plan.nests))
    assert schedule_with(module, kernel, choice, SMALL) is not None
    found = sw.Lowered(module, options=Options(target=SMALL)).compile()(x)
    np.testing.assert_allclose(found, x.sum(1), 1e-4, 1e-4)
