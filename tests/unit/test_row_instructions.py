"""How many instructions the nests of a rows plan are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import stepwell as sw
from stepwell.analysis.facts import facts_of_loops
from stepwell.analysis.plans import rows, rows_cost
from stepwell.targets.target import Target
from stepwell.tuning.rules import kernels

ZEN = Target.parse("zen5")
SHARED = ZEN.with_core(add_ports=0)


def test_extremes_of_floats_take_three_instructions_and_sums_one():
    """The extreme, the comparison that finds a NaN, and the choice; those of integers have no NaN."""

    def computing(function: Callable[[sw.Tensor], sw.Tensor], type_: type) -> float:
        low = sw.jit(function).lower(np.zeros((64, 1024), type_))
        (kernel,) = kernels(low.unscheduled())
        facts = facts_of_loops(kernel).facts
        plan = rows.propose(facts, ZEN)[0]
        model = rows_cost.Model(facts, SHARED)
        return model.instructions(model.nests[1], replace(plan.nests[1], lanes=64), frozenset())[0]

    greatest, total = lambda x: sw.max(x, axis=1), lambda x: sw.sum(x, axis=1)
    assert computing(greatest, np.float32) > 2 * computing(total, np.float32)
    assert computing(greatest, np.float32) > 2 * computing(greatest, np.int32)


def test_a_division_by_one_number_for_a_row_is_a_product():
    x, y = np.zeros((64, 1024), np.float32), np.zeros((64, 1), np.float32)

    def instructions(function: Callable[..., sw.Tensor], *shapes: np.ndarray) -> float:
        (kernel,) = kernels(sw.jit(function).lower(*shapes).unscheduled())
        facts = facts_of_loops(kernel).facts
        model = rows_cost.Model(facts, ZEN)
        return model.instructions(
            model.nests[0], rows.propose(facts, ZEN)[0].nests[0], frozenset()
        )[0]

    by_row, product = instructions(lambda x, y: x / y, x, y), instructions(lambda x, y: x * y, x, y)
    assert by_row == product < instructions(lambda x, y: x / y, x, x)


def test_extremes_around_their_results_wait_for_two_operations():
    """A short row of results is loaded again before what was stored last is there: with few terms at a time that is waited for."""
    low = sw.jit(lambda x: sw.max(x, axis=0)).lower(np.zeros((100, 100), np.float32))
    (kernel,) = kernels(low.unscheduled())
    facts = facts_of_loops(kernel).facts
    plan, model = rows.propose(facts, ZEN)[0], rows_cost.Model(facts, ZEN)
    nest, own = model.nests[1], plan.nests[1]
    assert own.jam >= 4
    waiting, computing = (
        model.chained(nest, replace(own, jam=2)),
        model.instructions(nest, own, frozenset())[0],
    )
    assert model.chained(nest, own) < computing < waiting
