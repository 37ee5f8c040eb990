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
from differential.campaigns import campaign
from hypothesis import given
from hypothesis import strategies as st

from .random_kernels import Case, attention_of, contractions, networks, reductions, rows

ASKED = int(os.environ.get("STEPWELL_RULE_CASES", "0"))
SHARES = {"contractions": 45, "reductions": 30, "rows": 15, "networks": 10}
"""Of a hundred cases."""


def share(name: str) -> Callable[[Any], Any]:
    """The settings for one kind of case."""
    return campaign(max(SHARES[name] // 2, 8), ASKED * SHARES[name] // 100)


@share("contractions")
@given(contractions(), st.integers(1, 2), st.frozensets(st.integers(0, 2)))
def test_contractions(case: Case, threads: int, constant: frozenset[int]):
    case.check(threads, constant)


@share("reductions")
@given(reductions(), st.integers(1, 2))
def test_reductions(case: Case, threads: int):
    case.check(threads)


@share("rows")
@given(rows(), st.integers(1, 2))
def test_rows(case: Case, threads: int):
    case.check(threads)


@share("networks")
@given(networks(), st.integers(1, 2), st.frozensets(st.integers(0, 6)))
def test_networks(case: Case, threads: int, constant: frozenset[int]):
    case.check(threads, constant)


@pytest.mark.parametrize(("rows", "keys", "width"), [(12, 5, 7), (1, 3, 1), (5, 1, 9)])
def test_attention_over_one_block_of_rows(rows: int, keys: int, width: int):
    """No loop over blocks is left after `simplify`."""
    attention_of(
        [np.ones(shape, np.float32) for shape in ((rows, width), (keys, width), (keys, rows))]
    ).check(1)
