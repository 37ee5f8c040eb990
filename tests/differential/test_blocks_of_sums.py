"""
Products with blocks of K outside of the loops over rows: interpreted and compiled, beside NumPy's.

The sizes are no multiples of tiles, blocks and lanes, so that every edge is there: the last block of K is shorter,
the last rows and columns are padded or peeled off.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import stepwell as sw
from stepwell.analysis.plans.contraction_plan import ContractionPlan
from stepwell.driver.options import Options
from stepwell.interpreters.harness import interpret
from stepwell.targets.target import Target
from stepwell.tuning.families import Choice, Contractions
from stepwell.tuning.rules import kernels, schedule_with

from .test_contraction_plans import KINDS

TARGET = Target.parse("x86-64-v3")


def blocked(m: int, n: int, **fields: Any) -> ContractionPlan:
    """Tiles of 3 × 8 in blocks of 7 rows and of KC 5, but for what is given."""
    usual = {
        "turned": False, "mr": 3, "nr": 8, "mc": 6, "nc": n, "kc": 5, "innermost": "m",
        "pack_left": True, "pack_right": True, "peel_m": False, "peel_n": False,
        "prefetch": False, "k_outside": True,
    }  # fmt: skip
    return ContractionPlan(**{**usual, **fields})


PLANS: dict[str, dict[str, Any]] = {
    "as BLIS": {},
    "prefetched": {"prefetch": True, "prefetch_result": True},
    "peeled columns": {"peel_n": True},
    "all rows": {"mc": 17},
    "blocks of columns": {"nc": 16},
    "columns innermost": {"mc": 3, "innermost": "n", "nc": 16},
    "rows as they are": {"mc": 3, "innermost": "n", "pack_left": False, "peel_m": True},
    "result prefetched": {"mc": 3, "innermost": "n", "nc": 16, "prefetch_result": True},
    "next rows prefetched": {
        "mc": 3,
        "innermost": "n",
        "nc": 16,
        "pack_left": False,
        "prefetch_left": True,
        "peel_m": True,
    },
    "equal blocks": {"kc": 6, "nr": 16},
}


@pytest.mark.sampled(5)
@pytest.mark.skipif(not TARGET.runs_here, reason="code for AVX2 does not run here")
@pytest.mark.parametrize(
    ("plan", "kind", "lead"),
    [
        *((plan, "a @ b", ()) for plan in PLANS),
        *(("as BLIS", kind, ()) for kind in ("a.T @ b", "a @ b.T")),
        *((plan, "a @ b", (2,)) for plan in ("as BLIS", "blocks of columns")),
    ],
)
def test_blocks_of_the_sum(plan: str, kind: str, lead: tuple[int, ...]):
    m, n, k = 17, 37, 18
    rng = np.random.default_rng(0)
    left = (k, m) if kind == "a.T @ b" else (m, k)
    right = (n, k) if kind == "a @ b.T" else (k, n)
    a, b = (rng.uniform(-1, 1, (*lead, *shape)).astype(np.float32) for shape in (left, right))
    low = sw.jit(lambda a, b: KINDS[kind](sw, a, b), target=TARGET).lower(a, b)
    module = low.unscheduled()
    (kernel,) = kernels(module)
    choice = Choice(Contractions(), blocked(m, n, **PLANS[plan]), None)
    session = schedule_with(module, kernel, choice, TARGET)
    assert session is not None
    module.verify()
    expected = KINDS[kind](np, a, b)
    (interpreted,) = interpret(module, [a, b])
    np.testing.assert_allclose(interpreted, expected, atol=1e-5)
    for threads in (1, 2):
        compiled = sw.Lowered(module, options=Options(TARGET)).compile(threads=threads)
        np.testing.assert_allclose(compiled(a, b), expected, atol=1e-5)
