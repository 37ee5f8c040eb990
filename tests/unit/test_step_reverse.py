"""Running a loop backwards."""

from hypothesis import given, settings
from hypothesis import strategies as st
from stepwell.dialects.schedule.steps import Reverse

from .loop_nests import check_extents, check_random_nest, reason
from .nest_texts import COPY, LINE, TRIANGLE


def test_extents() -> None:
    check_extents(COPY, Reverse("f/i"))
    check_extents(TRIANGLE, Reverse("f/i"))


def test_bounds_that_are_maxima_and_minima() -> None:
    check_extents(COPY.replace("-3 to {n} step 2", "max(-3, -{n}) to min({n}, 20)"), Reverse("f/i"))
    check_extents(COPY.replace("{n} step 2", "min({n}, 20) step 2"), Reverse("f/i"))


def test_a_carried_dependence_is_refused_with_its_iterations() -> None:
    message = reason(LINE.replace("{n}", "9"), Reverse("f/i"))
    assert "iterations (i=-3) and (i=-1) would be swapped" in message


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 1 << 30))
def test_random_nests(seed: int) -> None:
    check_random_nest(seed, lambda _, name: [Reverse(f"f/{name}")])
