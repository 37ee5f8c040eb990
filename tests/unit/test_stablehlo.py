"""StableHLO as JAX prints it computes what JAX computes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import stepwell as sw
from stepwell.analysis.verify import verify
from stepwell.errors import StepwellError
from stepwell.frontend.text import parse_text
from stepwell.frontend.upstream_text import bring_in
from stepwell.interpreters.harness import interpret

rng = np.random.default_rng(0)

DENSE = """
module @jit_mlp attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x8xf32>, %arg1: tensor<8x5xf32>, %arg2: tensor<5xf32>) -> (tensor<4x5xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x8xf32>, tensor<8x5xf32>) -> tensor<4x5xf32>
    %1 = stablehlo.broadcast_in_dim %arg2, dims = [1] : (tensor<5xf32>) -> tensor<4x5xf32>
    %2 = stablehlo.add %0, %1 : tensor<4x5xf32>
    %3 = call @relu(%2) : (tensor<4x5xf32>) -> tensor<4x5xf32>
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %4 = stablehlo.reduce(%3 init: %cst) applies stablehlo.maximum across dimensions = [1] : (tensor<4x5xf32>, tensor<f32>) -> tensor<4xf32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<4xf32>) -> tensor<4x5xf32>
    %6 = stablehlo.subtract %3, %5 : tensor<4x5xf32>
    return %6 : tensor<4x5xf32>
  }
  func.func private @relu(%arg0: tensor<4x5xf32>) -> tensor<4x5xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x5xf32>
    %1 = stablehlo.maximum %arg0, %0 : tensor<4x5xf32>
    return %1 : tensor<4x5xf32>
  }
}
"""

CONTROL = """
module {
  func.func public @main(%arg0: tensor<4xf32>, %arg1: tensor<i32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0:2 = stablehlo.while(%iterArg = %c, %iterArg_1 = %arg0) : tensor<i32>, tensor<4xf32>
    cond {
      %1 = stablehlo.compare LT, %iterArg, %arg1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %c_3 = stablehlo.constant dense<1> : tensor<i32>
      %1 = stablehlo.add %iterArg, %c_3 : tensor<i32>
      %2 = stablehlo.add %iterArg_1, %iterArg_1 : tensor<4xf32>
      stablehlo.return %1, %2 : tensor<i32>, tensor<4xf32>
    }
    %3 = "stablehlo.case"(%arg1) ({
      stablehlo.return %arg0 : tensor<4xf32>
    }, {
      %4 = stablehlo.negate %arg0 : tensor<4xf32>
      stablehlo.return %4 : tensor<4xf32>
    }, {
      %4 = stablehlo.multiply %arg0, %arg0 : tensor<4xf32>
      stablehlo.return %4 : tensor<4xf32>
    }) : (tensor<i32>) -> tensor<4xf32>
    return %0#1, %3 : tensor<4xf32>, tensor<4xf32>
  }
}
"""

PLACES = """
module {
  func.func public @main(%x: tensor<4x5xf32>, %i: tensor<3x1xi32>, %u: tensor<3x5xf32>, %s: tensor<i32>) -> (tensor<3x5xf32>, tensor<4x5xf32>, tensor<2x5xf32>, tensor<4x5xf32>, tensor<3x3xf32>) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 5>}> : (tensor<4x5xf32>, tensor<3x1xi32>) -> tensor<3x5xf32>
    %1 = "stablehlo.scatter"(%x, %i, %u) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %8 = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %8 : tensor<f32>
    }) : (tensor<4x5xf32>, tensor<3x1xi32>, tensor<3x5xf32>) -> tensor<4x5xf32>
    %2 = stablehlo.dynamic_slice %x, %s, %c, sizes = [2, 5] : (tensor<4x5xf32>, tensor<i32>, tensor<i32>) -> tensor<2x5xf32>
    %3 = stablehlo.slice %u [0:3:2, 1:3] : (tensor<3x5xf32>) -> tensor<2x2xf32>
    %4 = stablehlo.dynamic_update_slice %x, %3, %s, %s : (tensor<4x5xf32>, tensor<2x2xf32>, tensor<i32>, tensor<i32>) -> tensor<4x5xf32>
    %5 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>}> : (tensor<4x5xf32>, tensor<3x1xi32>) -> tensor<3x3xf32>
    return %0, %1, %2, %4, %5 : tensor<3x5xf32>, tensor<4x5xf32>, tensor<2x5xf32>, tensor<4x5xf32>, tensor<3x3xf32>
  }
}
"""


def results_of(text: str, *inputs: np.ndarray) -> tuple[np.ndarray, ...]:
    module = parse_text(text)
    verify(module)
    again = parse_text(str(module))  # what is printed, in the form of any operation, is read again
    bring_in(again)
    bring_in(module)
    assert str(again) == str(module)
    return interpret(module, inputs)


def floats(*shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype(np.float32)


def test_a_dense_layer():
    x, w, b = floats(4, 8), floats(8, 5), floats(5)
    hidden = np.maximum(x @ w + b, 0)
    expected = hidden - hidden.max(1, keepdims=True)
    np.testing.assert_allclose(results_of(DENSE, x, w, b)[0], expected, 1e-5, 1e-5)
    np.testing.assert_allclose(sw.load(DENSE).compile(opt="quick")(x, w, b), expected, 1e-5, 1e-5)


@pytest.mark.parametrize("number", [-1, 0, 1, 3])
def test_loops_and_branches(number: int):
    x = floats(4)
    doubled, chosen = results_of(CONTROL, x, np.asarray(number, np.int32))
    np.testing.assert_array_equal(doubled, x * 2 ** max(number, 0))
    np.testing.assert_array_equal(chosen, {0: x, 1: -x}.get(number, x * x))


@pytest.mark.parametrize("start", [-2, 1, 9])
def test_gathers_are_clamped_and_scatters_outside_are_dropped(start: int):
    x, u = floats(4, 5), floats(3, 5)
    i = np.array([[2], [start], [2]], np.int32)
    gathered, scattered, cut, updated, part = results_of(
        PLACES, x, i, u, np.asarray(start, np.int32)
    )
    inside = np.clip(i[:, 0], 0, 3)
    np.testing.assert_array_equal(gathered, x[inside])
    np.testing.assert_array_equal(part, x[inside, :3])
    expected = x.copy()
    for row, update in zip(i[:, 0], u, strict=True):
        if 0 <= row < 4:
            expected[row] += update
    np.testing.assert_allclose(scattered, expected, 1e-6)
    first, column = np.clip(start, 0, 2), np.clip(start, 0, 3)
    np.testing.assert_array_equal(cut, x[first : first + 2])
    expected = x.copy()
    expected[first : first + 2, column : column + 2] = u[0:3:2, 1:3]
    np.testing.assert_array_equal(updated, expected)


def test_an_unknown_operation_is_refused_with_its_place(tmp_path: Path):
    text = """
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = "stablehlo.custom_call"(%x) {call_target_name = "f"} : (tensor<4xf32>) -> tensor<4xf32>
      %1 = stablehlo.popcnt %0 : tensor<4xf32>
      return %1 : tensor<4xf32>
    }"""
    message = r"3:12: found stablehlo.custom_call, stablehlo.popcnt, expected operations that Stepwell has"
    with pytest.raises(StepwellError, match=message):
        sw.load(text)


@pytest.mark.parametrize(
    ("operation", "message"),
    [
        ("stablehlo.slice %x [0:9, 0:4] : (tensor<4x4xf32>) -> tensor<5x4xf32>", "of shape [4, 4]"),
        ("stablehlo.add %x : tensor<4x4xf32>", "found stablehlo.add of 1 operands"),
        ("stablehlo.transpose %x : (tensor<4x4xf32>) -> tensor<4x4xf32>", "without 'dims'"),
        (
            "stablehlo.transpose %x, dims = [0] : (tensor<4x4xf32>) -> tensor<4x4xf32>",
            "found perm [0]",
        ),
    ],
)
def test_mistakes_are_one_line_at_their_place(operation: str, message: str):
    with pytest.raises(StepwellError) as found:
        sw.load(f"func.func @main(%x: tensor<4x4xf32>) {{\n  %r = {operation}\n  return\n}}\n")
    assert message in str(found.value)
    assert str(found.value).startswith("<string>:2:8: ")


def jax_programs():
    jax = pytest.importorskip("jax")
    jnp, lax = jax.numpy, jax.lax

    def convolution(x, k):
        return lax.conv_general_dilated(
            x,
            k,
            (2, 1),
            ((1, 1), (2, 1)),
            (1, 2),
            (2, 1),
            dimension_numbers=("NHWC", "HWIO", "NHWC"),
        )

    def pooled(x):
        return lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 2, 1), (1, 2, 2, 1), "SAME")

    def moved(x):
        return (
            jnp.concatenate([x[1:], x[:1] * 2]),
            jnp.where(x > 0, x, 0.0),
            jnp.argmax(x, axis=1),
            jnp.argmin(x, axis=0),
            jnp.sort(x, axis=1),
            jnp.argsort(x, axis=0),
            jnp.cumsum(x, axis=0),
            jnp.pad(x, ((1, 2), (0, 1))),
            jnp.flip(x, 1),
            lax.top_k(x, 2),
            jnp.roll(x, 2, axis=1),
        )

    def functions(x):
        y = (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5)
        rounded = jnp.floor(x), jnp.round(x), jnp.trunc(x), x // 2, x % 0.7
        return jax.nn.gelu(y), jax.nn.silu(x), x**3, jnp.log1p(abs(x)), jax.nn.softmax(x), rounded

    def scanned(x):
        return lax.scan(lambda c, a: (c + a, c * a), jnp.zeros(x.shape[1]), x)

    def indexed(x, i):
        return (
            x[i],
            x[:, i],
            x.at[i].set(1.0),
            x.at[i, 1].add(2.0),
            jnp.take_along_axis(x, i[:, None], 1),
        )

    def cut(x):
        """More is cut off one end than there is."""
        image = x.reshape(1, 1, 4, 5)
        pads = ((6, -5), (-7, 8))
        return (
            lax.pad(x, 7.0, ((6, -5, 0), (-7, 8, 0))),
            lax.pad(x, 7.0, ((-1, 1, 1), (2, -1, 0))),
            lax.conv_general_dilated(image, image[:, :, :2, :2], (1, 1), pads),
            lax.conv_general_dilated(image, image[:, :, :2, :2], (1, 1), ((-1, 2), (1, -2))),
        )

    def attention(q, k, v):
        scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) / 2
        return jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(scores), v)

    index = np.array([0, 3, 1], np.int32)
    heads = [floats(2, 3, 4, 5) for _ in range(3)]
    return jax, {
        "convolution": (convolution, [floats(1, 9, 8, 3), floats(3, 3, 3, 4)]),
        "pooled": (pooled, [floats(1, 9, 8, 3)]),
        "moved": (moved, [floats(4, 5)]),
        "functions": (functions, [floats(4, 5)]),
        "scanned": (scanned, [floats(6, 3)]),
        "indexed": (indexed, [floats(4, 5)[:, :4], index]),
        "cut": (cut, [floats(4, 5)]),
        "attention": (attention, heads),
    }


@pytest.mark.parametrize(
    "name",
    ["convolution", "pooled", "moved", "functions", "scanned", "indexed", "cut", "attention"],
)
def test_what_jax_prints(name: str):
    jax, programs = jax_programs()
    function, inputs = programs[name]
    if name == "indexed":
        inputs = [inputs[0][:3], inputs[1] % 3]
    text = jax.jit(function).lower(*inputs).as_text()
    expected = jax.tree_util.tree_leaves(jax.jit(function)(*inputs))
    for found, wanted in zip(results_of(text, *inputs), expected, strict=True):
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted, 2e-5, 2e-5)
