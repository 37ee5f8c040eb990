"""Pooling against a walk over every window in Python: eagerly, and compiled."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import ceil

import numpy as np
import pytest
import stepwell as sw
from hypothesis import given, settings
from hypothesis import strategies as st


@dataclass(frozen=True)
class Pool:
    shape: tuple[int, ...]
    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    pads: tuple[int, ...]
    dilations: tuple[int, ...]
    ceil_mode: bool

    def arguments(self):
        count = len(self.kernel)
        pads = tuple(zip(self.pads[:count], self.pads[count:], strict=True))
        positional = (self.kernel, self.strides, pads, self.dilations)
        return positional, {"ceil_mode": self.ceil_mode}

    def places(self, axis):
        count = len(self.kernel)
        room = self.shape[axis] + self.pads[axis] + self.pads[count + axis]
        room -= (self.kernel[axis] - 1) * self.dilations[axis] + 1
        number = (ceil if self.ceil_mode else int)(room / self.strides[axis]) + 1
        beyond = (number - 1) * self.strides[axis] >= self.shape[axis] + self.pads[axis]
        return number - 1 if beyond else number

    def windows(self):
        """For each place the positions under the window; those in the padding too, and those beyond it."""
        axes = range(len(self.kernel))
        for place in product(*(range(self.places(axis)) for axis in axes)):
            under = [
                [
                    place[axis] * self.strides[axis] + k * self.dilations[axis] - self.pads[axis]
                    for k in range(self.kernel[axis])
                ]
                for axis in axes
            ]
            yield place, list(product(*under))

    def is_inside(self, position):
        return all(0 <= at < n for at, n in zip(position, self.shape, strict=True))

    def is_padding(self, position):
        count = len(self.kernel)
        return all(
            -self.pads[axis] <= at < self.shape[axis] + self.pads[count + axis]
            for axis, at in enumerate(position)
        )

    def reduced(self, x, join):
        """`join(elements, positions)` of each window, for each element of the batch and each channel."""
        out = np.empty((*x.shape[:2], *(self.places(axis) for axis in range(len(self.kernel)))))
        for outer in np.ndindex(*x.shape[:2]):
            for place, under in self.windows():
                positions = [position for position in under if self.is_inside(position)]
                out[(*outer, *place)] = join([x[(*outer, *at)] for at in positions], under, outer)
        return out


@st.composite
def pools(draw, rank=None):
    axes = range(draw(st.integers(1, 3)) if rank is None else rank)
    kernel, strides, dilations, shape, low, high = [], [], [], [], [], []
    for _ in axes:
        k, d = draw(st.integers(1, 3)), draw(st.integers(1, 2))
        # Pads below the window's extent, and no hole of it over the whole operand: every window has elements.
        low.append(draw(st.integers(0, k - 1)))
        high.append(draw(st.integers(0, k - 1)))
        shape.append(draw(st.integers((k - 1) * d + 1, 7)))
        kernel.append(k)
        dilations.append(d)
        strides.append(draw(st.integers(1, 3)))
    return Pool(
        *map(tuple, (shape, kernel, strides, [*low, *high], dilations)), draw(st.booleans())
    )


def operand(pool, batch=(2, 3), dtype=np.float32):
    # Few distinct numbers, so that some are equal.
    values = np.random.default_rng(3).integers(-9, 9, (*batch, *pool.shape))
    return values.astype(dtype)


@given(pools())
@settings(max_examples=60, deadline=None)
def test_values(pool):
    x = operand(pool)
    positional, keywords = pool.arguments()
    np.testing.assert_array_equal(
        sw.max_pool(x, *positional, **keywords), pool.reduced(x, lambda e, *_: max(e))
    )
    np.testing.assert_allclose(
        sw.average_pool(x, *positional, **keywords, count_include_pad=False),
        pool.reduced(x, lambda e, *_: np.mean(e)),
        rtol=1e-6,
        atol=1e-6,
    )
    np.testing.assert_allclose(
        sw.average_pool(x, *positional, **keywords),
        pool.reduced(x, lambda e, under, _: np.sum(e) / sum(map(pool.is_padding, under))),
        rtol=1e-6,
        atol=1e-6,
    )
    for p in (1, 2, 3):
        np.testing.assert_allclose(
            sw.lp_pool(x, *positional, **keywords, p=p),
            pool.reduced(x, lambda e, *_, p=p: np.sum(np.abs(e) ** p) ** (1 / p)),
            rtol=1e-5,
        )


@given(pools(), st.sampled_from([0, 1]))
@settings(max_examples=40, deadline=None)
def test_where_the_greatest_is(pool, storage_order):
    x = operand(pool)
    positional, keywords = pool.arguments()
    order = "FC"[not storage_order]

    def first(elements, under, outer):
        best = None
        for at in filter(pool.is_inside, under):
            if best is None or x[(*outer, *at)] > x[(*outer, *best)]:
                best = at
        image = outer[0] * x.shape[1] + outer[1]
        number = np.ravel_multi_index(best, pool.shape, order=order)
        return image * int(np.prod(pool.shape)) + number

    found = sw.argmax_pool(x, *positional, **keywords, storage_order=storage_order)
    assert found.dtype == np.int64
    np.testing.assert_array_equal(found, pool.reduced(x, first))


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.uint8])
def test_compiled(dtype):
    shape = (2, 3, 13, 19)
    x = np.random.default_rng(0).integers(0, 99, shape).astype(dtype)

    def pooled(x):
        return (
            sw.max_pool(x, 3, 2, 1),
            sw.max_pool(x, (2, 3), (1, 2), ceil_mode=True),
            sw.argmax_pool(x, 3, 2, 1),
            sw.max_pool(x, 2, 1, channels_last=True),
            sw.average_pool(x, 3, 2, 1),
        )

    for found, expected in zip(sw.jit(pooled)(x), pooled(x), strict=True):
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_reductions_of_images_to_an_element():
    """The axes that a reduction joins: all of an image, those of a part of one, and those around an axis that stays."""
    x = np.random.default_rng(0).standard_normal((2, 3, 7, 17)).astype(np.float32)

    def reduced(np, x):
        return (
            np.mean(x, axis=(2, 3), keepdims=True),
            np.max(x, axis=(1, 2)),
            np.sum(x[:, :, 1:, 3:], axis=(2, 3)),
            np.min(x, axis=(0, 1, 3)) * 2,
        )

    for found, expected in zip(sw.jit(lambda x: reduced(sw, x))(x), reduced(np, x), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_of_nothing_but_infinities():
    """An element of the padding is never the greatest, also where every other one is the least number."""
    x = np.full((1, 1, 4, 4), -np.inf, np.float32)
    expected = np.array([[[[0, 0, 2], [0, 0, 2], [8, 8, 10]]]])[..., :3, :3]
    found = sw.argmax_pool(x, 2, 2, 1)
    assert found[0, 0, 0, 0] == 0 and found[0, 0, 1, 1] == 5 and found[0, 0, 2, 2] == 15
    np.testing.assert_array_equal(sw.jit(lambda x: sw.argmax_pool(x, 2, 2, 1))(x), found)
    assert expected.shape == found.shape


def test_nan_is_the_greatest():
    x = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
    x[0, 0, 1, 1] = np.nan
    found = sw.jit(lambda x: (sw.max_pool(x, 2, 2), sw.argmax_pool(x, 2, 2)))(x)
    assert np.isnan(found[0][0, 0, 0, 0]) and found[1][0, 0, 0, 0] == 5


@pytest.mark.parametrize(
    ("padding", "shape", "corner"),
    [("same", (3, 3), 7), ("same_lower", (3, 3), 0), ("valid", (2, 2), 7)],
)
def test_padding_by_name(padding, shape, corner):
    image = np.arange(36, dtype=np.float32).reshape(1, 1, 6, 6)
    odd = sw.max_pool(image[:, :, :5, :5], 2, 2, padding)
    assert odd.shape[2:] == shape
    even = sw.max_pool(image, 2, 1, padding)
    assert even[0, 0, 0, 0] == corner


def test_without_a_stride_windows_stand_side_by_side():
    image = np.arange(36, dtype=np.float32).reshape(1, 1, 6, 6)
    np.testing.assert_array_equal(sw.max_pool(image, (2, 3))[0, 0], [[8, 11], [20, 23], [32, 35]])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: sw.max_pool(x[0, 0], 2), "found a tensor of 2 axes, expected at least 3"),
        (
            lambda x: sw.max_pool(x, (2, 2, 2)),
            "found 3 numbers for kernel_size, expected one, or 2",
        ),
        (
            lambda x: sw.max_pool(x, 2, padding=(1, 2, 3)),
            "found 3 numbers for padding, expected one, or 2",
        ),
        (lambda x: sw.max_pool(x, 2, 0), "expected numbers of at least 1"),
        (
            lambda x: sw.max_pool(x, 9),
            "found a window that spans 9 elements on axis 2, which has 5",
        ),
        (lambda x: sw.max_pool(x, 2, padding=2), "found a window that lies in the padding"),
        (
            lambda x: sw.max_pool(x, 2, padding="full"),
            "found padding 'full', expected 'valid', 'same', 'same_lower' or numbers",
        ),
    ],
)
def test_refusals(call, message):
    with pytest.raises(sw.StepwellError, match=message):
        call(np.zeros((1, 1, 5, 5), np.float32))
