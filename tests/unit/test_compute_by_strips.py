"""Convolutions by strips of rows: which rows strips need, and that they compute what whole layers do."""

import numpy as np
import stepwell as sw
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from stepwell.analysis.plans.strips import RowWindow, StripsPlan, choose, strips_of
from stepwell.dialects.graph import ConvOp
from stepwell.driver.options import Options
from stepwell.frontend.lowered import Lowered
from stepwell.interpreters.harness import interpret
from stepwell.targets.target import Target
from stepwell.transforms.graph.compute_by_strips import chains, rewrite

RNG = np.random.default_rng(14)

WINDOWS = st.tuples(
    st.integers(1, 5), st.integers(1, 3), st.integers(1, 2), st.integers(0, 2), st.integers(0, 2)
)
"""The window's extent, its stride and dilation, and what the image is padded by before and after."""


def array(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def network(windows, rows, channels=3):
    """A graph of layers, of which some are grouped; all but the first are finished with other images, row by row."""
    weights = [
        array(channels, 1 if number % 2 else channels, taps, 2)
        for number, (taps, *_) in enumerate(windows)
    ]

    def function(x):
        for number, (w, (_, stride, dilation, low, high)) in enumerate(
            zip(weights, windows, strict=True)
        ):
            x = sw.conv(
                x,
                w,
                stride=(stride, 1),
                dilation=(dilation, 1),
                padding=((low, high), (1, 0)),
                groups=channels if number % 2 else 1,
            )
            x = x * sw.sigmoid(x)
            if number:
                x = x + array(*x.shape[1:]) * array(x.shape[2], 1) + array(channels, 1, 1)
        return x

    return sw.jit(function).lower(array(2, channels, rows, 5)).module("graph")


def chain_of(module):
    (function,) = module.ops
    (chain,) = chains(function.body.block)
    return chain


def is_possible(windows, rows):
    for taps, stride, dilation, low, high in windows:
        reach = (taps - 1) * dilation + 1
        if low >= reach or high >= reach:
            return False
        rows = (rows + low + high - reach) // stride + 1
        if rows < 1:
            return False
    return True


@settings(deadline=None, max_examples=10, suppress_health_check=list(HealthCheck))
@given(
    st.lists(WINDOWS, min_size=2, max_size=3),
    st.sampled_from([1, 2, 3, 5, 7, 17, 31]),
    st.integers(1, 9),
)
@example([(3, 1, 1, 1, 1), (3, 2, 1, 1, 1)], 17, 2)
@example([(1, 1, 1, 0, 0), (5, 1, 1, 2, 2), (3, 1, 2, 2, 2)], 31, 9)
def test_strips_compute_what_whole_layers_do(windows, rows, size):
    if not is_possible(windows, rows):
        return
    module = network(windows, rows)
    chain = chain_of(module)
    assert len(chain) == len(windows)
    strips = strips_of(chain, size)
    if strips is None:
        return
    x = array(2, 3, rows, 5)
    (expected,) = interpret(module, [x])
    rewrite(StripsPlan(tuple(chain), strips, 0.0, 0.0))
    module.verify()
    assert sum(isinstance(op, ConvOp) for op in module.walk()) == len(strips) * len(windows)
    np.testing.assert_allclose(interpret(module, [x])[0], expected, rtol=1e-4, atol=1e-4)
    if len(strips) < 4:
        native = Lowered(module, options=Options(opt="quick")).compile()
        np.testing.assert_allclose(native(x), expected, rtol=1e-4, atol=1e-4)


@settings(deadline=None, max_examples=30)
@given(WINDOWS, st.integers(1, 33), st.data())
def test_rows_are_those_that_windows_reach(window, rows, data):
    taps, stride, dilation, low, _ = window
    if not is_possible([window], rows):
        return
    conv = next(op for op in network([window], rows).walk() if isinstance(op, ConvOp))
    count = conv.result.type.get_shape()[2]
    first = data.draw(st.integers(0, count - 1))
    end = data.draw(st.integers(first + 1, count))
    places = {o * stride - low + k * dilation for o in range(first, end) for k in range(taps)}
    part = RowWindow.of(conv).read(first, end)
    if part is None:
        assert not places & set(range(rows))
        return
    assert places & set(range(rows)) <= set(range(part.low, part.high))
    assert (part.low - part.before, part.high + part.after) == (min(places), max(places) + 1)


def inverted_residual():
    expand, depthwise, project = array(144, 24, 1, 1), array(144, 1, 3, 3), array(24, 144, 1, 1)

    def function(x):
        y = sw.conv(sw.nn.relu(sw.conv(x, expand)), depthwise, padding=1, groups=144)
        return sw.conv(y, project)

    return sw.jit(function).lower(array(1, 24, 56, 56)).module("graph")


def test_all_strips_but_the_first_are_alike():
    module = inverted_residual()
    (plan,) = choose(chain_of(module), Target.of("sapphire-rapids"))
    rewrite(plan)
    convolutions = [op for op in module.walk() if isinstance(op, ConvOp)]
    kinds = [(op.image.type, op.result.type, *op.window) for op in convolutions]
    assert len(kinds) == 3 * len(plan.strips) and len(set(kinds)) == 4
    assert len(set(kinds[3:])) == 3


def test_strips_of_threads_are_larger_as_each_has_a_part_in_its_cache():
    module = inverted_residual()
    target = Target.parse("sapphire-rapids:l2=1M")
    (one,), (two,) = (choose(chain_of(module), target, threads=n) for n in (1, 2))
    assert two.strips[0][-1].count > one.strips[0][-1].count


def test_threads_that_strips_are_too_short_for_leave_layers_whole():
    module = inverted_residual()
    target = Target.of("sapphire-rapids")
    (plan,) = choose(chain_of(module), target)
    assert plan.seconds < plan.apart
    assert not choose(chain_of(module), target, threads=8)
