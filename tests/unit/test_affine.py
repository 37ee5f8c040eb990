"""Affine expressions: their text, their bounds, their expansion to arith."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from stepwell.dialects.affine_atoms import binary_expr, constant_expr, dim_expr
from stepwell.dialects.affine_bounds import (
    SEARCH_LIMIT,
    attained_range,
    bounds,
    box,
    has_each_term_once,
    is_within,
    linear_form,
    why_not_affine,
    without_divisions,
)
from stepwell.dialects.affine_substitution import (
    difference,
    product,
    quotient,
    remainder,
    substituted,
    sum_of,
    used_dims,
    value_at,
)
from stepwell.dialects.affine_text import compact, format_affine
from stepwell.dialects.loop import LoadOp
from stepwell.driver.pipeline_spec import parse_passes
from stepwell.errors import StepwellError
from stepwell.frontend.text import parse_text
from stepwell.interpreters.harness import interpret
from stepwell.transforms.step_support.rewrite import collected
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineExpr,
    AffineMap,
)

NAMES = ("%i", "%j", "%k")

dims = st.integers(0, 2).map(AffineExpr.dimension)
constants = st.integers(-5, 5).map(AffineExpr.constant)
positive = st.integers(1, 5)


def _larger(inner: st.SearchStrategy[AffineExpr]) -> st.SearchStrategy[AffineExpr]:
    return st.one_of(
        st.builds(lambda a, b: a + b, inner, inner),
        st.builds(lambda a, b: a - b, inner, inner),
        st.builds(lambda a, c: a * c, inner, st.integers(-4, 4)),
        st.builds(lambda a, c: a // c, inner, positive),
        st.builds(lambda a, c: a % c, inner, positive),
        st.builds(lambda a, c: a.ceil_div(c), inner, positive),
    )


expressions = st.recursive(st.one_of(dims, constants), _larger, max_leaves=8)
extents = st.lists(st.integers(1, 6), min_size=3, max_size=3)


@given(
    expressions, st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 9)), min_size=3, max_size=3)
)
def test_nothing_is_to_be_worked_out_where_each_term_is_there_once(
    expr: AffineExpr, spans: list[tuple[int, int]]
) -> None:
    """Whatever is known of the dimensions, as no expression of that kind is looked at."""
    if has_each_term_once(expr):
        ranges = [(low, low + length) for low, length in spans]
        assert collected(without_divisions(expr, ranges, [1, 2, 4])) == expr


@pytest.mark.parametrize(
    ("coefficients", "number"), [((), 0), ((1,), 0), ((2, 0, 1), 3), ((-1, 4, 1), -2)]
)
def test_sums_of_different_dimensions_have_each_term_once(
    coefficients: tuple[int, ...], number: int
) -> None:
    terms = [dim_expr(n) * factor for n, factor in enumerate(coefficients) if factor]
    expr = sum(terms, constant_expr(number)) if terms else constant_expr(number)
    assert has_each_term_once(expr)
    assert not has_each_term_once(expr + dim_expr(0) + dim_expr(0))
    assert not has_each_term_once(expr + dim_expr(1) // 2)
    assert not has_each_term_once(
        AffineBinaryOpExpr(AffineBinaryOpKind.Add, expr, constant_expr(0))
    )


def load_of(text: str) -> LoadOp:
    module = parse_text(
        "func.func @f(%m: memref<?xf32>, %i: index, %j: index, %k: index) {\n"
        f"  %v = loop.load %m[{text}] : memref<?xf32>\n  func.return\n}}"
    )
    return next(op for op in module.walk() if isinstance(op, LoadOp))


def parsed(text: str) -> AffineExpr:
    """The expression `text` over %i, %j, %k as dimensions 0, 1, 2."""
    load = load_of(text)
    position = [NAMES.index(f"%{value.name_hint}") for value in load.operands_]
    expr = load.map.data.results[0]
    return expr.replace_dims_and_symbols([AffineExpr.dimension(p) for p in position], ())


def all_points(sizes: list[int]) -> list[tuple[int, ...]]:
    return list(np.ndindex(*sizes))


@given(expressions)
def test_what_is_printed_is_parsed_back(expr: AffineExpr):
    text = format_affine(expr, NAMES)
    assert parsed(text) == expr
    assert format_affine(parsed(text), NAMES) == text


@given(expressions, st.lists(expressions, max_size=3))
def test_dimensions_are_replaced_as_xdsl_does(expr: AffineExpr, replacements: list[AffineExpr]):
    assert substituted(expr, replacements) == expr.replace_dims_and_symbols(replacements, ())


@given(expressions, expressions)
def test_differences_and_values_are_those_of_xdsl(expr: AffineExpr, other: AffineExpr):
    assert difference(expr, other) == expr - other
    assert all(product(expr, factor) == expr * factor for factor in (-2, 0, 1, 3))
    assert all(quotient(expr, divisor) == expr // divisor for divisor in (1, 3))
    assert all(remainder(expr, divisor) == expr % divisor for divisor in (1, 3))
    for point in ((0, 0, 0), (3, -2, 7), (-5, 4, 1)):
        assert value_at(expr, point) == expr.eval(point, ())


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("3 - %i", "-%i + 3"),
        ("-(%i + %j)", "-%i - %j"),
        ("%i - (%j - 2)", "%i + (-%j + 2)"),
        ("2 * %i * 3", "%i * 6"),
        ("(%i floordiv 2) * 2", "%i floordiv 2 * 2"),
        ("%i floordiv (1 + 1)", "%i floordiv 2"),
        ("(%i mod 4) mod 2", "%i mod 4 mod 2"),
        ("-%i mod 3", "-%i mod 3"),
        ("-(%i mod 3)", "-(%i mod 3)"),
        ("%i - %j mod 3", "%i - %j mod 3"),
        ("%i - 2 * %j", "%i - %j * 2"),
        ("%i - (%j + %k)", "%i + (-%j - %k)"),
        ("7", "7"),
        ("-7", "-7"),
    ],
)
def test_text(text: str, printed: str):
    assert format_affine(parsed(text), NAMES) == printed


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("%i * %j", "found a product of two variables, expected an affine expression"),
        ("%i floordiv %j", "found 'floordiv' by a variable, expected an affine expression"),
        ("%i mod 0", "found 'mod' by 0, expected an affine expression"),
        ("4 ceildiv 0", "found 'ceildiv' by 0, expected an affine expression"),
        ("%i floordiv -2", "found 'floordiv' by -2, expected an affine expression"),
        ("%i +", "found ']', expected primary expression"),
        ("%i ** 2", "found '*', expected primary expression"),
    ],
)
def test_text_that_is_not_affine(text: str, message: str):
    with pytest.raises(StepwellError) as error:
        load_of(text)
    assert error.value.message.startswith(message)
    assert (error.value.where or "").startswith("<string>:2:")


def _binary(kind: AffineBinaryOpKind, factor: int) -> AffineExpr:
    return AffineBinaryOpExpr(kind, AffineExpr.dimension(0), AffineConstantExpr(factor))


@pytest.mark.parametrize(
    ("expr", "reason"),
    [
        (AffineExpr.symbol(0) + 1, "is a symbol"),
        (_binary(AffineBinaryOpKind.Mod, 0), "divides by 0"),
        (_binary(AffineBinaryOpKind.FloorDiv, -3), "divides by -3"),
        (
            AffineBinaryOpExpr(
                AffineBinaryOpKind.Mul, AffineExpr.dimension(0), AffineExpr.dimension(1)
            ),
            "does not have a number on its right",
        ),
    ],
)
def test_why_not_affine(expr: AffineExpr, reason: str):
    assert reason in (why_not_affine(expr) or "")


@given(expressions, expressions)
def test_sums_and_dimensions_are_those_of_xdsl(expr: AffineExpr, other: AffineExpr):
    assert sum_of(expr, other) == expr + other
    assert used_dims(expr) == expr.used_dims()


@given(st.sampled_from(AffineBinaryOpKind), expressions, expressions)
def test_what_is_made_of_two_expressions_is_as_xdsl_makes_it(
    kind: AffineBinaryOpKind, expr: AffineExpr, other: AffineExpr
):
    quick, plain = binary_expr(kind, expr, other), AffineBinaryOpExpr(kind, expr, other)
    assert quick == plain and hash(quick) == hash(plain) and repr(quick) == repr(plain)


def test_dimensions_and_numbers_are_made_once():
    assert dim_expr(3) is dim_expr(3) and dim_expr(3) == AffineExpr.dimension(3)
    assert constant_expr(-7) is constant_expr(-7) and constant_expr(-7) == AffineExpr.constant(-7)
    assert constant_expr(np.int64(1)) is not constant_expr(1)


@given(expressions)
def test_what_is_parsed_is_affine(expr: AffineExpr):
    assert why_not_affine(expr) is None


@given(expressions, extents)
def test_bounds_hold_at_every_point(expr: AffineExpr, sizes: list[int]):
    low, high = bounds(expr, box(sizes))
    values = [expr.eval(point, ()) for point in all_points(sizes)]
    assert low is not None and high is not None
    assert low <= min(values) and max(values) <= high
    if linear_form(expr, 3) is not None:
        assert (low, high) == (min(values), max(values))


@given(expressions, extents)
def test_attained_range_is_exact_on_small_boxes(expr: AffineExpr, sizes: list[int]):
    values = [expr.eval(point, ()) for point in all_points(sizes)]
    assert attained_range(expr, sizes) == (min(values), max(values))


def test_attained_range_of_a_large_box_is_attained():
    i, j, _ = (AffineExpr.dimension(n) for n in range(3))
    sizes = [SEARCH_LIMIT, 3, 1]
    low, high = attained_range((i * 3 + j) % 7, sizes)
    assert 0 <= low <= high <= 6
    assert attained_range(i * 3 + j, sizes) == (0, 3 * SEARCH_LIMIT - 1)


@given(expressions, extents, st.integers(0, 2))
def test_bounds_with_an_unknown_extent(expr: AffineExpr, sizes: list[int], unknown: int):
    partly = [DYNAMIC_INDEX if n == unknown else size for n, size in enumerate(sizes)]
    low, high = bounds(expr, box(partly))
    values = [expr.eval(point, ()) for point in all_points(sizes)]
    assert low is None or low <= min(values)
    assert high is None or max(values) <= high


def test_is_within():
    i = AffineExpr.dimension(0)
    assert is_within(i, [4], 4)
    assert not is_within(i, [4], 3)
    assert not is_within(i - 1, [4], 4)
    assert is_within(i % 3, [DYNAMIC_INDEX], 3)
    assert not is_within(i, [DYNAMIC_INDEX], 3)


@given(expressions)
def test_linear_form_evaluates_to_the_same(expr: AffineExpr):
    linear = linear_form(expr, 3)
    if linear is None:
        return
    coefficients, constant = linear
    for point in all_points([2, 2, 2]):
        total = constant + sum(c * p for c, p in zip(coefficients, point, strict=True))
        assert total == expr.eval(point, ())


@given(expressions)
def test_compact_keeps_values_and_names_each_operand_once(expr: AffineExpr):
    module = parse_text("func.func @f(%i: index, %j: index) {\n func.return\n}")
    args = next(op for op in module.body.block.ops).regions[0].blocks[0].args
    operands = [args[0], args[1], args[0]]
    (compacted,), values = compact([expr], operands)
    assert len(set(values)) == len(values)
    assert expr.used_dims() == set() or compacted.used_dims() == set(range(len(values)))
    for i, j in all_points([3, 3]):
        known = {args[0]: i, args[1]: j}
        assert compacted.eval([known[v] for v in values], ()) == expr.eval([i, j, i], ())


@given(st.lists(expressions, min_size=1, max_size=4), extents)
def test_expansion_to_arith(exprs: list[AffineExpr], sizes: list[int]):
    """Loads at the subscripts of `exprs`, shifted to be inside, before and after convert-loop-to-core."""
    lows = [bounds(expr, box(sizes)) for expr in exprs]
    shifted = [expr - (low or 0) for expr, (low, _) in zip(exprs, lows, strict=True)]
    shape = [(high or 0) - (low or 0) + 1 for low, high in lows]
    size = "x".join(map(str, sizes))
    source = f"memref<{'x'.join(map(str, shape))}xi64>"
    subscripts = ", ".join(format_affine(expr, NAMES) for expr in shifted)
    loops = "\n".join(
        f'loop.for parallel "{name[1:]}" {name} = 0 to {extent} {{'
        for name, extent in zip(NAMES, sizes, strict=True)
    )
    module = parse_text(
        f"func.func @f(%x: {source}, %y: memref<{size}xi64> {{stepwell.result}}) {{\n{loops}\n"
        f"  %v = loop.load %x[{subscripts}] : {source}\n"
        f"  loop.store %v, %y[%i, %j, %k] : memref<{size}xi64>\n}}}}}}\n  func.return\n}}"
    )
    x = np.arange(np.prod(shape), dtype=np.int64).reshape(shape)
    grids = np.indices(sizes)
    map_ = AffineMap(3, 0, tuple(shifted))
    expected = x[tuple(np.asarray(e.eval(list(grids), ())) for e in map_.results)]
    assert np.array_equal(interpret(module, [x])[0], np.broadcast_to(expected, sizes))
    (lower,) = parse_passes("convert-loop-to-core")
    lower.apply(None, module)
    assert np.array_equal(interpret(module, [x])[0], np.broadcast_to(expected, sizes))
