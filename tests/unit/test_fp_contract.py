"""What `fp` lets be done to floating-point results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import stepwell as sw
from stepwell.driver.options import Options
from stepwell.frontend.lowered import Lowered
from stepwell.frontend.text import parse_text
from stepwell.lowering.affine_to_loop import ConvertAffineToLoopPass
from xdsl.context import Context


def in_order(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The matrix product with each product and each sum rounded, k after k."""
    result = np.zeros((a.shape[0], b.shape[1]), a.dtype)
    for k in range(a.shape[1]):
        result = result + a[:, k : k + 1] * b[k : k + 1]
    return result


@pytest.mark.parametrize("shape", [(3, 5, 7), (65, 70, 33), (1, 200, 200)])
def test_strict_products_are_rounded_in_order(shape: tuple[int, int, int]):
    """Also where the kernel is blocked, packed and in vectors: no step changes the order of a sum."""
    rng = np.random.default_rng(0)
    m, k, n = shape
    a, b = rng.standard_normal((m, k), np.float32), rng.standard_normal((k, n), np.float32)
    strict = sw.jit(lambda a, b: a @ b, fp="strict")
    assert np.array_equal(strict(a, b), in_order(a, b))


def test_strict_kernels_are_vectors_too():
    a, b = np.ones((65, 70), np.float32), np.ones((70, 33), np.float32)
    text = sw.jit(lambda a, b: a @ b, fp="strict").lower(a, b).as_text("core")
    assert "vector.store" in text
    assert "fastmath" not in text


def test_strict_sums_are_in_order():
    x = np.random.default_rng(1).standard_normal((9, 100), np.float32)
    expected = np.zeros(9, np.float32)
    for column in x.T:
        expected = expected + column
    assert np.array_equal(sw.jit(lambda x: sw.sum(x, axis=1), fp="strict")(x), expected)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "function",
    [lambda x: sw.softmax(x), lambda x: sw.layer_norm(x), lambda x: (sw.sum(x, axis=-1), x * 2)],
)
@pytest.mark.parametrize("columns", [5, 200])
def test_strict_rows_are_vectors_but_for_their_sums(function: Callable[[Any], Any], columns: int):
    x = np.random.default_rng(2).standard_normal((40, columns), np.float32)
    low = sw.jit(function, fp="strict").lower(x)
    assert low.script(), "no rule has scheduled it"
    assert "vector.store" in low.as_text("core") or "vector.maskedstore" in low.as_text("core")
    assert np.allclose(low.compile()(x)[0], np.asarray(sw.jit(function)(x)[0]), atol=1e-5)


def test_strict_attention_goes_by_blocks_of_rows():
    """The sum of a row of exponentials stays a loop of its own, and they are computed in front of it."""
    q = np.random.default_rng(3).standard_normal((32, 16))
    k, v = np.random.default_rng(4).standard_normal((2, 33, 16))
    low = sw.jit(lambda q, k, v: sw.softmax(q @ k.T) @ v, fp="strict").lower(q, k, v)
    assert "matmul_max_exp_sum_softmax_matmul/" in low.script()
    assert "register" in low.as_text("loop"), "no register tile: the rule was refused"
    scores = in_order(q, k.T)
    e = np.exp(scores - scores.max(-1, keepdims=True))
    total = np.zeros((32, 1))
    for column in e.T:
        total = total + column[:, None]
    assert np.allclose(low.compile()(q, k, v), (e / total) @ v, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize(("fp", "calls"), [("strict", True), ("contract", False), ("fast", False)])
def test_functions_of_the_c_library(fp: str, calls: bool):
    x = np.linspace(-3, 3, 100, dtype=np.float32)
    function = sw.jit(lambda x: sw.exp(x), fp=fp)
    assert ("intr.exp" in function.lower(x).as_text("llvm")) is calls
    assert np.allclose(function(x), np.exp(x), rtol=1e-6)


def test_mistake():
    with pytest.raises(sw.StepwellError, match=r"found fp='loose', expected one of strict, con"):
        sw.jit(lambda x: x, fp="loose")(np.ones(3, np.float32))


FUSED = """
func.func @f(%x: memref<4xf32>, %y: memref<4xf32>) {
  loop.for parallel "i" %i = 0 to 4 {
    %a = loop.load %x[%i] : memref<4xf32>
    %b = loop.load %y[%i] : memref<4xf32>
    %p = arith.mulf %a, %a FLAGS: f32
    %s = arith.addf %b, %p FLAGS: f32
    loop.store %s, %y[%i] : memref<4xf32>
  }
  func.return
}
"""
AFFINE = FUSED.replace('loop.for parallel "i"', "affine.for").replace("loop.", "affine.")
CORE = AFFINE.replace("affine.for %i = 0 to 4", "scf.for %i = %zero to %four step %one").replace(
    "affine.", "memref."
)
CORE = CORE.replace(
    ") {\n",
    ") {\n  %zero = arith.constant 0 : index\n  %one = arith.constant 1 : index\n"
    "  %four = arith.constant 4 : index\n",
    1,
)


@pytest.mark.parametrize("text", [FUSED, AFFINE, CORE], ids=["loop", "affine", "core"])
@pytest.mark.parametrize("fp", ["strict", "contract", "fast"])
def test_programs_below_te_follow_it_too(text: str, fp: str):
    """x² is 1 + 2⁻¹¹ + 2⁻²⁴, whose last bit only a fused multiply-add keeps."""
    host = sw.Target.host()
    if "+fma" not in host.features and not host.triple.startswith("aarch64"):
        pytest.skip("needs fused multiply-adds")
    x = np.full(4, 1 + 2**-12, np.float32)
    y = np.full(4, -1 - 2**-11, np.float32)
    module = parse_text(text.replace("FLAGS", ""), "f.mlir")
    if text is AFFINE:
        ConvertAffineToLoopPass().apply(Context(), module)
    Lowered(module, options=Options(fp=fp)).compile()(x, y)
    assert np.all(y == (0 if fp == "strict" else 2**-24))


def test_flags_that_are_written_stay():
    text = Lowered(parse_text(FUSED.replace("FLAGS", "fastmath<nnan>"), "f.mlir")).as_text("llvm")
    assert "nnan" in text and "contract" not in text


def test_a_schedule_keeps_the_contract_of_its_program():
    low = sw.jit(lambda a, b: a @ b, fp="strict").lower(*np.ones((2, 8, 8), np.float32))
    assert "contract" not in sw.Schedule(low).lowered().as_text("llvm")
    assert "contract" in sw.Schedule(FUSED.replace("FLAGS", "")).lowered().as_text("llvm")


def test_exact_operations_of_a_program_stay_exact_on_the_way_down():
    """Quotients of floats are right only when each step is rounded: at the core level too."""
    x = np.ones(8, np.float32)
    low = sw.jit(lambda x, y: x // y).lower(x, x)
    exact = [line for line in low.as_text("loop").splitlines() if "stepwell.exact" in line]
    assert exact and not any("contract" in line for line in exact)
    lines = low.as_text("core").splitlines()
    assert len([line for line in lines if "stepwell.exact" in line]) >= 1
