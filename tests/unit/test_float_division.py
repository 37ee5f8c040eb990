"""Quotients and remainders of floats: NumPy's bits, at every level, whatever `fp` allows elsewhere."""

from __future__ import annotations

import ctypes
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import stepwell as sw
from stepwell.dialects import graph
from stepwell.dialects.upstream.arith import RemFOp
from stepwell.errors import StepwellError
from stepwell.frontend.text import parse_text
from stepwell.interpreters.harness import interpret
from stepwell.lowering.graph_to_te import ConvertGraphToTePass
from stepwell.runtime.jit import compile_module, native_code
from stepwell.runtime.shared_library import link_shared_library
from stepwell.targets.target import Target
from xdsl.context import Context
from xdsl.dialects.builtin import VectorType, f16, f32, f64, i32
from xdsl.ir import Block
from xdsl.utils.exceptions import VerifyException

from .test_graph_elementwise import module_of

FLOATS = (np.float32, np.float64)
BITS = {np.float16: np.uint16, np.float32: np.uint32, np.float64: np.uint64}
LANES = """
func.func @main(%a: memref<16xf32>, %b: memref<16xf32>, %c: memref<16xf32>) {
  %i = arith.constant 0 : index
  %x = vector.load %a[%i] : memref<16xf32>, vector<16xf32>
  %y = vector.load %b[%i] : memref<16xf32>, vector<16xf32>
  %z = arith.remf %x, %y fastmath<fast> : vector<16xf32>
  vector.store %z, %c[%i] : memref<16xf32>, vector<16xf32>
  func.return
}"""


def special(dtype: Any) -> np.ndarray:
    """Numbers of both signs from zero to infinity, neighbours of powers of two and of one, and NaN."""
    info = np.finfo(dtype)
    one, infinity = dtype(1), dtype(np.inf)
    tiny, least = info.smallest_normal, info.smallest_subnormal
    numbers = [0, least, 3 * least, tiny - least, tiny, 1.5 * tiny, 1e-30, 2.0**-100, info.eps]
    numbers += [1e-10, 0.1, 1 / 3, 0.5, np.nextafter(one, dtype(0)), 1, np.nextafter(one, infinity)]
    numbers += [1.5, 2, 3, np.pi, 7, 2.0**23, 2.0**24 + 2, 2.0**53, 1e10, 2.0**69, 2.0**100, 1e30]
    numbers += [info.max / 2, np.nextafter(info.max, dtype(0)), info.max, infinity]
    positive = np.array(numbers, dtype)
    return np.concatenate([positive, -positive, np.array([np.nan], dtype)])


def pairs(dtype: Any) -> tuple[np.ndarray, np.ndarray]:
    """All pairs of special numbers, then random bits, near ones among them."""
    few = special(dtype)
    rng = np.random.default_rng(0)
    unsigned = BITS[dtype]
    random = rng.integers(0, np.iinfo(unsigned).max, (2, 20_000), unsigned, endpoint=True)
    near = rng.integers(0, 1 << 10, 5_000).astype(unsigned)
    a = [np.repeat(few, few.size), random[0].view(dtype), random[0][:5_000].view(dtype)]
    b = [np.tile(few, few.size), random[1].view(dtype), (random[0][:5_000] ^ near).view(dtype)]
    return np.concatenate(a), np.concatenate(b)


def near_multiples(dtype: Any) -> tuple[np.ndarray, np.ndarray]:
    """Dividends within a few units of the last place of a multiple of the divisor, subnormal ones among them."""
    rng = np.random.default_rng(3)
    size, unsigned = 200_000, BITS[dtype]
    exponents = rng.choice(
        [-140, -126, -1, 0, 3, 60] if dtype == np.float32 else [-1040, -1, 9], size
    )
    b = np.ldexp(rng.uniform(1, 2, size).astype(dtype), exponents) * rng.choice([-1, 1], size)
    counts = np.ldexp(rng.uniform(0, 1, size), rng.integers(0, np.finfo(dtype).nmant - 1, size))
    a = np.trunc(counts).astype(dtype) * b.astype(dtype) * dtype(rng.choice([-1, 1]))
    units = rng.integers(0, 4, size).astype(unsigned)
    return (a.view(unsigned) + units).view(dtype), b.astype(dtype)


def assert_same_bits(found: np.ndarray, expected: np.ndarray, *operands: np.ndarray) -> None:
    """Any NaN is as good as another."""
    unsigned = BITS[expected.dtype.type]
    assert found.dtype == expected.dtype
    same = found.view(unsigned) == expected.view(unsigned)
    same |= np.isnan(found) & np.isnan(expected)
    wrong = np.flatnonzero(~same)[:5]
    rows = [(*(x[i] for x in operands), found[i], expected[i]) for i in wrong]
    assert not rows, f"{(~same).sum()} wrong, such as {rows}"


@pytest.fixture(autouse=True)
def _quiet():
    with np.errstate(all="ignore"):
        yield


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    ("make", "reference"), [(graph.FloorDivOp, np.floor_divide), (graph.ModOp, np.remainder)]
)
def test_interpreted(make: Any, reference: Any, dtype: Any):
    a, b = pairs(dtype)
    module = module_of(make, a, b)
    assert_same_bits(interpret(module, (a, b))[0], reference(a, b), a, b)
    ConvertGraphToTePass().apply(Context(), module)
    assert "arith.remf" in str(module)
    assert_same_bits(interpret(module, (a, b))[0], reference(a, b), a, b)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("fp", ["strict", "contract", "fast"])
def test_native(fp: str, dtype: Any):
    a, b = pairs(dtype)
    function = sw.jit(lambda a, b: (a // b, a % b), fp=fp)
    text = function.lower(a, b).as_text("core")
    assert "arith.remf" in text and ": vector<" in text
    assert "fastmath" not in text
    quotient, remainder = function(a, b)
    assert_same_bits(quotient, np.floor_divide(a, b), a, b)
    assert_same_bits(remainder, np.remainder(a, b), a, b)


@pytest.mark.parametrize("dtype", FLOATS)
def test_the_path_without_calls(dtype: Any):
    """No lane needs a call, where the others would have it too."""
    a, b = near_multiples(dtype)
    with np.errstate(all="ignore"):
        assert (np.abs(a / b) < 2.0 ** (np.finfo(dtype).nmant - 1)).all()
    assert_same_bits(sw.jit(lambda a, b: a % b)(a, b), np.remainder(a, b), a, b)
    assert_same_bits(sw.jit(lambda a, b: a // b)(a, b), np.floor_divide(a, b), a, b)


@pytest.mark.parametrize("dtype", FLOATS)
def test_where_the_quotient_becomes_too_large(dtype: Any):
    """About 2^e for each e around the number of bits, in whole vectors."""
    rng, bits, size = np.random.default_rng(4), np.finfo(dtype).nmant, 2048
    b = rng.uniform(1, 2, (12, size)).astype(dtype)
    a = np.ldexp(rng.uniform(1, 2, b.shape).astype(dtype), np.arange(bits - 5, bits + 7)[:, None])
    a, b = a.ravel(), b.ravel()
    assert_same_bits(sw.jit(lambda a, b: a % b)(a, b), np.remainder(a, b), a, b)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("divisor", [1, -4, 0.25, 360, 2.0**-120, 2.0**100, 0.0, -0.0, -np.inf])
def test_constant_divisors(divisor: float, dtype: Any):
    """Which LLVM may replace by something else."""
    a, b = pairs(dtype)[0], dtype(divisor)
    quotient, remainder = sw.jit(lambda a: (a // b, a % b))(a)
    assert_same_bits(quotient, np.floor_divide(a, b), a)
    assert_same_bits(remainder, np.remainder(a, b), a)


@pytest.mark.parametrize("fp", ["strict", "contract", "fast"])
def test_of_what_is_computed(fp: str):
    """The product must not be fused with a step of the division, nor the sum's reciprocal be taken."""
    rng = np.random.default_rng(1)
    x, y, z = rng.standard_normal((3, 10_000), np.float32)
    quotient, remainder = sw.jit(lambda x, y, z: ((x * y) // z, (x * y) % z), fp=fp)(x, y, z)
    assert_same_bits(quotient, np.floor_divide(x * y, z), x, y, z)
    assert_same_bits(remainder, np.remainder(x * y, z), x, y, z)
    rows = np.rint(100 * rng.standard_normal((50, 30), np.float32))
    total = np.sum(rows, axis=1, keepdims=True)  # whole numbers: exact in any order
    function = sw.jit(lambda x: x * 1000 // sw.sum(x, axis=1, keepdims=True), fp=fp)
    assert not re.search("(divf|subf).*fastmath", function.lower(rows).as_text("loop"))
    expected = np.floor_divide(rows * np.float32(1000), total)
    assert_same_bits(function(rows).ravel(), expected.ravel())


def test_fast_flags_of_a_remainder_are_not_taken():
    strange = [np.inf, 1, -0.0, 5, -5, np.nan, 1e38, 7], [2, np.inf, 3, 0, 3, 1, 1e-38, -7]
    ordinary = [4, -4, -0.0, 0, 5, -5, 7, -7], [2, 2, 3, -3, 3, 3, -7, -7]
    module = parse_text(LANES)
    native = compile_module(module)
    for numbers in (strange, ordinary):
        a, b = (np.array(x * 2, np.float32) for x in numbers)
        assert_same_bits(interpret(module, (a, b, a))[2], np.fmod(a, b), a, b)
        c = np.zeros(16, np.float32)
        native(a, b, c)
        assert_same_bits(c, np.fmod(a, b), a, b)
    assert "frem <16 x float>" in native_code(module).source.text


def test_half_precision():
    a = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    b = np.random.default_rng(2).permutation(a)
    text = f"""
    func.func @main(%a: memref<{a.size}xf16>, %b: memref<{a.size}xf16>) {{
      %start = arith.constant 0 : index
      %step = arith.constant 1 : index
      %end = arith.constant {a.size} : index
      scf.for %i = %start to %end step %step {{
        %x = memref.load %a[%i] : memref<{a.size}xf16>
        %y = memref.load %b[%i] : memref<{a.size}xf16>
        %z = arith.remf %x, %y : f16
        memref.store %z, %b[%i] : memref<{a.size}xf16>
      }}
      func.return
    }}"""
    loaded = native_code(parse_text(text)).load(("main",))
    found = b.copy()
    main = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(loaded.addresses["main"])
    main(a.ctypes.data, found.ctypes.data)
    assert_same_bits(found, np.fmod(a, b), a, b)


@pytest.mark.parametrize("type_", [f16, f32, f64, VectorType(f32, (8,))], ids=str)
def test_the_operation_has_upstreams_text(type_: Any):
    text = (
        f"func.func @f(%a: {type_}, %b: {type_}) -> {type_} {{\n"
        f"  %r = arith.remf %a, %b fastmath<reassoc,nnan> : {type_}\n  func.return %r : {type_}\n}}"
    )
    module = parse_text(text)
    module.verify()
    assert f"arith.remf %a, %b fastmath<reassoc,nnan> : {type_}" in str(module)
    assert str(parse_text(str(module))) == str(module)


def test_the_operation_is_on_floats_of_one_type():
    block = Block(arg_types=[f32, f64, i32])
    for a, b in ((block.args[0], block.args[1]), (block.args[2], block.args[2])):
        with pytest.raises(VerifyException):
            RemFOp(a, b).verify()


@pytest.mark.parametrize("name", ["fmod", "fmodf"])
def test_a_function_called_like_the_c_librarys(name: str):
    text = f"""
    func.func @{name}(%x: f32, %y: f32) -> f32 {{
      %r = arith.remf %x, %y : f32
      func.return %r : f32
    }}"""
    with pytest.raises(StepwellError, match=f"found a function called '{name}', expected another"):
        compile_module(parse_text(text))


def test_other_targets():
    for target, call in (("neoverse-n1", "bl\tfmodf"), ("x86-64", "fmodf"), ("x86-64-v4", "fmodf")):
        code = native_code(parse_text(LANES), target=Target.parse(target)).assembly()
        assert call in code


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_shared_library(tmp_path: Path):
    path = tmp_path / "remainders.so"
    link_shared_library(native_code(parse_text(LANES)).object_code(), path)
    a, b = np.linspace(-9, 9, 16, dtype=np.float32), np.full(16, 0.7, np.float32)
    c = np.zeros(16, np.float32)
    ctypes.CDLL(str(path)).main(*(ctypes.c_void_p(x.ctypes.data) for x in (a, b, c)))
    assert_same_bits(c, np.fmod(a, b), a, b)
