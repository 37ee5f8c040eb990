"""Products whose plans are looked at, and the plan that each has on a target."""

from __future__ import annotations

import numpy as np
import stepwell as sw
from stepwell.analysis.facts import Contraction, facts_of_loops, find_contractions
from stepwell.analysis.plans import contraction as plans
from stepwell.analysis.plans.contraction_plan import ContractionPlan
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
