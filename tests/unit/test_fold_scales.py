"""What follows a layer for each channel goes into its weights, and the values stay."""

from __future__ import annotations

import numpy as np
import pytest
import stepwell as sw
from hypothesis import given, settings
from hypothesis import strategies as st
from stepwell.interpreters.harness import interpret
from stepwell.transforms.graph.fold_scales import GraphFoldScalesPass
from xdsl.context import Context

RNG = np.random.default_rng(0)


def numbers(shape, low=0.5):
    return (RNG.uniform(low, 2, shape) * RNG.choice([-1, 1], shape)).astype(np.float32)


def matmul(x):
    return x @ WEIGHTS


def conv(x):
    return sw.conv(x, KERNELS, stride=2, groups=2)


def conv_transpose(x):
    return sw.conv_transpose(x, TRANSPOSED, stride=2, groups=2)


WEIGHTS = numbers((5, 4))
KERNELS = numbers((4, 3, 2))
TRANSPOSED = numbers((6, 2, 2))
LAYERS = {matmul: (3, 5), conv: (2, 6, 7), conv_transpose: (2, 6, 3)}


@pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: layer.__name__)
@settings(max_examples=25, deadline=None)
@given(st.lists(st.sampled_from(["mul", "div", "add", "sub"]), min_size=1, max_size=5), st.data())
def test_values_stay(layer, steps, data):
    x = numbers(LAYERS[layer])

    def program(x):
        y = layer(x)
        channels = [-1, *[1] * (y.ndim - 2)] if y.ndim > 2 else [-1]
        for step in steps:
            other = np.float32(1.5) if data.draw(st.booleans()) else numbers(4).reshape(channels)
            before = step in ("mul", "add") and data.draw(st.booleans())
            operation = {"mul": sw.multiply, "div": sw.divide, "add": sw.add, "sub": sw.subtract}
            y = operation[step](*((other, y) if before else (y, other)))
        return y

    module = sw.jit(program).lower(x).module("graph").clone()
    (expected,) = interpret(module, [x])
    GraphFoldScalesPass().apply(Context(), module)
    module.verify()
    text = str(module)
    assert text.count("graph.mul") + text.count("graph.div") == 0
    assert text.count("graph.add") + text.count("graph.sub") <= 1
    (found,) = interpret(module, [x])
    # Each factor is at most 2, and of each sum at most the next power.
    assert np.allclose(found, expected, rtol=1e-4, atol=1e-5 * 4 ** len(steps))


@pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: layer.__name__)
def test_layers_that_are_added_keep_their_values(layer):
    x = numbers(LAYERS[layer])

    def program(x):
        first, second = layer(x), layer(sw.exp(x))
        channels = [-1, *[1] * (first.ndim - 2)] if first.ndim > 2 else [-1]
        return (first + numbers(4).reshape(channels)) + (second + numbers(4).reshape(channels))

    module = sw.jit(program).lower(x).module("graph").clone()
    (expected,) = interpret(module, [x])
    GraphFoldScalesPass().apply(Context(), module)
    module.verify()
    assert str(module).count("graph.add") == 2
    (found,) = interpret(module, [x])
    assert np.allclose(found, expected, rtol=1e-5, atol=1e-4)
