"""
Kernels that the rules schedule agree with NumPy.

`make test` runs a fixed share; `STEPWELL_RULE_CASES=2000 pytest tests/differential/test_rules.py` more of
them, other ones each time.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from .random_kernels import Case, attention_of, contractions, networks, reductions, rows

ASKED = int(os.environ.get("STEPWELL_RULE_CASES", "0"))
SHARES = {"contractions": 45, "reductions": 30, "rows": 15, "networks": 10}
"""Of a hundred cases."""


def campaign(name: str) -> Callable[[Any], Any]:
    """The settings for one kind of case: few and always the same, or as many as were asked for."""
    count = ASKED * SHARES[name] // 100 if ASKED else max(SHARES[name] // 2, 8)
    return settings(
        max_examples=count,
        derandomize=not ASKED,
        # Many cases are for finding out how many fail; a program is made small by the fixed ones.
        phases=(Phase.generate,) if ASKED else tuple(Phase),
        report_multiple_bugs=False,
        deadline=None,
        database=None,
        print_blob=True,
        suppress_health_check=list(HealthCheck),
    )


@campaign("contractions")
@given(contractions(), st.integers(1, 2), st.frozensets(st.integers(0, 2)))
def test_contractions(case: Case, threads: int, constant: frozenset[int]):
    case.check(threads, constant)


@campaign("reductions")
@given(reductions(), st.integers(1, 2))
def test_reductions(case: Case, threads: int):
    case.check(threads)


@campaign("rows")
@given(rows(), st.integers(1, 2))
def test_rows(case: Case, threads: int):
    case.check(threads)


@campaign("networks")
@given(networks(), st.integers(1, 2), st.frozensets(st.integers(0, 6)))
def test_networks(case: Case, threads: int, constant: frozenset[int]):
    case.check(threads, constant)


@pytest.mark.parametrize(("rows", "keys", "width"), [(12, 5, 7), (1, 3, 1), (5, 1, 9)])
def test_attention_over_one_block_of_rows(rows: int, keys: int, width: int):
    """No loop over blocks is left after `simplify`."""
    attention_of(
        [np.ones(shape, np.float32) for shape in ((rows, width), (keys, width), (keys, rows))]
    ).check(1)
