"""Notes on loops."""

import pytest
from stepwell.dialects.schedule.steps import Pragma, Split

from .loop_nests import applied, check_extents, reason

COPY = """
func.func @f(%A: memref<80xi32> {stepwell.noalias}, %B: memref<80xi32> {stepwell.noalias}) {
  loop.for parallel "i" %i = -3 to {n} step 2 {
    %a = loop.load %A[%i + 3] : memref<80xi32>
    loop.store %a, %B[%i + 4] : memref<80xi32>
  }
  func.return
}
"""


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
