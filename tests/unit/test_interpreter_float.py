"""Floats in arith and math, on NumPy scalars and arrays, against the definitions."""

import math
from fractions import Fraction

import numpy as np
import pytest
from xdsl.dialects import arith
from xdsl.dialects import math as math_dialect
from xdsl.dialects.builtin import f32, f64, i1, i8, i16, i32, i64

from .evaluators import evaluator, values

INTEGER = {i1: np.bool_, i8: np.int8, i16: np.int16, i32: np.int32, i64: np.int64}
FLOAT = {f32: np.float32, f64: np.float64}


def edge_floats(type_):
    tiny, huge = np.finfo(FLOAT[type_]).smallest_subnormal, np.finfo(FLOAT[type_]).max
    numbers = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 0.49999997, 3e5, -7.25, 1e-3]
    return np.array([*numbers, tiny, -tiny, huge, -huge, np.inf, -np.inf, np.nan], FLOAT[type_])


def same(a, b):
    """Equal, NaNs alike, zeros of the same sign."""
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype.kind != "f":
        return a.dtype == b.dtype and bool(np.all(a == b))
    nan = np.isnan(a) & np.isnan(b)
    equal = (a == b) & (np.signbit(a) == np.signbit(b))
    return a.dtype == b.dtype and bool(np.all(nan | equal))


@pytest.mark.parametrize(
    ("predicate", "less", "equal", "greater", "unordered"),
    [
        ("false", 0, 0, 0, 0),
        ("oeq", 0, 1, 0, 0),
        ("ogt", 0, 0, 1, 0),
        ("oge", 0, 1, 1, 0),
        ("olt", 1, 0, 0, 0),
        ("ole", 1, 1, 0, 0),
        ("one", 1, 0, 1, 0),
        ("ord", 1, 1, 1, 0),
        ("ueq", 0, 1, 0, 1),
        ("ugt", 0, 0, 1, 1),
        ("uge", 0, 1, 1, 1),
        ("ult", 1, 0, 0, 1),
        ("ule", 1, 1, 0, 1),
        ("une", 1, 0, 1, 1),
        ("uno", 0, 0, 0, 1),
        ("true", 1, 1, 1, 1),
    ],
)
def test_float_comparisons(predicate, less, equal, greater, unordered):
    evaluate = evaluator(arith.CmpfOp(*values(f32, 2), predicate))
    a = np.array([1, 2, 3, np.nan, 1], np.float32)
    b = np.array([2, 2, 2, 1, np.nan], np.float32)
    expected = [less, equal, greater, unordered, unordered]
    assert list(evaluate(a, b)) == expected
    assert [evaluate(x, y) for x, y in zip(a, b, strict=True)] == expected
    assert evaluate(a[0], b[0]).dtype == np.bool_


BINARY_FLOAT = [
    arith.AddfOp,
    arith.SubfOp,
    arith.MulfOp,
    arith.DivfOp,
    arith.MaximumfOp,
    arith.MinimumfOp,
    arith.MaxnumfOp,
    arith.MinnumfOp,
    math_dialect.PowFOp,
    math_dialect.Atan2Op,
    math_dialect.CopySignOp,
]


@pytest.mark.parametrize("type_", [f32, f64], ids=str)
@pytest.mark.parametrize("op_type", BINARY_FLOAT, ids=lambda op: op.name)
def test_float_arrays_equal_scalars(op_type, type_):
    evaluate = evaluator(op_type(*values(type_, 2)))
    edge = edge_floats(type_)
    array = evaluate(edge[:, None], edge[None, :])
    assert array.dtype == FLOAT[type_]
    for i, a in enumerate(edge):
        for j, b in enumerate(edge):
            assert same(evaluate(a, b), array[i, j]), (a, b)


@pytest.mark.parametrize("type_", [f32, f64], ids=str)
def test_extremes(type_):
    kind = FLOAT[type_]
    nan, zero, minus = kind(np.nan), kind(0.0), kind(-0.0)
    maximum = evaluator(arith.MaximumfOp(*values(type_, 2)))
    minimum = evaluator(arith.MinimumfOp(*values(type_, 2)))
    maxnum = evaluator(arith.MaxnumfOp(*values(type_, 2)))
    minnum = evaluator(arith.MinnumfOp(*values(type_, 2)))
    for a, b in ((minus, zero), (zero, minus)):
        assert same(maximum(a, b), zero)
        assert same(minimum(a, b), minus)
        assert same(maximum(np.array([a]), b), [zero] if type_ == f64 else np.array([zero]))
    for a, b in ((nan, kind(1)), (kind(1), nan)):
        assert np.isnan(maximum(a, b))
        assert np.isnan(minimum(a, b))
        assert maxnum(a, b) == 1
        assert minnum(a, b) == 1
    assert maximum(kind(3), kind(3)) == 3


UNARY = {
    arith.NegfOp: lambda x: -x,
    math_dialect.AbsFOp: abs,
    math_dialect.CeilOp: np.ceil,
    math_dialect.FloorOp: np.floor,
    math_dialect.TruncOp: np.trunc,
    math_dialect.SqrtOp: np.sqrt,
    math_dialect.ExpOp: np.exp,
    math_dialect.Exp2Op: np.exp2,
    math_dialect.ExpM1Op: np.expm1,
    math_dialect.LogOp: np.log,
    math_dialect.Log1pOp: np.log1p,
    math_dialect.Log2Op: np.log2,
    math_dialect.Log10Op: np.log10,
    math_dialect.SinOp: np.sin,
    math_dialect.CosOp: np.cos,
    math_dialect.TanOp: np.tan,
    math_dialect.SinhOp: np.sinh,
    math_dialect.CoshOp: np.cosh,
    math_dialect.TanhOp: np.tanh,
    math_dialect.AsinOp: np.arcsin,
    math_dialect.AcosOp: np.arccos,
    math_dialect.AtanOp: np.arctan,
    math_dialect.AsinhOp: np.arcsinh,
    math_dialect.AcoshOp: np.arccosh,
    math_dialect.AtanhOp: np.arctanh,
    math_dialect.CbrtOp: np.cbrt,
    math_dialect.RsqrtOp: lambda x: 1 / np.sqrt(x),
    math_dialect.ErfOp: np.vectorize(math.erf, otypes=[np.float64]),
    math_dialect.RoundEvenOp: np.round,
}


@pytest.mark.parametrize("type_", [f32, f64], ids=str)
@pytest.mark.parametrize("op_type", UNARY, ids=lambda op: op.name)
def test_unary_functions(op_type, type_):
    """Against NumPy in double precision, rounded once."""
    evaluate = evaluator(op_type(*values(type_)))
    edge = edge_floats(type_)
    with np.errstate(all="ignore"):
        expected = UNARY[op_type](edge.astype(np.float64)).astype(FLOAT[type_])
    found = evaluate(edge)
    np.testing.assert_array_max_ulp(
        found[np.isfinite(expected)], expected[np.isfinite(expected)], 1
    )
    assert np.array_equal(np.nan_to_num(found), np.nan_to_num(expected)) or type_ == f64
    for x, y in zip(edge, found, strict=True):
        scalar = evaluate(x)
        assert scalar.dtype == FLOAT[type_]
        assert same(scalar, y) or abs(float(scalar) - float(y)) <= np.spacing(abs(y)), x
    assert evaluate(np.empty((0, 2), FLOAT[type_])).shape == (0, 2)


def test_round_half_away_from_zero():
    evaluate = evaluator(math_dialect.RoundOp(*values(f32)))
    x = np.array([0.5, 1.5, 2.5, -0.5, -2.5, 0.49999997, -0.0, 8388609, np.inf], np.float32)
    expected = np.array([1, 2, 3, -1, -3, 0, -0.0, 8388609, np.inf], np.float32)
    assert same(evaluate(x), expected)
    assert all(same(evaluate(a), b) for a, b in zip(x, expected, strict=True))


def test_round_to_even():
    evaluate = evaluator(math_dialect.RoundEvenOp(*values(f32)))
    x = np.array([0.5, 1.5, 2.5, -0.5, -2.5], np.float32)
    assert same(evaluate(x), np.array([0, 2, 2, -0.0, -2], np.float32))


@pytest.mark.parametrize("type_", [f32, f64], ids=str)
def test_fma_rounds_once(type_):
    """Against exact rational arithmetic."""
    evaluate = evaluator(math_dialect.FmaOp(*values(type_, 3)))
    generator = np.random.default_rng(0)
    kind = FLOAT[type_]
    a, b = generator.standard_normal((2, 400)).astype(kind)
    # A sum that nearly cancels is where a second rounding shows.
    c = (-a.astype(np.float64) * b * (1 + generator.choice([0, 1e-9, 1e-3], 400))).astype(kind)
    found = evaluate(a, b, c)
    for x, y, z, r in zip(a, b, c, found, strict=True):
        exact = Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))
        neighbours = [np.nextafter(r, kind(-np.inf)), r, np.nextafter(r, kind(np.inf))]
        errors = [abs(Fraction(float(n)) - exact) for n in neighbours]
        assert errors[1] == min(errors)
        assert same(evaluate(x, y, z), r)
    tiny = np.finfo(kind).smallest_normal
    assert evaluate(tiny, kind(0.5), tiny) == tiny * kind(1.5)
    assert np.isnan(evaluate(kind(np.inf), kind(0), kind(1)))
    assert evaluate(kind(np.inf), kind(2), kind(1)) == np.inf


@pytest.mark.parametrize("source", [f32, f64], ids=str)
@pytest.mark.parametrize("target", [i1, i8, i16, i32, i64], ids=str)
@pytest.mark.parametrize("op_type", [arith.FPToSIOp, arith.FPToUIOp], ids=lambda op: op.name)
def test_casts_from_float_saturate(op_type, source, target):
    evaluate = evaluator(op_type(*values(source), target))
    unsigned = op_type is arith.FPToUIOp
    width = target.width.data
    low = 0 if unsigned else -(1 << (width - 1))
    high = (1 << (width if unsigned else width - 1)) - 1
    x = np.array(
        [
            0,
            -0.0,
            0.9,
            -0.9,
            1.5,
            -1.5,
            100,
            127,
            128,
            -128,
            -129,
            255,
            256,
            3e9,
            1e19,
            -1e19,
            np.inf,
            -np.inf,
            np.nan,
        ],
        FLOAT[source],
    )
    exact = [0 if v != v else min(max(v, low), high) for v in map(float, x)]
    expected = [int(v) for v in exact]
    wrapped = [
        v - (1 << width) if v >= 1 << (width - 1) and target != i1 else v & 1 if target == i1 else v
        for v in expected
    ]
    assert list(evaluate(x)) == wrapped
    assert [evaluate(v) for v in x] == wrapped
    assert evaluate(x).dtype == INTEGER[target]
