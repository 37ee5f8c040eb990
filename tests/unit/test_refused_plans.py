"""A plan of which a step is refused: the next one is taken, and both are shown."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import stepwell as sw
from stepwell.errors import StepwellError
from stepwell.tuning import families
from stepwell.tuning.families import Contractions
from stepwell.tuning.rules import SHOWN

X = np.ones((64, 48), np.float32)


def refuse(monkeypatch: pytest.MonkeyPatch, many: int) -> None:
    """Refuse the first plans of products, so many of them."""
    plain, seen = Contractions.schedule, list[object]()

    def schedule(self: Contractions, s: Any, choice: Any, *others: Any) -> None:
        seen.append(choice)
        if len(seen) <= many:
            raise StepwellError("the tile is too round")
        plain(self, s, choice, *others)

    monkeypatch.setattr(families.Contractions, "schedule", schedule)


def shown(n: int) -> list[list[str]]:
    """The first two words of each line on a product's plans."""
    low = sw.jit(lambda x: x @ x.T).lower(X)
    return [line.split()[:2] for line in low.plan(n).splitlines()[1:]]


@pytest.mark.parametrize("n", [1, 2, 3])
def test_all_plans_are_shown_as_what_they_are(n: int):
    assert shown(n) == [["chosen", "contraction:"], *[["instead", "contraction:"]] * (n - 1)]


@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_refused_plan_is_shown_before_the_one_that_is_taken(
    n: int, monkeypatch: pytest.MonkeyPatch
):
    refuse(monkeypatch, 1)
    others = max(n - 2, 0)
    expected = [["refused", "contraction:"], ["chosen", "contraction:"]]
    assert shown(n) == [*expected, *[["instead", "contraction:"]] * others]
    refuse(monkeypatch, 1)
    assert ": the tile is too round" in sw.jit(lambda x: x @ x.T).lower(X).plan(1)


def test_where_all_are_refused_another_family_is_asked(monkeypatch: pytest.MonkeyPatch):
    refuse(monkeypatch, 100)
    assert shown(1) == [*[["refused", "contraction:"]] * SHOWN, ["chosen", "rows:"]]


def test_no_more_plans_are_tried_than_where_a_kernel_is_scheduled(monkeypatch: pytest.MonkeyPatch):
    """However many are shown: after these another family is asked."""
    refuse(monkeypatch, SHOWN)
    found = shown(20)
    assert found[:SHOWN] == [["refused", "contraction:"]] * SHOWN
    assert found[SHOWN:] and all(family != "contraction:" for _, family in found[SHOWN:])


def test_a_program_without_kernels_says_so():
    assert sw.jit(lambda x: x).lower(X).plan() == "no kernels\n"
