"""Notes on loops."""

import pytest
from stepwell.dialects.schedule.steps import Pragma, Split

from .loop_nests import applied, check_extents, reason
from .nest_texts import COPY


def test_extents() -> None:
    check_extents(COPY, Pragma("f/i", "unroll_explicit", "4"), extents=(1, 7, 33))


def test_the_note_is_printed_and_stays() -> None:
    text = applied(
        COPY.replace("{n}", "9"), Pragma("f/i", "hot"), Pragma("f/i", "rows", "4"), Split("f/i", 2)
    )
    assert 'attributes {stepwell.pragma.hot, stepwell.pragma.rows = "4"}' in text


@pytest.mark.parametrize("key", ["", "a b", "4x", "x=1"])
def test_keys_that_are_no_names(key: str) -> None:
    assert "expected letters, digits" in reason(COPY.replace("{n}", "9"), Pragma("f/i", key))
