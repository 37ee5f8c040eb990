"""Loops over independent elements run tile by tile, and give what they give as a whole."""

import numpy as np
import pytest
import stepwell as sw


def mandelbrot(cx, cy, most=40):
    def step(state):
        i, x, y, count = state
        inside = x * x + y * y < 4
        moved = x * x - y * y + cx, 2 * x * y + cy
        return i + 1, sw.where(inside, moved[0], x), sw.where(inside, moved[1], y), count + inside

    zero = sw.zeros_like(cx)
    state = (0, zero, zero, sw.zeros(cx.shape, np.int32))
    goes_on = lambda s: (s[0] < most) & sw.any(s[1] * s[1] + s[2] * s[2] < 4)  # noqa: E731
    return sw.while_loop(goes_on, step, state)[1:]


def halved(x):
    """The question is part of the state."""

    def step(state):
        value, big = state
        value = sw.where(big, value / 2, value)
        return value, big & (value > 1)

    return sw.while_loop(lambda s: s[1].any(), step, (x, x > 1))


@pytest.mark.parametrize("shape", [(64, 96), (4096,), (9, 1021)])
def test_the_mandelbrot_set(shape):
    rng = np.random.default_rng(0)
    cx, cy = rng.uniform(-2, 1, shape), rng.uniform(-1.2, 1.2, shape)
    jitted = sw.jit(mandelbrot, fp="strict")
    for found, wanted in zip(jitted(cx, cy), mandelbrot(cx, cy), strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_a_question_in_the_state():
    x = np.random.default_rng(0).uniform(0, 1e6, (3, 4000)).astype(np.float32)
    low = sw.jit(halved).lower(x)
    for found, wanted in zip(low.compile()(x), halved(x), strict=True):
        np.testing.assert_array_equal(found, wanted)
    assert "te.scan" in low.as_text("te")
