"""Convolutions as public functions: at once, interpreted and native, against sums written in NumPy."""

import numpy as np
import pytest
import stepwell as sw

RNG = np.random.default_rng(7)


def numbers(*shape):
    """Small whole numbers, whose sums of products are exact."""
    return RNG.integers(-4, 5, shape).astype(np.float32)


def check(function, expected, *arrays):
    """The function at once, natively, and interpreted at te, gives what is expected."""
    jitted = sw.jit(function, opt="quick")
    module = jitted.lower(*arrays).module("te")
    for found in (function(*arrays), jitted(*arrays), *sw.interpret(module, arrays)):
        np.testing.assert_array_equal(found, expected)


def direct(x, w, stride, before, after, dilation=1):
    """A convolution of one dimension, element by element."""
    wide = np.pad(x, ((0, 0), (0, 0), (before, after)))
    count = (wide.shape[2] - dilation * (w.shape[2] - 1) - 1) // stride + 1
    y = np.zeros((x.shape[0], w.shape[0], count), np.float32)
    for o in range(count):
        for k in range(w.shape[2]):
            y[:, :, o] += wide[:, :, o * stride + k * dilation] @ w[:, :, k].T
    return y


def scattered(x, w, stride, cut, more=0, dilation=1):
    """A transposed convolution of one dimension: what each element adds."""
    whole = (x.shape[2] - 1) * stride + dilation * (w.shape[2] - 1) + 1
    y = np.zeros((x.shape[0], w.shape[1], whole + more), np.float32)
    for i in range(x.shape[2]):
        for k in range(w.shape[2]):
            y[:, :, i * stride + k * dilation] += x[:, :, i] @ w[:, :, k]
    return y[:, :, cut : whole + more - cut]


def test_strides_pads_dilations_and_a_bias():
    x, w, b = numbers(2, 3, 11), numbers(4, 3, 3), numbers(4)
    expected = direct(x, w, 2, 1, 1) + b[:, None]
    check(lambda x, w, b: sw.conv(x, w, b, stride=2, padding=1), expected, x, w, b)
    expected = direct(x, w, 1, 0, 2, 3)
    check(lambda x, w: sw.conv(x, w, padding=((0, 2),), dilation=3), expected, x, w)
    check(lambda x, w: sw.conv(x, w, padding="same"), direct(x, w, 1, 1, 1), x, w)
    check(
        lambda x, w: sw.conv(x, w[:, :, :2], padding="same"), direct(x, w[:, :, :2], 1, 0, 1), x, w
    )


def test_groups():
    x, w = numbers(1, 4, 9), numbers(6, 2, 3)
    halves = [direct(x[:, 2 * g : 2 * g + 2], w[3 * g : 3 * g + 3], 1, 1, 1) for g in range(2)]
    check(lambda x, w: sw.conv(x, w, padding=1, groups=2), np.concatenate(halves, 1), x, w)
    w = numbers(4, 1, 3)
    alone = [direct(x[:, g : g + 1], w[g : g + 1], 2, 1, 1) for g in range(4)]
    check(lambda x, w: sw.conv(x, w, stride=2, padding=1, groups=4), np.concatenate(alone, 1), x, w)


@pytest.mark.parametrize("outputs", [16, 24])
def test_groups_under_schedule(outputs):
    """Panels of weights stay inside of a group, whether vectors of its outputs are whole or not."""
    x, w = numbers(1, 9, 20), numbers(3 * outputs, 3, 3)
    parts = [
        direct(x[:, 3 * g : 3 * g + 3], w[outputs * g : outputs * (g + 1)], 1, 1, 1)
        for g in range(3)
    ]
    for function, arrays in (
        (lambda x: sw.conv(x, w, padding=1, groups=3), (x,)),
        (lambda x, w: sw.conv(x, w, padding=1, groups=3), (x, w)),
    ):
        found = sw.jit(function)(*arrays)
        np.testing.assert_array_equal(found, np.concatenate(parts, 1))


@pytest.mark.parametrize(
    ("stride", "cut", "more", "dilation"),
    [(1, 0, 0, 1), (2, 1, 1, 1), (3, 0, 0, 2), (4, 0, 2, 2), (5, 0, 4, 1), (9, 16, 0, 1)],
)
def test_transposed(stride, cut, more, dilation):
    x, w, b = numbers(2, 3, 5), numbers(3, 4, 3), numbers(4)
    expected = scattered(x, w, stride, cut, more, dilation) + b[:, None]
    check(
        lambda x, w, b: sw.conv_transpose(x, w, b, stride, cut, more, dilation=dilation),
        expected, x, w, b,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: sw.conv(x, x[0]), "expected a batch, channels and the same number of axes"),
        (lambda x: sw.conv(x, x, stride=(1, 2)), "found 2 numbers for stride, expected one, or 1"),
        (
            lambda x: sw.conv(x, x, padding="full"),
            "found padding 'full', expected 'valid', 'same', 'same_lower' or numbers",
        ),
        (
            lambda x: sw.conv(x, x, padding="same", stride=0),
            "found stride \\[0\\], expected numbers of at least 1",
        ),
        (
            lambda x: sw.conv(x, x, padding=((1,),)),
            "expected a pair \\(before, after\\) for each of 1 axes",
        ),
        (lambda x: sw.conv(x, x, np.zeros(3, np.float32)), "found a bias of shape \\[3\\]"),
        (lambda x: sw.conv(x, x, groups=5), "found 5 groups of 4 channels"),
        (lambda x: sw.conv(x, x, groups=1.0), "found 1.0 for groups, expected an integer"),
        (
            lambda x: sw.conv_transpose(x, x, groups="2"),
            "found '2' for groups, expected an integer",
        ),
    ],
)
def test_mistakes(function, message):
    with pytest.raises(sw.StepwellError, match=message):
        sw.jit(function)(np.zeros((2, 4, 6), np.float32))


@pytest.mark.parametrize("function", (sw.conv, sw.conv_transpose))
@pytest.mark.parametrize(("images", "channels", "taps"), ((0, 4, 3), (2, 0, 3), (2, 4, 0)))
def test_nothing_to_sum(function, images: int, channels: int, taps: int) -> None:
    """On arrays alone as where it is traced."""
    x = np.ones((images, channels, 6), np.float32)
    w = np.ones((channels, channels, taps), np.float32)
    found = function(x, w, groups=True)
    wanted = sw.jit(function, opt="quick")(x, w)
    assert found.shape == wanted.shape
    assert np.array_equal(found, wanted)


@pytest.mark.parametrize(("stride", "taps"), [(2, 2), (3, 2), (2, 5), (1, 3)])
def test_what_follows_a_transposed_convolution_is_done_to_its_parts(stride, taps):
    """Also where a phase meets no place of the window; not what differs from place to place, or where others read it too."""
    x, w, b = numbers(2, 3, 7), numbers(3, 4, taps), numbers(4, 1)
    plain = scattered(x, w, stride, 0)
    along = numbers(plain.shape[2])

    def function(x, w, b, along):
        y = sw.conv_transpose(x, w, stride=stride)
        z = sw.nn.relu(2 * (b - y)) + along
        return z * z, sw.conv_transpose(x, w, stride=stride) + along

    z = np.maximum(2 * (b - plain), 0) + along
    jitted = sw.jit(function, opt="quick")
    module = jitted.lower(x, w, b, along).module("te")
    for found in (jitted(x, w, b, along), sw.interpret(module, [x, w, b, along])):
        for one, expected in zip(found, (z * z, plain + along), strict=True):
            np.testing.assert_array_equal(one, expected)
