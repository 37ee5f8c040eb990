"""Level 4 to level 5 to native code, compared with NumPy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from stepwell.errors import StepwellError
from stepwell.frontend.text import parse_text
from stepwell.lowering.core_to_llvm import lowered_to_llvm

SIZE = 16


def elementwise(type_: str, lines: list[str], results: list[str] | None = None) -> str:
    """
    A function of a and b of `type_` (and c, an i1) that stores each line's value in a row of its output.
    """
    results = results or [type_] * len(lines)
    outs = ", ".join(
        f"%o{i}: memref<{SIZE}x{t}> {{stepwell.result}}" for i, t in enumerate(results)
    )
    body = "\n".join(
        f"%r{i} = {line}\nmemref.store %r{i}, %o{i}[%i] : memref<{SIZE}x{t}>"
        for i, (line, t) in enumerate(zip(lines, results, strict=True))
    )
    return f"""
func.func @main(%x: memref<{SIZE}x{type_}>, %y: memref<{SIZE}x{type_}>, %z: memref<{SIZE}xi1>, {outs}) {{
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %n = arith.constant {SIZE} : index
  scf.for %i = %zero to %n step %one {{
    %a = memref.load %x[%i] : memref<{SIZE}x{type_}>
    %b = memref.load %y[%i] : memref<{SIZE}x{type_}>
    %c = memref.load %z[%i] : memref<{SIZE}xi1>
    {body}
  }}
  func.return
}}
"""


DTYPES = {"i8": np.int8, "i32": np.int32, "i64": np.int64, "f32": np.float32, "f64": np.float64}


def integers(type_: str, seed: int, *, low: int | None = None) -> np.ndarray:
    info = np.iinfo(DTYPES[type_])
    rng = np.random.default_rng(seed)
    values = rng.integers(info.min if low is None else low, info.max, SIZE, DTYPES[type_], True)
    values[:4] = [info.max, info.max if low else info.min, 1, 7]
    return values


def floor_divide(a, b):
    return [x // y for x, y in zip(a.tolist(), b.tolist(), strict=True)]


def truncating(a, b):
    return [
        abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
        for x, y in zip(a.tolist(), b.tolist(), strict=True)
    ]


@pytest.mark.parametrize("type_", ["i8", "i32", "i64"])
def test_integer_arithmetic(compiled, type_: str):
    dtype = DTYPES[type_]
    udtype = np.dtype(dtype).str.replace("i", "u")
    bits = np.dtype(dtype).itemsize * 8
    a, b = integers(type_, 1), integers(type_, 2)
    b[b == 0] = 3
    a[(a == np.iinfo(dtype).min) & (b == -1)] = 5
    c = np.arange(SIZE) % 3 == 0
    ua, ub = a.view(udtype), b.view(udtype)
    big = (1 << bits) - 1
    table = {
        "addi": a + b,
        "subi": a - b,
        "muli": a * b,
        "andi": a & b,
        "ori": a | b,
        "xori": a ^ b,
        "divsi": truncating(a, b),
        "divui": ua // ub,
        "remsi": np.fmod(a, b),
        "remui": ua % ub,
        "floordivsi": floor_divide(a, b),
        "ceildivsi": [-(-x // y) for x, y in zip(a.tolist(), b.tolist(), strict=True)],
        "ceildivui": [-(-x // y) for x, y in zip(ua.tolist(), ub.tolist(), strict=True)],
        "maxsi": np.maximum(a, b),
        "minsi": np.minimum(a, b),
        "maxui": np.maximum(ua, ub),
        "minui": np.minimum(ua, ub),
    }
    lines = [f"arith.{name} %a, %b : {type_}" for name in table]
    expected = [
        np.asarray([int(v) & big for v in values], udtype).view(dtype) for values in table.values()
    ]
    lines += [
        f"arith.select %c, %a, %b : {type_}",
        f"math.absi %a : {type_}",
        f"math.ctpop %a : {type_}",
        f"math.ctlz %a : {type_}",
        f"math.cttz %a : {type_}",
    ]
    popcount = [bin(v).count("1") for v in ua.tolist()]
    leading = [bits - v.bit_length() for v in ua.tolist()]
    trailing = [(v & -v).bit_length() - 1 if v else bits for v in ua.tolist()]
    expected += [
        np.where(c, a, b),
        np.abs(a),
        *(np.asarray(v, dtype) for v in (popcount, leading, trailing)),
    ]
    for line, got, want in zip(
        lines, compiled(elementwise(type_, lines))(a, b, c), expected, strict=True
    ):
        np.testing.assert_array_equal(got, want, err_msg=line)


@pytest.mark.parametrize("type_", ["i8", "i32", "i64"])
def test_shifts(compiled, type_: str):
    bits = np.dtype(DTYPES[type_]).itemsize * 8
    a = integers(type_, 3)
    b = (np.arange(SIZE) % bits).astype(DTYPES[type_])
    ua = a.view(a.dtype.str.replace("i", "u"))
    lines = [f"arith.{name} %a, %b : {type_}" for name in ("shli", "shrsi", "shrui")]
    left, arithmetic, logical = compiled(elementwise(type_, lines))(a, b, np.zeros(SIZE, bool))
    np.testing.assert_array_equal(left, a << b)
    np.testing.assert_array_equal(arithmetic, a >> b)
    np.testing.assert_array_equal(logical, (ua >> b.view(ua.dtype)).view(a.dtype))


@pytest.mark.parametrize("type_", ["i8", "i32", "i64"])
def test_integer_comparisons(compiled, type_: str):
    a, b = integers(type_, 4), integers(type_, 5)
    b[::3] = a[::3]
    ua, ub = a.view(a.dtype.str.replace("i", "u")), b.view(b.dtype.str.replace("i", "u"))
    table = {
        "eq": a == b, "ne": a != b, "slt": a < b, "sle": a <= b, "sgt": a > b, "sge": a >= b,
        "ult": ua < ub, "ule": ua <= ub, "ugt": ua > ub, "uge": ua >= ub,
    }  # fmt: skip
    lines = [f"arith.cmpi {name}, %a, %b : {type_}" for name in table]
    results = compiled(elementwise(type_, lines, ["i1"] * len(lines)))(a, b, a == b)
    for name, got, want in zip(table, results, table.values(), strict=True):
        assert got.dtype == np.bool_
        np.testing.assert_array_equal(got, want, err_msg=name)


def floats(type_: str, seed: int) -> np.ndarray:
    values = np.random.default_rng(seed).normal(0, 3, SIZE).astype(DTYPES[type_])
    values[:8] = [np.nan, np.inf, -np.inf, 0.0, -0.0, 0.5, 2.5, -1.5]
    return values


@pytest.mark.parametrize("type_", ["f32", "f64"])
@pytest.mark.parametrize("fastmath", ["", "fastmath<contract>"])
def test_float_arithmetic(compiled, type_: str, fastmath: str):
    a, b = floats(type_, 6), floats(type_, 7)[::-1].copy()
    b[:8:2] = a[1:8:2]
    b[3] = -0.0
    with np.errstate(all="ignore"):
        table = {
            "addf": a + b, "subf": a - b, "mulf": a * b, "divf": a / b, "remf": np.fmod(a, b),
            "maximumf": np.maximum(a, b), "minimumf": np.minimum(a, b),
            "maxnumf": np.fmax(a, b), "minnumf": np.fmin(a, b),
        }  # fmt: skip
    lines = [f"arith.{name} %a, %b {fastmath} : {type_}" for name in table]
    lines += [f"arith.negf %a {fastmath} : {type_}", f"arith.select %c, %a, %b : {type_}"]
    c = np.arange(SIZE) % 2 == 0
    expected = [*table.values(), -a, np.where(c, a, b)]
    for line, got, want in zip(
        lines, compiled(elementwise(type_, lines))(a, b, c), expected, strict=True
    ):
        np.testing.assert_array_equal(got, want, err_msg=line)
    nan_proof = compiled(elementwise(type_, [f"arith.maximumf %a, %b : {type_}"]))
    zeros = np.zeros(SIZE, a.dtype)
    assert not np.signbit(nan_proof(-zeros, zeros, c)).any()


@pytest.mark.parametrize("type_", ["f32", "f64"])
def test_float_comparisons(compiled, type_: str):
    a, b = floats(type_, 8), floats(type_, 9)[::-1].copy()
    b[4:12] = a[4:12]
    unordered = np.isnan(a) | np.isnan(b)
    table = {
        "false": np.zeros(SIZE, bool),
        "true": np.ones(SIZE, bool),
        "ord": ~unordered,
        "uno": unordered,
    }
    with np.errstate(invalid="ignore"):
        for name, value in {
            "eq": a == b,
            "gt": a > b,
            "ge": a >= b,
            "lt": a < b,
            "le": a <= b,
        }.items():
            table["o" + name], table["u" + name] = value & ~unordered, value | unordered
        table["one"], table["une"] = (a != b) & ~unordered, (a != b) | unordered
    lines = [f"arith.cmpf {name}, %a, %b : {type_}" for name in table]
    results = compiled(elementwise(type_, lines, ["i1"] * len(lines)))(a, b, unordered)
    for name, got, want in zip(table, results, table.values(), strict=True):
        np.testing.assert_array_equal(got, want, err_msg=name)


MATH = {
    "absf": np.abs, "ceil": np.ceil, "floor": np.floor, "trunc": np.trunc, "roundeven": np.rint,
    "sqrt": np.sqrt, "exp": np.exp, "exp2": np.exp2, "log": np.log, "log2": np.log2, "log10": np.log10,
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "tanh": np.tanh, "sinh": np.sinh, "cosh": np.cosh,
    "atan": np.arctan, "asin": np.arcsin, "acos": np.arccos, "asinh": np.arcsinh, "acosh": np.arccosh,
    "atanh": np.arctanh, "expm1": np.expm1, "log1p": np.log1p, "cbrt": np.cbrt,
    "rsqrt": lambda x: 1 / np.sqrt(x), "erf": np.vectorize(math.erf),
    "round": lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x),
}  # fmt: skip


@pytest.mark.parametrize("type_", ["f32", "f64"])
def test_math(compiled, type_: str):
    a, b = floats(type_, 10), np.abs(floats(type_, 11)) + 1
    c = np.zeros(SIZE, bool)
    lines = [f"math.{name} %a : {type_}" for name in MATH]
    lines += [f"math.{name} %a, %b : {type_}" for name in ("copysign", "atan2", "powf")]
    lines += [f"math.fma %a, %b, %b : {type_}"]
    with np.errstate(all="ignore"):
        expected = [function(a.astype(np.float64)).astype(a.dtype) for function in MATH.values()]
        expected += [np.copysign(a, b), np.arctan2(a, b), np.power(a, b)]
        expected += [(a.astype(np.longdouble) * b + b).astype(a.dtype)]
    tolerance = 2e-6 if type_ == "f32" else 1e-14
    for line, got, want in zip(
        lines, compiled(elementwise(type_, lines))(a, b, c), expected, strict=True
    ):
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance, err_msg=line)


def test_fpowi(compiled):
    text = elementwise("f32", ["math.fpowi %a, %e : f32, i32"]).replace(
        "scf.for", "%e = arith.constant -3 : i32\nscf.for", 1
    )
    a = np.linspace(0.5, 2, SIZE, dtype=np.float32)
    np.testing.assert_allclose(compiled(text)(a, a, a > 1), a**-3.0, rtol=1e-6)


CASTS = [
    ("i8", "extsi", "i32"), ("i8", "extui", "i32"), ("i32", "extsi", "i64"), ("i64", "trunci", "i8"),
    ("i32", "sitofp", "f32"), ("i64", "sitofp", "f64"), ("i8", "uitofp", "f32"), ("i32", "uitofp", "f64"),
    ("i64", "uitofp", "f64"), ("f32", "extf", "f64"), ("f64", "truncf", "f32"), ("f32", "bitcast", "i32"),
    ("i64", "bitcast", "f64"), ("f32", "fptosi", "i32"), ("f32", "fptosi", "i8"), ("f64", "fptosi", "i64"),
    ("f32", "fptoui", "i8"), ("f64", "fptoui", "i32"), ("i32", "index_cast", "index"),
    ("i64", "index_cast", "index"),
]  # fmt: skip


@pytest.mark.parametrize(("source", "name", "target"), CASTS)
def test_casts(compiled, source: str, name: str, target: str):
    a = floats(source, 12) if source[0] == "f" else integers(source, 13)
    result_dtype = np.dtype(DTYPES.get(target, np.int64))
    text = elementwise(source, [f"arith.{name} %a : {source} to {target}"], [target])
    got = compiled(text)(a, a, a > 1)
    unsigned = a.view(a.dtype.str.replace("i", "u"))
    if name in ("fptosi", "fptoui"):
        bits = result_dtype.itemsize * 8
        low, high = (
            (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if name == "fptosi" else (0, 2**bits - 1)
        )
        clamped = [
            0 if math.isnan(v) else low if v <= low else high if v >= high else int(v)
            for v in a.tolist()
        ]
        want = np.asarray([v & (2**bits - 1) for v in clamped], f"u{bits // 8}").view(result_dtype)
    elif name == "bitcast":
        want = a.view(result_dtype)
    elif name in ("extui", "uitofp"):
        want = unsigned.astype(result_dtype)
    else:
        with np.errstate(all="ignore"):
            want = a.astype(result_dtype)
    np.testing.assert_array_equal(got, want)


def test_casts_of_i1(compiled):
    lines = [
        "arith.extui %c : i1 to i32",
        "arith.extsi %c : i1 to i32",
        "arith.uitofp %c : i1 to f32",
        "arith.trunci %a : i32 to i1",
        "arith.fptoui %f : f32 to i1",
    ]
    text = elementwise("i32", lines, ["i32", "i32", "f32", "i1", "i1"]).replace(
        "%c = memref.load", "%f = arith.sitofp %b : i32 to f32\n%c = memref.load"
    )
    a, b = integers("i32", 14), np.arange(SIZE, dtype=np.int32) - 2
    c = np.arange(SIZE) % 3 == 0
    zero_extended, sign_extended, as_float, low_bit, saturated = compiled(text)(a, b, c)
    np.testing.assert_array_equal(zero_extended, c.astype(np.int32))
    np.testing.assert_array_equal(sign_extended, -c.astype(np.int32))
    np.testing.assert_array_equal(as_float, c.astype(np.float32))
    np.testing.assert_array_equal(low_bit, a & 1 == 1)
    np.testing.assert_array_equal(saturated, b >= 1)


def test_extended_products_and_sums(compiled):
    lines = ["arith.addi %low, %high : i32"]
    text = elementwise("i32", lines)
    for kind, signed in (("mulsi_extended", True), ("mului_extended", False)):
        a, b = integers("i32", 15), integers("i32", 16)
        chosen = text.replace("%r0 =", f"%low, %high = arith.{kind} %a, %b : i32\n%r0 =")
        view = np.int64 if signed else np.uint64
        product = (
            a.astype(view) * b.astype(view) if signed else a.view("u4").astype(view) * b.view("u4")
        )
        want = (product & 0xFFFFFFFF).astype("u4") + (
            product >> (32 if signed else view(32))
        ).astype("u4")
        np.testing.assert_array_equal(compiled(chosen)(a, b, a > b), want.view(np.int32))
    carry = text.replace(
        "%r0 =", "%sum, %carry = arith.addui_extended %a, %b : i32, i1\n%r0 ="
    ).replace(lines[0], "arith.extui %carry : i1 to i32")
    want = a.view("u4").astype("u8") + b.view("u4") >= 2**32
    np.testing.assert_array_equal(compiled(carry)(a, b, a > b), want.astype(np.int32))


def test_refusals_leave_the_module():
    text = """
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      func.return %x : tensor<4xf32>
    }"""
    module = parse_text(text, "file.mlir")
    before = str(module)
    with pytest.raises(
        StepwellError, match=r"file.mlir:2:5: 'func.func' has a value of type tensor<4xf32>"
    ):
        lowered_to_llvm(module)
    assert str(module) == before


def test_value_used_before_it_is_defined():
    module = parse_text("""
    func.func @main(%x: i32) -> i32 {
      cf.br ^first
    ^first:
      %y = arith.addi %z, %x : i32
      cf.br ^second
    ^second:
      %z = arith.addi %x, %x : i32
      func.return %y : i32
    }""")
    with pytest.raises(
        StepwellError, match=r"'arith.addi' uses a value that is not defined before it"
    ):
        lowered_to_llvm(module)


def test_unknown_operation():
    module = parse_text(
        'func.func @main() { "acc.wait"() <{operandSegmentSizes = array<i32: 0, 0, 0, 0>}> : () -> () \n func.return }'
    )
    with pytest.raises(
        StepwellError, match=r"found 'acc\.wait', expected an operation that convert"
    ):
        lowered_to_llvm(module)
