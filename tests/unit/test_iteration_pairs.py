"""Tests of which loops carry a dependence: corners of the iterations say so in plain numbers, and integer sets the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import islpy as isl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stepwell.analysis import iteration_pairs
from stepwell.analysis.domains import Around, BranchPart, LoopPart, Place
from stepwell.analysis.iteration_pairs import carried, is_carried, meet_at_first, within
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineConstraintExpr,
    AffineConstraintKind,
    AffineDimExpr,
    AffineExpr,
)


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


PARAMETERS = st.sampled_from((0, 0, 0, 1))
RELATIONS = {
    AffineConstraintKind.ge: ">=",
    AffineConstraintKind.le: "<=",
    AffineConstraintKind.eq: "=",
}


@st.composite
def sums(draw: Any, dims: int, factors: Sequence[int] = (0, 0, 1, 1, 2, 3, -1, -2)) -> AffineExpr:
    """A number and multiples of a few variables."""
    result = AffineExpr.constant(draw(st.integers(-4, 4)))
    for n in range(dims):
        factor = draw(st.sampled_from(factors))
        result = AffineExpr.dimension(n) * factor + result if factor else result
    return result


@st.composite
def subscripts(draw: Any, dims: int) -> AffineExpr | None:
    """Now and then one that is not linear, or not affine."""
    expr, by = draw(sums(dims)), draw(st.integers(2, 4))
    kinds = (expr, expr, expr, expr, expr // by, expr.ceil_div(by), expr % by, None)
    return draw(st.sampled_from(kinds))


@st.composite
def loops(draw: Any, dims: int) -> LoopPart:
    """From a number or a variable around, over a few iterations; triangles, partial tiles and ends that are divided."""
    low = draw(st.one_of(sums(0), sums(dims, (0, 0, 1))))
    lower, upper = [low], [low + draw(st.integers(-1, 6))]
    if draw(st.integers(0, 3)) == 0:
        lower.append(draw(sums(dims, (0, 1, -1))))
    if draw(st.integers(0, 2)) == 0:
        upper.append(draw(sums(dims)) + 4)
    if draw(st.integers(0, 3)) == 0:
        upper.append((draw(sums(dims)) + 8).ceil_div(draw(st.integers(2, 3))))
    step, multiple = draw(st.sampled_from((1, 1, 1, 2, 3))), draw(st.sampled_from((1, 1, 1, 1, 2)))
    return LoopPart(tuple(lower), tuple(upper), step, multiple)


@st.composite
def branches(draw: Any, dims: int) -> BranchPart:
    conditions = st.builds(
        AffineConstraintExpr,
        st.sampled_from([*RELATIONS]),
        sums(dims),
        st.integers(-3, 6).map(AffineExpr.constant),
    )
    return BranchPart(
        tuple(draw(st.lists(conditions, min_size=1, max_size=2))), draw(st.booleans())
    )


@st.composite
def surroundings(draw: Any, outer: Around, depth: int) -> Around:
    """So many more loops, with a condition in some."""
    for _ in range(depth):
        outer = outer.within(draw(loops(outer.parameters + outer.depth)))
        if draw(st.integers(0, 3)) == 0:
            outer = outer.within(draw(branches(outer.parameters + outer.depth)))
    return outer


@st.composite
def accesses(draw: Any) -> tuple[int, int, Around, Place | None, Around, Place | None]:
    """How many loops two accesses have in common, and how many of them have a buffer of their own; and the accesses."""
    common = draw(st.integers(1, 2))
    shared = draw(surroundings(Around.outermost(draw(PARAMETERS)), common))
    source, sink = (draw(surroundings(shared, draw(st.integers(0, 1)))) for _ in range(2))
    private, rank = draw(st.sampled_from((0, 0, 1))), draw(st.integers(0, 2))
    if draw(st.integers(0, 9)) == 0:
        return common, 0, source, None, sink, None
    at, to = (
        Place.of(
            private,
            tuple(draw(subscripts(around.parameters + around.depth)) for _ in range(rank)),
        )
        for around in (source, sink)
    )
    if draw(st.booleans()):
        sink, to = source, at
    return common, private, source, at, sink, to


def text_of(expr: AffineExpr, names: Sequence[str]) -> str:
    """An expression as isl reads it."""
    if isinstance(expr, AffineConstantExpr):
        return f"({expr.value})"
    if isinstance(expr, AffineDimExpr):
        return names[expr.position]
    assert isinstance(expr, AffineBinaryOpExpr)
    left = text_of(expr.lhs, names)
    if expr.kind is AffineBinaryOpKind.Add:
        return f"({left} + {text_of(expr.rhs, names)})"
    assert isinstance(expr.rhs, AffineConstantExpr)
    number = expr.rhs.value
    return {
        AffineBinaryOpKind.Mul: f"({number} * {left})",
        AffineBinaryOpKind.Mod: f"({left} mod {number})",
        AffineBinaryOpKind.FloorDiv: f"floor({left} / {number})",
        AffineBinaryOpKind.CeilDiv: f"ceil({left} / {number})",
    }[expr.kind]


def conditions_of(around: Around, names: Sequence[str]) -> list[str]:
    """What holds of the variables of the loops around, of which these are the names behind those of the parameters."""
    found, known = list[str](), around.parameters
    for part in around.parts:
        if isinstance(part, BranchPart):
            assert part.constraints is not None
            holds = " and ".join(
                f"{text_of(one.lhs, names)} {RELATIONS[one.kind]} {text_of(one.rhs, names)}"
                for one in part.constraints
            )
            found.append(f"({holds})" if part.taken else f"not ({holds})")
            continue
        here, known = names[known], known + 1
        low = f"max({', '.join(text_of(expr, names) for expr in part.lower)})"
        high = f"min({', '.join(text_of(expr, names) for expr in part.upper)})"
        low, high = (
            text.removeprefix("max").removeprefix("min") if "," not in text else text
            for text in (low, high)
        )
        block = part.step * part.multiple
        end = f"{low} + {block} * ceil(({high} - {low}) / {block})" if part.multiple > 1 else high
        found.append(f"{low} <= {here} < {end} and ({here} - {low}) mod {part.step} = 0")
    return found


def pairs_of(
    source: Around, at: Place | None, sink: Around, to: Place | None, *more: str
) -> isl.Map:
    """The pairs of iterations that meet, with other conditions, as isl reads them from text."""
    parameters = [f"p{n}" for n in range(source.parameters)]
    before = [f"i{n}" for n in range(source.depth)]
    after = [f"j{n}" for n in range(sink.depth)]
    conditions = [*more, *conditions_of(source, [*parameters, *before])]
    conditions += conditions_of(sink, [*parameters, *after])
    if at is not None and to is not None:
        conditions += [f"i{n} = j{n}" for n in range(at.private)]
        conditions += [
            f"{text_of(a, [*parameters, *before])} = {text_of(b, [*parameters, *after])}"
            for a, b in zip(at.subscripts, to.subscripts, strict=True)
            if a is not None and b is not None
        ]
    spaces = f"[{', '.join(before)}] -> [{', '.join(after)}]"
    text = f"[{', '.join(parameters)}] -> {{ {spaces} : {' and '.join(conditions)} }}"
    return isl.Map.read_from_str(isl.DEFAULT_CONTEXT, text)


def is_same(found: isl.Map | None, expected: isl.Map) -> bool:
    return expected.is_empty() if found is None else bool(found.is_equal(expected))


@settings(max_examples=200, deadline=None)
@given(accesses())
def test_pairs_are_those_that_isl_finds_in_the_text(
    drawn: tuple[int, int, Around, Place | None, Around, Place | None],
) -> None:
    """In random nests: with triangles, steps, partial tiles, conditions, and subscripts of any kind."""
    common, _, *ends = drawn
    for number in range(common):
        same = [f"i{n} = j{n}" for n in range(number)]
        expected = pairs_of(*ends, *same, f"i{number} < j{number}")
        assert is_carried(*ends, number) != expected.is_empty()
        assert is_same(carried(*ends, number), expected)
    for depth in range(common + 1):
        assert is_same(
            within(*ends, depth), pairs_of(*ends, *(f"i{n} = j{n}" for n in range(depth)))
        )
    if meet_at_first(*ends):
        assert not pairs_of(*ends).is_empty()
