"""Tests of which loops carry a dependence: corners of the iterations say so in plain numbers, and integer sets the same."""

from __future__ import annotations

import pytest
from stepwell.analysis import iteration_pairs
from stepwell.analysis.domains import Around, LoopPart, Place
from stepwell.analysis.iteration_pairs import carried, is_carried
from xdsl.ir.affine import AffineExpr


def nest(*extents: int) -> Around:
    """Loops from 0 by one, outermost first."""
    around, zero = Around.outermost(0), AffineExpr.constant(0)
    for extent in extents:
        around = around.within(LoopPart((zero,), (AffineExpr.constant(extent),), 1))
    return around


ROW, COLUMN = AffineExpr.dimension(0), AffineExpr.dimension(1)


@pytest.mark.parametrize("extents", [(8, 4), (8, 1), (1, 4)])
@pytest.mark.parametrize(
    "subscripts", [(ROW,), (COLUMN,), (ROW, COLUMN), (ROW + COLUMN,), (ROW + COLUMN * 2, COLUMN)]
)
@pytest.mark.parametrize("number", [0, 1])
def test_corners_and_integer_sets_agree(
    extents: tuple[int, int], subscripts: tuple[AffineExpr, ...], number: int
) -> None:
    around, place = nest(*extents), Place.of(0, subscripts)
    expected = carried(around, place, around, place, number) is not None
    assert is_carried(around, place, around, place, number) == expected


def test_a_sum_is_carried_by_its_loop_without_integer_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("asked for pairs of iterations")

    monkeypatch.setattr(iteration_pairs, "_meeting", refuse)
    around, place = nest(9, 5), Place.of(0, (ROW,))
    assert is_carried(around, place, around, place, 1)
    assert not is_carried(around, place, around, place, 0)
