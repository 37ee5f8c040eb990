"""Programs with short axes: pixels, vectors in space, squares of a picture. Compiled, they agree with NumPy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import stepwell as sw
from stepwell.analysis.cost import sums_few_terms
from stepwell.analysis.facts import facts_of_loops, written_out
from stepwell.analysis.plans import rows
from stepwell.analysis.plans.rows_plan import RowsPlan
from stepwell.dialects import te
from stepwell.frontend.text import parse_text
from stepwell.targets.target import Target
from xdsl.dialects import func


def swap_colours(np, image):
    return np.stack([image[..., 2], image[..., 0] * 2, image[..., 1]], axis=-1)


def turn(np, image):
    """Unit vectors: elements, a sum over the short axis, and elements again."""
    mixed = np.stack([image[..., 1] + 1, image[..., 2], image[..., 0] - image[..., 1]], axis=-1)
    return mixed / np.sqrt((mixed**2).sum(axis=-1, keepdims=True) + 1)


def shrink(np, image):
    n, m, _ = image.shape
    squares = image[: n // 2 * 2, : m // 3 * 3].reshape(n // 2, 2, m // 3, 3, 3)
    largest = squares.max(axis=(1, 3))
    return largest, largest.sum(axis=(0, 1))


def colours_of_squares(np, image):
    """The colours of a sensor that has one of each square of four: parts that are computed, side by side."""
    square = image[:40, :52, 0]
    green = (square[::2, 1::2] + square[1::2, ::2]) / 2
    return np.stack([square[::2, ::2] * 3, green, np.exp(square[1::2, 1::2])], axis=-1)


@pytest.mark.parametrize("program", [swap_colours, turn, shrink, colours_of_squares])
def test_programs_with_short_axes(program: Callable[..., object]):
    image = np.random.default_rng(1).normal(size=(40, 53, 3)).astype(np.float32)
    found, expected = sw.jit(lambda x: program(sw, x))(image), program(np, image)
    pairs = zip(found, expected, strict=True) if isinstance(found, tuple) else [(found, expected)]
    for one, other in pairs:
        np.testing.assert_allclose(one, other, rtol=2e-6, atol=1e-6)


INTERLEAVE = """
func.func private @f(%X: memref<400x3xf32>, %Y: memref<400x3xf32> {stepwell.result}) {
  loop.for parallel "i" %i = 0 to 400 {
    loop.for parallel "j" %j = 0 to 3 {
      %a = loop.load %X[%i, -%j + 2] : memref<400x3xf32>
      %b = arith.addf %a, %a : f32
      loop.store %b, %Y[%i, %j] : memref<400x3xf32>
    }
  }
  func.return
}"""


def best_plan(text: str) -> RowsPlan:
    function = next(op for op in parse_text(text, "f.mlir").ops if isinstance(op, func.FuncOp))
    return rows.propose(facts_of_loops(function).facts, Target.of("x86-64-v3"))[0]


def test_a_short_loop_is_written_out_in_the_lanes_of_the_loop_around_it():
    plan = best_plan(INTERLEAVE)
    assert plan.written == ((0, (1,)),)
    assert plan.nests[0].lanes and plan.nests[0].order == (0,)
    assert "axes 1 of statement 0 written out" in str(plan)


def test_what_is_written_out_has_the_facts_of_each_iteration():
    function = next(op for op in parse_text(INTERLEAVE, "f").ops if isinstance(op, func.FuncOp))
    facts = written_out(facts_of_loops(function).facts, {0: (1,)})
    assert [s.shared for s in facts.statements] == [0, 1, 1]
    places = [[access.subscripts[1] for access in s.accesses] for s in facts.statements]
    assert [[at.constant for at in each if at] for each in places] == [[2, 0], [1, 1], [0, 2]]


def test_the_start_of_a_sum_is_in_the_loops_of_its_terms():
    text = """
func.func private @f(%X: memref<400x3xf32>, %Y: memref<400xf32> {stepwell.result}) {
  loop.for parallel "i" %i = 0 to 400 {
    %zero = arith.constant 0.0 : f32
    loop.store %zero, %Y[%i] : memref<400xf32>
  }
  loop.for parallel "k" %k = 0 to 400 {
    loop.for reduction "j" %j = 0 to 3 {
      %a = loop.load %X[%k, %j] : memref<400x3xf32>
      %b = loop.load %Y[%k] : memref<400xf32>
      %c = arith.addf %a, %b fastmath<reassoc> : f32
      loop.store %c, %Y[%k] : memref<400xf32>
    }
  }
  func.return
}"""
    plan = best_plan(text)
    assert plan.written == ((1, (1,)),)
    assert [nest.statements for nest in plan.nests] == [(0, 1, 2, 3)]


def test_a_product_of_nothing_is_zero():
    """A loop without iterations is not written out: there is no copy that others could be like."""
    found = sw.jit(lambda a, b: a @ b)(np.zeros(0, np.uint32), np.zeros((0, 31), np.uint32))
    np.testing.assert_array_equal(found, np.zeros(31, np.uint32))


def distances(np, points):
    """What is made of a short sum, and what is made of that along the short axis."""
    far = (points**2).sum(axis=1)
    return points * np.exp(-far)[:, None]


@pytest.mark.parametrize("shape", [(15, 3), (16, 3), (33, 2), (100, 8), (100, 9)])
def test_sums_of_few_terms(shape: tuple[int, int]):
    points = np.random.default_rng(2).normal(size=shape)
    found = sw.jit(lambda x: distances(sw, x))(points)
    np.testing.assert_allclose(found, distances(np, points), rtol=1e-13)


@pytest.mark.parametrize(
    ("shape", "axis", "is_written_out"),
    [
        ((16, 3), 1, True),
        ((15, 3), 1, False),  # too few results
        ((100, 8), 1, True),
        ((100, 9), 1, False),  # terms of neighbouring results are too far apart
        ((9, 100), 0, True),
        ((17, 100), 0, False),  # too many terms
    ],
)
def test_which_sums_are_written_out(shape: tuple[int, int], axis: int, is_written_out: bool):
    text = sw.jit(lambda x: (x**2).sum(axis=axis)).lower(np.ones(shape)).as_text("te")
    (compute,) = [op for op in parse_text(text, "f").walk() if isinstance(op, te.ComputeOp)]
    assert sums_few_terms(compute) == is_written_out
