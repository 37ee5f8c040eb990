"""Contractions of few columns: the summed axis is in lanes, whatever the sizes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import stepwell as sw
from stepwell.analysis.facts import facts_of_loops, find_contractions
from stepwell.analysis.plans import dot_products
from stepwell.analysis.plans.dot_products import DotProductPlan
from stepwell.analysis.plans.kernel_cost import contraction_plans
from stepwell.targets.target import Target
from stepwell.tuning.rules import kernels

TARGET = "x86-64-v4"


def integers(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    """Whose products have sums without a rounding."""
    return np.random.default_rng(sum(shape)).integers(-4, 5, shape).astype(dtype)


def text(m: int, n: int, k: int, target: str = TARGET, fp: str = "contract") -> str:
    product = sw.jit(lambda a, b: a @ b, target=target, fp=fp)
    return product.lower(integers(m, k), integers(k, n)).as_text("loop")


def test_few_columns_have_the_sum_in_lanes() -> None:
    scheduled = text(1000, 4, 512)
    assert 'loop.for parallel vector "k.lane"' in scheduled
    assert 'loop.for reduction vector "k.lane.combine"' in scheduled
    assert "%tile = loop.alloc register" in scheduled
    assert "%right = loop.alloc arena : memref<4x512xf32>" in scheduled  # its columns side by side


@pytest.mark.parametrize(
    ("m", "n", "k"), [(1000, 64, 512), (1000, 96, 512), (1000, 4, 20), (1000, 13, 30)]
)
def test_others_have_not(m: int, n: int, k: int) -> None:
    assert "k.lane" not in text(m, n, k)


def test_not_where_sums_have_an_order() -> None:
    assert "k.lane" not in text(1000, 4, 512, fp="strict")


def test_no_spills() -> None:
    product = sw.jit(lambda a, b: a @ b, target=f"{TARGET}:read_l3=64e9")  # not bound by L3
    assembly = product.lower(integers(200, 512), integers(512, 10)).as_text("asm")
    fused = [line for line in assembly.splitlines() if "vfmadd" in line]
    assert fused and not any("%rsp" in line for line in fused)
    assert sum("%zmm" in line for line in fused) >= 20


@pytest.mark.sampled(12)
@pytest.mark.parametrize("m", [2, 3, 5, 17, 100])
@pytest.mark.parametrize("n", [2, 3, 5, 7])
@pytest.mark.parametrize("k", [33, 64, 100, 129])
def test_sizes(m: int, n: int, k: int) -> None:
    a, b = integers(m, k), integers(k, n)
    np.testing.assert_array_equal(sw.jit(lambda a, b: a @ b)(a, b), a @ b)


@pytest.mark.parametrize("dtype", [np.float64, np.int32, np.int64])
def test_types(dtype: Any) -> None:
    a, b = integers(50, 130, dtype=dtype), integers(130, 3, dtype=dtype)
    np.testing.assert_array_equal(sw.jit(lambda a, b: a @ b)(a, b), a @ b)


def test_what_is_around() -> None:
    a, b, c = integers(100, 200), integers(5, 200), integers(5)
    layer = sw.jit(lambda a, b, c: sw.maximum(a @ sw.transpose(b) + c, 0))
    np.testing.assert_array_equal(layer(a, b, c), np.maximum(a @ b.T + c, 0))
    x, y = integers(3, 40, 150), integers(3, 150, 4)
    np.testing.assert_array_equal(sw.jit(lambda x, y: x @ y)(x, y), x @ y)
    z = integers(6, 300)
    np.testing.assert_array_equal(sw.jit(lambda z: z @ sw.transpose(z))(z), z @ z.T)


@pytest.mark.parametrize("threads", [1, 2])
def test_threads(threads: int) -> None:
    a, b = integers(4001, 300), integers(300, 4)
    product = sw.jit(lambda a, b: a @ b).lower(a, b).compile(threads=threads)
    np.testing.assert_array_equal(product(a, b), a @ b)


def is_chosen(target: Target, m: int, n: int, k: int, dtype: Any) -> bool:
    """Whether the cheapest plan of a product is of dot products."""
    a, b = integers(m, k, dtype=dtype), integers(k, n, dtype=dtype)
    low = sw.jit(lambda a, b: a @ b, target=TARGET).lower(a, b)
    (function,) = kernels(low.unscheduled())
    ((plan, _),) = contraction_plans(facts_of_loops(function).facts, target, 1)
    return isinstance(plan, DotProductPlan)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_choice_is_by_estimated_time(dtype: Any) -> None:
    target = Target.parse(TARGET)
    chosen = [n for n in range(2, 40) if is_chosen(target, 500, n, 600, dtype)]
    # A width of which all lanes would be full may be left to tiles; beyond four vectors all are.
    lanes = target.core.lanes(np.dtype(dtype).itemsize)
    assert chosen[:4] == [2, 3, 4, 5] and max(chosen) <= 4 * lanes


def test_many_columns_are_left_to_tiles_where_rows_across_two_lines_take_longer() -> None:
    zen4 = Target.parse("zen4")
    assert is_chosen(zen4, 802, 20, 1226, np.float32)
    assert not is_chosen(zen4.with_core(split_load=12), 802, 20, 1226, np.float32)


def test_many_columns_are_left_to_tiles_that_bring_less_from_l2() -> None:
    """Each step of dot products brings a vector for each row and each column of a tile, and a part of that is never hidden."""
    assert not is_chosen(Target.parse("zen4"), 802, 67, 1226, np.float32)


def test_hints_for_rows_take_ports_of_loads() -> None:
    """With AVX2 ten multiply-adds take five cycles, and seven loads with five hints six; of three rows and four columns hints take nothing."""
    target = Target.parse("x86-64-v3")
    a, b = integers(2048, 512), integers(512, 49)
    schedule = sw.Schedule(sw.jit(lambda a, b: a @ b, target="x86-64-v3").lower(a, b))
    (function,) = kernels(schedule.module)
    facts = facts_of_loops(function).facts
    (found,) = find_contractions(facts)
    for rows, columns, is_slower in ((5, 2, True), (3, 4, False)):
        asking = DotProductPlan(rows, columns, 8, 320, 3)
        times = [
            dict(dot_products.cost(plan, found, target).terms)["arithmetic"]
            for plan in (asking, replace(asking, prefetch=0))
        ]
        assert (times[0] > 1.1 * times[1]) == is_slower
    assert not is_chosen(target, 2048, 49, 512, np.float32)
