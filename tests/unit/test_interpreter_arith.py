"""arith and math on NumPy scalars and arrays: equal to each other and to what the definitions say."""

import numpy as np
import pytest
from stepwell.interpreters import arith as arith_semantics
from xdsl.dialects import arith
from xdsl.dialects import math as math_dialect
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    TensorType,
    VectorType,
    f32,
    f64,
    i1,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.interpreter import Interpreter

from .evaluators import TABLE, evaluator, values

index = IndexType()
DTYPE = {i1: np.bool_, i8: np.int8, i16: np.int16, i32: np.int32, i64: np.int64, index: np.int64}
FLOAT = {f32: np.float32, f64: np.float64}


def edge_integers(type_):
    if type_ == i1:
        return np.array([False, True])
    info = np.iinfo(DTYPE[type_])
    numbers = [
        0,
        1,
        -1,
        2,
        -2,
        3,
        7,
        -7,
        31,
        33,
        100,
        info.max,
        info.max - 1,
        info.min,
        info.min + 1,
    ]
    return np.array(numbers, DTYPE[type_])


def scalar_of(type_, value):
    return int(value) if type_ == index else value


def same(a, b):
    """Equal, NaNs alike, zeros of the same sign."""
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype.kind != "f":
        return a.dtype == b.dtype and bool(np.all(a == b))
    nan = np.isnan(a) & np.isnan(b)
    equal = (a == b) & (np.signbit(a) == np.signbit(b))
    return a.dtype == b.dtype and bool(np.all(nan | equal))


def test_every_operation_has_semantics():
    missing = [
        op.name
        for op in (*arith.Arith.operations, *math_dialect.Math.operations)
        if op not in TABLE
    ]
    assert missing == []


BINARY_INTEGER = [
    arith.AddiOp,
    arith.SubiOp,
    arith.MuliOp,
    arith.AndIOp,
    arith.OrIOp,
    arith.XOrIOp,
    arith.DivSIOp,
    arith.DivUIOp,
    arith.FloorDivSIOp,
    arith.CeilDivSIOp,
    arith.CeilDivUIOp,
    arith.RemSIOp,
    arith.RemUIOp,
    arith.MinSIOp,
    arith.MaxSIOp,
    arith.MinUIOp,
    arith.MaxUIOp,
    arith.ShLIOp,
    arith.ShRUIOp,
    arith.ShRSIOp,
    math_dialect.IPowIOp,
]


@pytest.mark.parametrize("type_", [i1, i8, i16, i32, i64, index], ids=str)
@pytest.mark.parametrize("op_type", BINARY_INTEGER, ids=lambda op: op.name)
def test_integer_arrays_equal_scalars(op_type, type_):
    """The array path (NumPy) against the scalar path (Python ints), on all pairs of edge values."""
    evaluate = evaluator(op_type(*values(type_, 2)))
    edge = edge_integers(type_)
    array = evaluate(edge[:, None], edge[None, :])
    assert array.dtype == DTYPE[type_]
    for i, a in enumerate(edge):
        for j, b in enumerate(edge):
            scalar = evaluate(scalar_of(type_, a), scalar_of(type_, b))
            assert scalar == array[i, j], (a, b)
            assert isinstance(scalar, int) if type_ == index else scalar.dtype == array.dtype


INT_MIN, INT_MAX = -(2**31), 2**31 - 1


@pytest.mark.parametrize(
    ("op_type", "a", "b", "expected"),
    [
        (arith.AddiOp, INT_MAX, 1, INT_MIN),
        (arith.SubiOp, INT_MIN, 1, INT_MAX),
        (arith.MuliOp, 65536, 65536, 0),
        (arith.DivSIOp, -7, 2, -3),
        (arith.DivSIOp, 7, 0, 0),
        (arith.DivSIOp, INT_MIN, -1, INT_MIN),
        (arith.DivUIOp, -1, 2, INT_MAX),
        (arith.DivUIOp, 5, 0, 0),
        (arith.FloorDivSIOp, -7, 2, -4),
        (arith.FloorDivSIOp, INT_MIN, -1, INT_MIN),
        (arith.CeilDivSIOp, -7, 2, -3),
        (arith.CeilDivSIOp, 7, 2, 4),
        (arith.CeilDivUIOp, -1, 2, INT_MIN),
        (arith.RemSIOp, -7, 3, -1),
        (arith.RemSIOp, -7, 0, 0),
        (arith.RemSIOp, INT_MIN, -1, 0),
        (arith.RemUIOp, -1, 10, 5),
        (arith.MinUIOp, -1, 3, 3),
        (arith.MaxUIOp, -1, 3, -1),
        (arith.MaxSIOp, -1, 3, 3),
        (arith.ShLIOp, 1, 31, INT_MIN),
        (arith.ShLIOp, 1, 32, 0),
        (arith.ShRUIOp, -1, 1, INT_MAX),
        (arith.ShRSIOp, -8, 1, -4),
        (arith.ShRSIOp, -8, 32, 0),
        (arith.ShRSIOp, -8, -1, 0),
        (math_dialect.IPowIOp, 3, 4, 81),
        (math_dialect.IPowIOp, 2, -1, 0),
        (math_dialect.IPowIOp, -1, -3, -1),
        (math_dialect.IPowIOp, 1, -3, 1),
        (math_dialect.IPowIOp, 0, 0, 1),
        (math_dialect.IPowIOp, 2, 32, 0),
    ],
)
def test_integer_values(op_type, a, b, expected):
    evaluate = evaluator(op_type(*values(i32, 2)))
    assert evaluate(np.int32(a), np.int32(b)) == expected
    assert evaluate(np.array([a], np.int32), np.array([b], np.int32))[0] == expected


def test_booleans_are_one_bit():
    true, false = np.True_, np.False_
    assert evaluator(arith.AddiOp(*values(i1, 2)))(true, true) == false
    assert evaluator(arith.MulSIExtendedOp(*values(i1, 2)))(true, true)[0] == true
    # Signed, true is -1.
    assert evaluator(arith.CmpiOp(*values(i1, 2), "slt"))(true, false) == true
    assert evaluator(arith.CmpiOp(*values(i1, 2), "ult"))(true, false) == false
    assert evaluator(arith.MaxSIOp(*values(i1, 2)))(true, false) == false
    assert evaluator(arith.ExtSIOp(*values(i1), i32))(true) == -1
    assert evaluator(arith.ExtUIOp(*values(i1), i32))(true) == 1
    assert evaluator(arith.SIToFPOp(*values(i1), f32))(true) == -1.0
    assert evaluator(arith.UIToFPOp(*values(i1), f32))(true) == 1.0


def test_extended_arithmetic():
    add = evaluator(arith.AddUIExtendedOp(*values(i32, 2)))
    assert add(np.int32(-1), np.int32(2)) == (1, True)
    total, carry = add(np.array([-1, 1], np.int32), np.array([2, 2], np.int32))
    assert list(total) == [1, 3]
    assert list(carry) == [True, False]
    signed = evaluator(arith.MulSIExtendedOp(*values(i32, 2)))
    assert signed(np.int32(-1), np.int32(5)) == (-5, -1)
    unsigned = evaluator(arith.MulUIExtendedOp(*values(i32, 2)))
    assert unsigned(np.int32(-1), np.int32(5)) == (-5, 4)


COMPARISONS = ["eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"]


@pytest.mark.parametrize("type_", [i1, i8, i64, index], ids=str)
@pytest.mark.parametrize("predicate", COMPARISONS)
def test_integer_comparisons(type_, predicate):
    evaluate = evaluator(arith.CmpiOp(*values(type_, 2), predicate))
    edge = edge_integers(type_)
    found = evaluate(edge[:, None], edge[None, :])
    width = 1 if type_ == i1 else edge.itemsize * 8
    ints = [-int(v) if type_ == i1 else int(v) for v in edge]
    if predicate[0] == "u":
        ints = [v % (1 << width) for v in ints]
    compare = {"eq": "__eq__", "ne": "__ne__"}.get(predicate, f"__{predicate[1:]}__")
    expected = [[getattr(a, compare)(b) for b in ints] for a in ints]
    assert found.dtype == np.bool_
    assert np.array_equal(found, expected)
    scalar = evaluate(scalar_of(type_, edge[0]), scalar_of(type_, edge[1]))
    assert isinstance(scalar, np.bool_)
    assert scalar == found[0, 1]


def test_casts_to_float():
    assert evaluator(arith.UIToFPOp(*values(i8), f32))(np.int8(-1)) == 255.0
    assert evaluator(arith.SIToFPOp(*values(i8), f32))(np.int8(-1)) == -1.0
    big = np.int64(2**63 - 1)
    assert evaluator(arith.SIToFPOp(*values(i64), f32))(big) == np.float32(2**63)
    assert evaluator(arith.UIToFPOp(*values(i64), f64))(np.int64(-1)) == 2.0**64


@pytest.mark.parametrize("source", [i1, i8, i32, i64], ids=str)
@pytest.mark.parametrize("target", [i1, i8, i32, i64, index], ids=str)
def test_integer_resizing(source, target):
    edge = edge_integers(source)
    kinds = [arith.IndexCastOp] if index in (source, target) else [arith.ExtSIOp, arith.ExtUIOp]
    if index not in (source, target) and source.width.data > target.width.data:
        kinds = [arith.TruncIOp]
    elif source == target:
        return
    for kind in kinds:
        evaluate = evaluator(kind(*values(source), target))
        found = evaluate(edge)
        assert found.dtype == DTYPE[target]
        for value, result in zip(edge, found, strict=True):
            number = -int(value) if source == i1 else int(value)
            if kind is arith.ExtUIOp:
                number %= 1 << source.width.data
            expected = bool(number & 1) if target == i1 else np.array(number).astype(DTYPE[target])
            assert result == expected
            assert evaluate(value) == expected
            assert isinstance(evaluate(value), int) == (target == index)


def test_float_resizing_and_bitcast():
    narrow = evaluator(arith.TruncFOp(*values(f64), f32))
    assert same(narrow(np.float64(0.1)), np.float32(0.1))
    assert narrow(np.float64(1e300)) == np.inf
    assert evaluator(arith.ExtFOp(*values(f32), f64))(np.float32(0.5)).dtype == np.float64
    bits = evaluator(arith.BitcastOp(*values(f32), i32))
    assert bits(np.float32(1.0)) == 0x3F800000
    assert bits(np.array([1.0], np.float32))[0] == 0x3F800000


def test_select():
    evaluate = evaluator(arith.SelectOp(*values(i1), *values(f32, 2)))
    one, two = np.float32(1), np.float32(2)
    assert same(evaluate(np.True_, one, two), one)
    assert same(evaluate(np.array([True, False]), one, two), np.array([1, 2], np.float32))


def test_bit_counts():
    x = np.array([0, 1, -1, 8], np.int32)
    for op_type, expected in (
        (math_dialect.CountLeadingZerosOp, [32, 31, 0, 28]),
        (math_dialect.CountTrailingZerosOp, [32, 0, 0, 3]),
        (math_dialect.CtPopOp, [0, 1, 32, 1]),
    ):
        evaluate = evaluator(op_type(*values(i32)))
        assert list(evaluate(x)) == expected
        assert [evaluate(v) for v in x] == expected


def test_absolute_and_integer_power_of_float():
    assert evaluator(math_dialect.AbsIOp(*values(i32)))(np.int32(INT_MIN)) == INT_MIN
    power = evaluator(math_dialect.FPowIOp(*values(f32), *values(i32)))
    assert same(power(np.float32(-2), np.int32(3)), np.float32(-8))
    assert same(power(np.float32(2), np.int32(-1)), np.float32(0.5))


def test_constants():
    def value(attr):
        return evaluator(arith.ConstantOp(attr))()

    assert same(value(FloatAttr(0.1, f32)), np.float32(0.1))
    assert same(value(IntegerAttr(-1, i1)), np.True_)
    assert same(value(IntegerAttr(-3, i8)), np.int8(-3))
    assert isinstance(value(IntegerAttr(5, index)), int)
    dense = DenseIntOrFPElementsAttr.from_list(TensorType(f32, [2, 2]), [1.0, 2.0, 3.0, 4.0])
    assert same(value(dense), np.array([[1, 2], [3, 4]], np.float32))
    splat = DenseIntOrFPElementsAttr.from_list(VectorType(i32, [4]), [7])
    assert same(value(splat), np.full(4, 7, np.int32))
    flags = DenseIntOrFPElementsAttr.from_list(TensorType(i1, [3]), [1, 0, 1])
    assert same(value(flags), np.array([True, False, True]))


def test_runs_under_the_plain_framework():
    """The evaluators are ordinary implementations for xDSL's own interpreter."""
    interpreter = Interpreter(None)
    interpreter.register_implementations(arith_semantics.ArithFunctions())
    op = arith.AddiOp(*values(i32, 2))
    assert interpreter.run_op(op, (np.int32(2), np.int32(3))) == (5,)
    extended = arith.AddUIExtendedOp(*values(i32, 2))
    assert interpreter.run_op(extended, (np.int32(-1), np.int32(1))) == (0, True)
