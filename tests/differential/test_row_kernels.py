"""Chains over the same rows are one kernel of perfect nests, and agree with NumPy at every stage."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest
import stepwell as sw
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from stepwell.dialects import te
from stepwell.driver.pass_manager import PassManager
from stepwell.driver.pipeline_spec import parse_passes
from stepwell.frontend.text import make_context, parse_text
from stepwell.interpreters.harness import interpret
from stepwell.runtime.jit import compile_module
from stepwell.transforms.te.rfactor import rfactor

from .test_te_lowering import Agreement, agree_at_every_stage, drawn_pass

Array = Any  # a NumPy array, or what traces as one
F32 = np.float32

PIPELINE = (
    "te-fuse",
    "convert-te-to-loop{fp=FP}",
    "loop-plan-memory",
    "convert-loop-to-core",
    "canonicalize",
)
"""The arena of a kernel is planned too: `loop-plan-memory` comes when its nests stand."""


def te_text(function: Callable[..., Array], *inputs: np.ndarray) -> str:
    return sw.jit(function).lower(*inputs).as_text("te")


def kernels(text: str) -> list[str]:
    module = parse_text(text)
    PassManager(parse_passes("te-fuse")).run(make_context(), module)
    return [op.kernel_name.data for op in module.walk() if isinstance(op, te.KernelOp)]


def normals(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype(F32)


def np_softmax(x: np.ndarray) -> np.ndarray:
    exp = np.exp(x - x.max(-1, keepdims=True))
    return exp / exp.sum(-1, keepdims=True)


def attention(q: Array, k: Array, v: Array) -> Array:
    return sw.softmax(q @ sw.swapaxes(k, -1, -2) * F32(0.25), axis=-1) @ v


def np_attention(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    return np_softmax(q @ np.swapaxes(k, -1, -2) * F32(0.25)) @ v


def np_layer_norm(x: np.ndarray, scale: np.ndarray, shift: np.ndarray) -> np.ndarray:
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(
        x.var(-1, keepdims=True) + 1e-5
    ) * scale + shift


def rms_norm(x: Array, scale: Array) -> Array:
    return x / sw.sqrt(sw.mean(x * x, axis=-1, keepdims=True) + F32(1e-5)) * scale


def np_rms_norm(x: np.ndarray, scale: np.ndarray) -> np.ndarray:
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * scale


def softmax_and_sum(x: Array) -> tuple[Array, Array]:
    """The sum is a result, and is needed inside."""
    exp = sw.exp(x)
    total = sw.sum(exp, axis=-1, keepdims=True)
    return exp / total, total


def np_softmax_and_sum(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    total = np.exp(x).sum(-1, keepdims=True)
    return np.exp(x) / total, total


CHAINS: dict[
    str, tuple[Callable[..., Array], Callable[..., Array], tuple[tuple[int, ...], ...]]
] = {
    "softmax": (lambda x: sw.softmax(x, axis=-1), np_softmax, ((5, 7),)),
    "softmax of stacks": (lambda x: sw.softmax(x, axis=-1), np_softmax, ((1, 3, 2, 5),)),
    "log-softmax": (
        lambda x: sw.log_softmax(x, axis=-1),
        lambda x: np.log(np_softmax(x)),
        ((7, 3),),
    ),
    "layer norm": (sw.layer_norm, np_layer_norm, ((3, 13), (13,), (13,))),
    "RMS norm": (rms_norm, np_rms_norm, ((3, 5, 7), (7,))),
    "variance": (
        lambda x: sw.mean(sw.square(x - sw.mean(x, axis=-1, keepdims=True)), axis=-1),
        lambda x: x.var(-1),
        ((5, 11),),
    ),
    "attention": (attention, np_attention, ((2, 7, 3), (2, 9, 3), (2, 9, 5))),
    "attention of one head": (attention, np_attention, ((1, 11, 3),) * 3),
    "softmax and its sum": (softmax_and_sum, np_softmax_and_sum, ((5, 7),)),
    "logits": (
        lambda x, w: sw.softmax(x @ w, axis=-1),
        lambda x, w: np_softmax(x @ w),
        ((33, 2), (2, 5)),
    ),
}


@pytest.mark.sampled(10)
@pytest.mark.parametrize("fp", ["contract", "strict"])
@pytest.mark.parametrize("name", CHAINS)
def test_a_chain_is_one_kernel(name: str, fp: str):
    function, reference, shapes = CHAINS[name]
    inputs = [normals(np.random.default_rng(n), *shape) for n, shape in enumerate(shapes)]
    text = te_text(function, *inputs)
    assert len(kernels(text)) == 1
    expected = reference(*inputs)
    results = expected if isinstance(expected, tuple) else (expected,)
    agree_at_every_stage(text, inputs, [r.astype(F32) for r in results], PIPELINE, fp)


@pytest.mark.parametrize("shape", [(1, 3), (5, 1), (17, 3), (33, 7), (3, 5, 4)])
def test_a_reduction_of_rows_first_is_the_same(shape: tuple[int, ...]):
    """Sums and extremes over all, also of products with another operand; and what is undone is as it was."""
    axes = ", ".join(f"%i{n} = {extent}" for n, extent in enumerate(shape))
    own = ", ".join(f"%i{n}" for n in range(len(shape)))
    type_ = f"tensor<{'x'.join(map(str, shape))}xf32>"
    text = f"""
func.func @main(%x: {type_}, %y: {type_}) -> (tensor<f32>, tensor<f32>) {{
  %sum, %max = te.compute [] add, max [{axes}] (%a = %x[{own}], %b = %y[{own}]) : ({type_}, {type_}) -> (tensor<f32>, tensor<f32>) {{
    %p = arith.mulf %a, %b : f32
    te.yield %p, %b : f32, f32
  }}
  func.return %sum, %max : tensor<f32>, tensor<f32>
}}"""
    module = parse_text(text)
    (compute,) = (op for op in module.walk() if isinstance(op, te.ComputeOp))
    before = str(module)
    first = [len(compute.static_extents) - 1]
    rfactor(compute, first).undo()
    assert str(module) == before
    rfactor(compute, first).finish()
    module.verify()
    x, y = inputs = [normals(np.random.default_rng(n), *shape) for n in range(2)]
    for one, other in zip(interpret(module, inputs), ((x * y).sum(), y.max()), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def test_layers_are_kernels_of_their_own():
    def layers(x: Array, w1: Array, w2: Array) -> Array:
        return sw.relu(x @ w1) @ w2

    rng = np.random.default_rng(0)
    text = te_text(layers, normals(rng, 64, 32), normals(rng, 32, 32), normals(rng, 32, 32))
    assert kernels(text) == ["matmul_relu", "matmul"]


LARGE: dict[str, tuple[Callable[..., Array], tuple[tuple[int, ...], ...]]] = {
    "with an epilogue": (lambda x, w, b: (x @ w + b) * F32(0.5), ((33, 35), (35, 31), (31,))),
    "batched": (lambda x, w: x @ w, ((3, 17, 41), (3, 41, 19))),
    "of one batch": (lambda x, w: -(x @ w), ((1, 33, 35), (35, 31))),
    "of a vector": (lambda x, w: w @ x, ((331,), (101, 331))),
}


@pytest.mark.parametrize("name", LARGE)
def test_large_contractions(name: str):
    """Over SCHEDULED_MULTIPLY_ADDS: perfect nests, seen running at loop level and natively."""
    function, shapes = LARGE[name]
    inputs = [normals(np.random.default_rng(n), *shape) for n, shape in enumerate(shapes)]
    module = parse_text(te_text(function, *inputs))
    PassManager(parse_passes("te-fuse,convert-te-to-loop")).run(make_context(), module)
    assert '.init"' in str(module) and "acc" not in str(module)
    expected = function(*inputs)
    (interpreted,) = interpret(module, inputs)
    np.testing.assert_allclose(interpreted, expected, 1e-4, 1e-4)
    PassManager(parse_passes("loop-plan-memory,convert-loop-to-core")).run(make_context(), module)
    np.testing.assert_allclose(compile_module(module)(*inputs), expected, 1e-4, 1e-4)


# Random chains over rows, traced and evaluated by the same function.


def random_chain(rng: Random, np_or_sw: Any, x: Array, weights: Array) -> list[Array]:
    """A few values over [rows, columns], from reductions along rows, products and element-wise steps."""
    columns = x.shape[1]
    values, narrow = [x], []
    for _ in range(rng.randrange(2, 7)):
        value = rng.choice(values)
        match rng.randrange(6):
            case 0:
                narrow.append(np_or_sw.sum(value, axis=-1, keepdims=True) * F32(1 / columns))
            case 1:
                narrow.append(np_or_sw.max(value, axis=-1, keepdims=True))
            case 2 if narrow:
                values.append(value - rng.choice(narrow))
            case 3 if narrow:
                values.append(value * np_or_sw.tanh(rng.choice(narrow)))
            case 4:
                values.append(value @ weights * F32(1 / columns))
            case _:
                values.append(np_or_sw.tanh(value) + rng.choice(values))
    chosen = [*values[1:][-2:], *narrow[-1:]]
    return chosen[: rng.randrange(1, 4)] or [x + x]


def chain_program(seed: int) -> tuple[str, list[np.ndarray], list[np.ndarray]]:
    """A chain's text at te, its inputs and its results."""
    rng = Random(seed)
    rows, columns = rng.choice((1, 2, 3, 9)), rng.choice((1, 2, 5, 7))
    inputs = [
        normals(np.random.default_rng(seed), rows, columns),
        normals(np.random.default_rng(seed + 1), columns, columns),
    ]
    state = rng.getstate()

    def traced(x: Array, weights: Array) -> tuple[Array, ...]:
        rng.setstate(state)
        return tuple(random_chain(rng, sw, x, weights))

    text = te_text(traced, *inputs)
    rng.setstate(state)
    return text, inputs, random_chain(rng, np, *inputs)


def chain_agrees(seed: int) -> None:
    text, inputs, expected = chain_program(seed)
    agreement, texts = Agreement(False, 10.0), [drawn_pass(PIPELINE, Random(seed))]
    try:
        agree_at_every_stage(text, inputs, expected, PIPELINE, "contract", agreement, texts)
    except Exception as error:
        error.add_note(f"seed {seed}:\n{text}")
        raise


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 2**32))
def test_random_chains(seed: int):
    chain_agrees(seed)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, 1000, 100))
def test_many_random_chains(start: int):
    for seed in range(start, start + 40):
        chain_agrees(seed)
