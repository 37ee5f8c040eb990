"""Plans of products for several cores are charged with what these wait for each other; those for one thread are not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import stepwell as sw
from stepwell.analysis.facts import (
    Contraction,
    facts_of_loops,
    find_convolutions,
)
from stepwell.analysis.partitioning import is_shared
from stepwell.analysis.plans import contraction as plans
from stepwell.analysis.plans import convolution, convolution_threads
from stepwell.analysis.plans.contraction_problem import problem_of
from stepwell.analysis.plans.threads import line_seconds
from stepwell.dialects import loop
from stepwell.targets.target import Target
from stepwell.tuning.rules import ScheduleByRulesPass, kernels
from stepwell.universe import make_context
from xdsl.parser import Parser

from .products import product

CORES = ["zen5", "sapphire-rapids"]


@pytest.mark.parametrize("core", CORES)
def test_copies_that_each_thread_makes_for_itself_are_not_waited_for(core: str):
    """A panel of B that a thread packs is in its own cache; of a copy of all columns others have made half."""
    target, contraction = Target.parse(f"{core}:cores=2"), product(256, 256, 256)
    first, *_ = plans.propose(contraction, target)
    packed = replace(first, mr=8, nr=32, kc=256, pack_left=False, pack_right=True, k_outside=False)
    whole = replace(packed, innermost="n", mc=8, nc=256)
    own = replace(packed, innermost="m", mc=256, nc=64)
    shared, apart = (
        dict(plans.cost(plan, contraction, target).terms)["waiting for threads"]
        for plan in (whole, own)
    )
    assert shared == pytest.approx(2 * line_seconds(256 * 256 * 4 / 2, target))
    assert apart == 0


@pytest.mark.parametrize("core", CORES)
def test_blocks_of_columns_are_as_many_for_each_thread(core: str):
    """Of an odd number one thread has one more, which the other waits for, unless rows are dealt out."""
    target, contraction = Target.parse(f"{core}:cores=2"), product(1024, 1024, 1024)
    found = plans.propose(contraction, target, 1000)
    waits = {
        -(-1024 // plan.nc): dict(plans.cost(plan, contraction, target).terms)[
            "waiting for threads"
        ]
        for plan in found
        if plan.innermost == "n" and not plan.k_outside and plan.nc < 1024 and not plan.pack_left
    }
    even = [wait for blocks, wait in waits.items() if blocks % 2 == 0 and 1024 % blocks == 0]
    odd = [wait for blocks, wait in waits.items() if blocks % 2]
    assert even and odd
    assert max(even) == 0 < min(odd)


@pytest.mark.parametrize("core", CORES)
def test_one_core_waits_for_none(core: str):
    contraction = product(1024, 1000, 512)
    one, two = Target.parse(core), Target.parse(f"{core}:cores=2")
    assert two.alone.cores == 1 and one.alone is one
    for plan in plans.propose(contraction, two, 20):
        waits = [
            dict(plans.cost(plan, contraction, target).terms)["waiting for threads"]
            for target in (one, two.alone)
        ]
        assert waits == [0, 0]


PRODUCT = """
func.func private @f(%x: memref<512x512xf32>, %y: memref<512x512xf32>, %z: memref<512x512xf32> {stepwell.result}) {
  loop.for parallel "i0" %i0 = 0 to 512 {
    loop.for parallel "j0" %j0 = 0 to 512 {
      %0 = arith.constant 0.0 : f32
      loop.store %0, %z[%i0, %j0] : memref<512x512xf32>
    }
  }
  loop.for parallel "i" %i = 0 to 512 {
    loop.for parallel "j" %j = 0 to 512 {
      loop.for reduction "k" %k = 0 to 512 {
        %0 = loop.load %x[%i, %k] : memref<512x512xf32>
        %1 = loop.load %y[%k, %j] : memref<512x512xf32>
        %2 = arith.mulf %0, %1 fastmath<contract> : f32
        %3 = loop.load %z[%i, %j] : memref<512x512xf32>
        %4 = arith.addf %3, %2 fastmath<reassoc,contract> : f32
        loop.store %4, %z[%i, %j] : memref<512x512xf32>
      }
    }
  }
  func.return
}
"""


def _loops(threads: int) -> list[str]:
    """The names of the loops that rules leave of a product, for so many threads, in order."""
    module = Parser(make_context(), PRODUCT).parse_module()
    ScheduleByRulesPass(target=Target.parse("sapphire-rapids:cores=2"), threads=threads).apply(
        make_context(), module
    )
    return [op.loop_name.data for op in module.walk() if isinstance(op, loop.ForOp)]


def test_plans_follow_the_number_of_threads():
    """One thread has the plan of a machine of one core, whichever it runs on; any other number that for several."""
    module = Parser(make_context(), PRODUCT).parse_module()
    ScheduleByRulesPass(target="sapphire-rapids").apply(make_context(), module)
    one = [op.loop_name.data for op in module.walk() if isinstance(op, loop.ForOp)]
    assert _loops(1) == one != _loops(2) == _loops(0)


@pytest.mark.parametrize("shape", [(256, 256, 256), (100, 333, 97), (593, 129, 16), (17, 700, 300)])
def test_products_on_two_threads(shape: tuple[int, int, int]):
    """Whatever is dealt out, and for whichever number the program was lowered first."""
    m, n, k = shape
    rng = np.random.default_rng(0)
    a, b = rng.random((m, k), np.float32), rng.random((k, n), np.float32)
    low = sw.jit(lambda a, b: a @ b).lower(a, b)
    for threads in (2, 1, None):
        found = low.compile(threads=threads)(a, b)
        np.testing.assert_allclose(found, a @ b, rtol=1e-4)


def test_blocks_of_rows_that_one_thread_packs_are_waited_for():
    """With tiles of M innermost, all use a block of A that one has packed before; read where it is, none waits."""
    target, contraction = Target.parse("sapphire-rapids:cores=2"), product(1000, 768, 3072)
    found = plans.propose(contraction, target, 1000)
    of_blocks = (plan for plan in found if plan.innermost == "m" and plan.mc < 1000)
    packed = next(plan for plan in of_blocks if plan.pack_left and not plan.k_outside)
    terms, apart = (
        dict(plans.cost(plan, contraction, target).terms)
        for plan in (packed, replace(packed, pack_left=False))
    )
    assert terms["packing A"] > 0
    waits = terms["waiting for threads"] - apart["waiting for threads"]
    assert waits == pytest.approx(terms["packing A"])


def _sharing(product: Contraction, buffer: int, dimension: int) -> Contraction:
    """The same in a program whose threads share one of its buffers along a dimension."""
    buffers = list(product.facts.buffers)
    buffers[buffer] = replace(buffers[buffer], shared=dimension)
    return replace(product, facts=replace(product.facts, buffers=tuple(buffers)))


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("dimension", [0, 1])
def test_lines_that_others_have_had_are_waited_for(core: str, dimension: int):
    """Where rows of the result are shared, threads that have columns each wait for half of their lines, and the other way round."""
    target, alone = Target.parse(f"{core}:cores=2"), product(96, 1024, 16)
    shared = _sharing(alone, alone.result.buffer, dimension)
    first, *_ = plans.propose(alone, target)
    packed = replace(first, turned=False, mr=8, nr=32, kc=16, pack_right=False, k_outside=False)
    by_rows = replace(packed, innermost="n", mc=8, nc=1024, pack_left=False, left_by_rows=True)
    by_columns = replace(packed, innermost="m", mc=96, nc=1024, pack_left=False)
    waits = [
        dict(plans.cost(plan, shared, target).terms)["waiting for threads"]
        - dict(plans.cost(plan, alone, target).terms)["waiting for threads"]
        for plan in (by_rows, by_columns)
    ]
    lines = 2 * line_seconds(96 * 1024 * 4 / 4, target)
    assert waits == pytest.approx([0, lines] if dimension == 0 else [lines, 0])


def test_the_transposed_product_has_the_others_lines_the_other_way_round():
    alone = product(96, 1024, 16)
    problem = problem_of(_sharing(alone, alone.result.buffer, 0))
    assert problem.of_others == (0, 96 * 1024 * 4, 0)
    assert problem.turned.of_others == (96 * 1024 * 4, 0, 0)


def test_a_plan_follows_how_threads_share_the_result():
    """Tiles of rows are as many for each thread where rows are shared, and columns are dealt out where these are."""
    target, alone = Target.parse("sapphire-rapids:cores=2"), product(96, 1568, 16)
    by_rows, by_columns = (
        plans.propose(_sharing(alone, alone.result.buffer, dimension), target)[0]
        for dimension in (0, 1)
    )
    assert by_rows.innermost == "n" and -(-96 // by_rows.mr) % 2 == 0, str(by_rows)
    waits = [
        dict(plans.cost(plan, _sharing(alone, alone.result.buffer, 1), target).terms)
        for plan in (by_rows, by_columns)
    ]
    first, second = (sum(terms.values()) for terms in waits)
    assert second < 0.9 * first


def test_direct_convolution_waits_for_lines_and_for_the_thread_with_most_tiles():
    """Of 5 tiles of channels one thread has 3; of pixels each has as many, but the channels are what threads share."""
    target = Target.parse("sapphire-rapids:cores=2")
    weights = np.zeros((160, 64, 1, 1), np.float32)
    low = sw.jit(lambda x: sw.conv(x, weights)).lower(np.zeros((1, 64, 28, 28), np.float32))
    (kernel,) = kernels(low.unscheduled())
    (alone,) = find_convolutions(facts_of_loops(kernel).facts)
    shared = _sharing(alone, alone.result.buffer, 1)
    channels, pixels = (
        next(a for a in alone.parallel if alone.extent((a,)) == size) for size in (160, 784)
    )
    plan = replace(
        convolution.propose(alone, target)[0], tile=((pixels, 14), (channels, 32)), skips=()
    )
    assert not is_shared(alone.facts) and is_shared(shared.facts)
    waits = [
        convolution_threads.waiting_for_threads(plan, one, 100e-6, target)
        for one in (alone, shared)
    ]
    assert waits[0] == pytest.approx(0)
    lines = 2 * line_seconds(160 * 784 * 4 / 4, target)
    assert waits[1] == pytest.approx(min(2 * 100e-6 * (3 / 5 - 1 / 2), lines))
    assert convolution_threads.waiting_for_threads(plan, shared, 100e-6, target.alone) == 0
