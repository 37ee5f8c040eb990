"""Taking iterations off the ends of a loop."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stepwell.dialects.schedule.steps import Peel

from .loop_nests import applied, check_extents, check_random_nest, reason
from .nest_texts import COPY, LINE, TRIANGLE


@pytest.mark.parametrize(("front", "back"), [(1, 0), (0, 1), (2, 3), (50, 0), (0, 50), (30, 30)])
def test_extents(front: int, back: int) -> None:
    check_extents(LINE, Peel("f/i", front, back), extents=(1, 2, 3, 5, 8, 9, 33))
    check_extents(TRIANGLE, Peel("f/j", front, back), extents=(1, 2, 3, 5, 9), native=False)


def test_a_maximum_that_the_loops_around_decide_is_no_obstacle() -> None:
    program = COPY.replace("{n}", "9").replace("-3 to", "max(-3, -5) to")
    assert '"i.front"' in applied(program, Peel("f/i", front=1))


def test_nothing_to_peel() -> None:
    assert "there is nothing to peel" in reason(COPY.replace("{n}", "9"), Peel("f/i"))
    assert "negative" in reason(COPY.replace("{n}", "9"), Peel("f/i", front=-1))


@settings(max_examples=24, deadline=None)
@given(st.integers(0, 1 << 30))
def test_random_nests(seed: int) -> None:
    check_random_nest(
        seed,
        lambda random, name: [Peel(f"f/{name}", random.randint(0, 4), random.randint(0, 4))],
    )
