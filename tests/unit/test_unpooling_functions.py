"""Blocks put back into images, and pooled elements where they were."""

import numpy as np
import pytest
import stepwell as sw

RNG = np.random.default_rng(5)


def folded(x, image, block, dilations, pads, strides):
    """Each element of each block added to its place, one after another."""
    rank = len(image)
    reach = [(k - 1) * d + 1 for k, d in zip(block, dilations, strict=True)]
    ends = zip(image, pads, pads[rank:], reach, strides, strict=False)
    places = [(extent + low + high - r) // s + 1 for extent, low, high, r, s in ends]
    parts = x.reshape(x.shape[0], -1, *block, *places)
    y = np.zeros((*parts.shape[:2], *image), x.dtype)
    for index in np.ndindex(*block, *places):
        tap, place = np.array(index[:rank]), np.array(index[rank:])
        at = place * strides + tap * dilations - np.array(pads[:rank])
        if all(0 <= p < e for p, e in zip(at, image, strict=True)):
            y[(slice(None), slice(None), *at)] += parts[(slice(None), slice(None), *index)]
    return y


@pytest.mark.parametrize(
    ("image", "block", "dilations", "pads", "strides", "count"),
    [
        ((5, 5), (1, 5), (1, 1), (0, 0, 0, 0), (1, 1), 5),
        ((5, 6), (2, 3), (2, 1), (1, 0, 0, 2), (1, 2), 12),
        ((9,), (2,), (1,), (0, 0), (4,), 2),
        ((4, 3, 5), (2, 2, 3), (1, 1, 2), (0, 1, 1, 0, 1, 1), (2, 1, 3), 8),
    ],
)
def test_col2im(image, block, dilations, pads, strides, count):
    x = RNG.integers(-9, 9, (2, 3 * int(np.prod(block)), count)).astype(np.float32)
    pairs = tuple(zip(pads[: len(image)], pads[len(image) :], strict=True))
    arguments = (image, block, dilations, pairs, strides)
    expected = folded(x, image, block, dilations, pads, strides)
    np.testing.assert_array_equal(sw.col2im(x, *arguments), expected)
    compiled = sw.jit(lambda x: sw.col2im(x, *arguments), opt="quick")
    np.testing.assert_array_equal(compiled(x), expected)


@pytest.mark.parametrize(("kernel", "pads"), [(2, 0), ((3, 2), ((1, 0), (0, 0)))])
def test_max_unpool(kernel, pads):
    x = RNG.permutation(2 * 3 * 8 * 6).reshape(2, 3, 8, 6).astype(np.float32)
    window = (kernel, kernel, pads)
    pooled, places = sw.max_pool(x, *window), sw.argmax_pool(x, *window)
    shape = (*x.shape[:2], *sw.max_unpool(pooled, places, *window).shape[2:])
    expected = np.zeros(shape, np.float32)
    expected.ravel()[places.ravel()] = pooled.ravel()
    for unpool in (sw.max_unpool, sw.jit(lambda *a: sw.max_unpool(*a, *window), opt="quick")):
        found = (
            unpool(pooled, places, *window) if unpool is sw.max_unpool else unpool(pooled, places)
        )
        np.testing.assert_array_equal(found, expected)
    larger = sw.max_unpool(pooled, places, *window, output_size=(*shape[:3], shape[3] + 2))
    np.testing.assert_array_equal(larger, np.pad(expected, [(0, 0)] * 3 + [(0, 2)]))


X = np.zeros((1, 4, 9), np.float32)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sw.col2im(X, (4, 4), (2, 2), stride=2), r"expected \(n, a multiple of 4, 4\)"),
        (lambda: sw.col2im(X, (4, 4), (5, 5)), "found a window that spans 5 elements"),
        (lambda: sw.col2im(X, (1 << 40,), (1,)), "expected"),
        (lambda: sw.max_unpool(X, X, 2), "found indices of float32"),
        (lambda: sw.max_unpool(X, X.astype(int), 2, padding=99), "found a window that covers"),
        (lambda: sw.max_pool(X, 2, 1, -1), "expected none below 0"),
        (lambda: sw.max_pool(X, 1 << 40, 1, padding=1 << 40), "elements of padding on axis 2"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(sw.StepwellError, match=message):
        call()
