"""Random numbers: the generator by its known answers, and the distributions by their moments."""

import numpy as np
import pytest
import stepwell as sw
from stepwell.frontend.numpy.random import threefry

KNOWN = [
    ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
    ((0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0x1CB996FC, 0xBB002BE7)),
    ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
]
"""Keys, counters and words of threefry2x32-20, from the known-answer tests of Random123."""


@pytest.mark.parametrize(("key", "counter", "words"), KNOWN)
def test_known_answers(key, counter, words):
    counters = [np.array([word], np.uint32) for word in counter]
    found = sw.jit(lambda x, y: threefry(key, x, y), opt="quick")(*counters)
    assert tuple(int(word[0]) for word in found) == words


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_uniform(dtype):
    x = sw.random_uniform(7, (100, 100), -2, 4, dtype=dtype)
    assert x.dtype == np.dtype(dtype)
    assert x.min() >= -2
    assert x.max() < 4
    assert abs(x.mean() - 1) < 0.06
    assert abs(x.var() - 3) < 0.1
    assert len(np.unique(x)) > 9990
    assert not np.array_equal(x, sw.random_uniform(8, (100, 100), -2, 4, dtype=dtype))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_normal(dtype):
    x = sw.random_normal(7, 40000, 3, 2, dtype=dtype)
    z = (x.astype("f8") - 3) / 2
    moments = [z.mean(), z.var(), (z**3).mean(), (z**4).mean()]
    np.testing.assert_allclose(moments, [0, 1, 0, 3], atol=0.12)


def test_traced_numbers_are_the_same():
    def numbers(x):
        return x + sw.random_uniform(5, (3, 17)), x + sw.random_normal(5, (3, 17))

    zeros = np.zeros((3, 17), np.float32)
    uniform, normal = sw.jit(numbers)(zeros)
    np.testing.assert_array_equal(uniform, sw.random_uniform(5, (3, 17)))
    np.testing.assert_allclose(normal, sw.random_normal(5, (3, 17)), rtol=1e-5, atol=1e-6)


def test_bernoulli():
    p = np.repeat(np.array([[0.0], [0.25], [1.0]], np.float32), 4000, 1)
    drawn = sw.jit(lambda p: sw.bernoulli(p, 3))(p)
    np.testing.assert_array_equal(drawn, sw.bernoulli(p, 3))
    assert drawn[0].sum() == 0
    assert drawn[2].sum() == 4000
    assert abs(drawn[1].mean() - 0.25) < 0.03
    assert sw.bernoulli(p, 3, dtype=np.int32).dtype == np.int32


def test_multinomial():
    logits = np.log(np.array([[0.1, 0.2, 0.7], [0.5, 0.5, 1e-9]], np.float32))
    drawn = sw.jit(lambda logits: sw.multinomial(logits, 3, 4000))(logits)
    np.testing.assert_array_equal(drawn, sw.multinomial(logits, 3, 4000))
    shares = [np.bincount(row, minlength=3) / 4000 for row in drawn]
    np.testing.assert_allclose(shares, [[0.1, 0.2, 0.7], [0.5, 0.5, 0]], atol=0.03)


def test_mistakes_are_one_line():
    with pytest.raises(sw.StepwellError, match="found dtype int32 for random numbers"):
        sw.random_uniform(1, 3, dtype=np.int32)
    with pytest.raises(sw.StepwellError, match=r"found logits of shape \[3\]"):
        sw.multinomial(np.ones(3, "f4"), 1)
