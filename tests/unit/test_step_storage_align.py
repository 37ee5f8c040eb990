"""Rows of scratch buffers that begin where they should."""

import pytest
from stepwell.dialects.schedule.steps import StorageAlign

from .loop_nests import applied, check_extents, reason
from .nest_texts import SCRATCH


@pytest.mark.parametrize(("factor", "offset"), [(1, 0), (8, 0), (8, 1), (16, 3)])
def test_extents(factor: int, offset: int) -> None:
    check_extents(SCRATCH, StorageAlign("f/T", 1, factor, offset))


def test_the_smallest_size_is_taken() -> None:
    text = applied(SCRATCH.replace("{n}", "9"), StorageAlign("f/T", 1, 8, 1))
    assert "loop.alloc arena : memref<9x9xi32>" in text
    text = applied(SCRATCH.replace("{n}", "9"), StorageAlign("f/T", 1, 5))
    assert "loop.alloc arena : memref<9x5xi32>" in text


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (StorageAlign("f/A", 1, 8), "is not a scratch buffer"),
        (StorageAlign("f/T", 0, 8), "axis is 0, expected 1 to 1"),
        (StorageAlign("f/T", 2, 8), "axis is 2, expected 1 to 1"),
        (StorageAlign("f/T", 1, 0), "expected 0 <= offset < factor"),
        (StorageAlign("f/T", 1, 8, 8), "expected 0 <= offset < factor"),
    ],
)
def test_refusals(step: StorageAlign, expected: str) -> None:
    assert expected in reason(SCRATCH.replace("{n}", "9"), step)
