"""Products whose plans are looked at, and the plan that each has on a target."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import stepwell as sw
from stepwell.analysis.facts import Contraction, facts_of_loops, find_contractions
from stepwell.analysis.plans import contraction as plans
from stepwell.analysis.plans.contraction_cost import Model, OfBlocks
from stepwell.analysis.plans.contraction_plan import ContractionPlan
from stepwell.analysis.plans.contraction_problem import problem_of
from stepwell.targets.target import Target
from stepwell.tuning.rules import kernels


def product(
    m: int,
    n: int,
    k: int,
    *,
    with_weights: bool = False,
    turned: bool = False,
    computed: bool = False,
) -> Contraction:
    """
    Of two arrays, the first of which may be `turned`, so that its columns are neighbours, or `computed` as it is used; or of one and weights,
    without negative numbers.
    """
    a, b = np.zeros((m, k), np.float32), np.zeros((k, n), np.float32)
    low = sw.jit(lambda a, b: a @ b).lower(a, b)
    if turned:
        low = sw.jit(lambda a, b: a.T @ b).lower(np.zeros((k, m), np.float32), b)
    if computed:
        low = sw.jit(lambda a, b, s: (a * s) @ b).lower(a, b, np.zeros(k, np.float32))
    if with_weights:
        low = sw.jit(lambda a: sw.maximum(a @ b, 0)).lower(a)
    (kernel,) = kernels(low.unscheduled())
    (found,) = find_contractions(facts_of_loops(kernel).facts)
    return found


def first(contraction: Contraction, target: str) -> ContractionPlan:
    return plans.propose(contraction, Target.parse(target))[0]


def nearest_bounds(contraction: Contraction, target: Target) -> dict[str, float]:
    """The greatest part of its waits that is said of a plan before it is worked out, by its innermost loop. All of it is never exceeded."""
    problem, every = problem_of(contraction), plans.propose(contraction, target, 1 << 20)
    models = {False: Model(problem, target), True: Model(problem.turned, target)}
    near: dict[str, float] = dict.fromkeys(("m", "n"), 0.0)
    for plan in every:
        model, took = models[plan.turned], plans.cost(plan, contraction, target)
        terms, rounded = dict(took.terms), 1 + 1e-9
        due = took.rank
        plain = replace(plan, pack_left=False, pack_right=False, left_by_rows=False)
        of_blocks = OfBlocks(model, plain, model.tiles_packing_right(plain))
        at_once, closer = of_blocks.least_at_once(), of_blocks.least_of_all(plain)
        least, working = of_blocks.least(plan)
        assert max(at_once, closer) <= took.seconds * rounded, str(plan)
        assert least <= due * rounded, str(plan)
        waits = terms["streaming A"] + terms["streaming B"]
        others = terms["waiting for threads"] + terms["computing A"]
        assert working == pytest.approx(due - waits - others)
        if waits:
            near[plan.innermost] = max(near[plan.innermost], (least - working) / waits)
    return near
