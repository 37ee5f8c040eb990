"""Random numbers by keys: the generator by its known answers, keys by their independence, numbers by their moments."""

import numpy as np
import pytest
import stepwell as sw
from stepwell.frontend.numpy.random import threefry
from unit.test_random_functions import KNOWN

KEY = sw.random.key(7)


def test_known_answers_of_traced_keys():
    keys, counters, words = np.array(KNOWN, np.uint32).transpose(1, 2, 0)
    found = sw.jit(lambda k, c: threefry((k[0], k[1]), c[0], c[1]), opt="quick")(keys, counters)
    np.testing.assert_array_equal(found, words)


def test_bits_are_those_of_the_key_and_the_counter():
    assert sw.random.bits(sw.random.key(0), 1)[0] == KNOWN[0][2][0]
    assert sw.random.bits(sw.random.key(0), (), np.uint64) == KNOWN[0][2][1] << 32 | KNOWN[0][2][0]
    np.testing.assert_array_equal(sw.random.key(5 << 32 | 3), [3, 5])
    np.testing.assert_array_equal(sw.random.key(-1), [2**32 - 1] * 2)
    np.testing.assert_array_equal(sw.random.uniform(KEY, (3, 5)), sw.random_uniform(7, (3, 5)))


def integers_and_fractions(a, b, step):
    r = sw.random
    return r.bits(a, (3,), np.uint64), r.uniform(a, (2, 5)), r.randint(b, (17,), -3, 9, np.int8)


def draws(a, b, step):
    r = sw.random
    return (
        r.uniform(b, (2, 5), np.float64),
        r.randint(b, (3,), step, step + np.int64(100)),
        r.bernoulli(a, np.full((2, 3), 0.25, "f4")),
        r.permutation(b, 31),
        r.choice(a, 9, (2, 2), replace=False),
    )


def rounded(a, b, step):
    r = sw.random
    return r.normal(a, (17,)), r.exponential(b, 5), r.uniform(a, 3, minval=-2, maxval=step)


@pytest.mark.parametrize(
    ("drawn", "tolerance"),
    [
        (integers_and_fractions, 0),
        pytest.param(draws, 0, marks=pytest.mark.slow),
        pytest.param(rounded, 1e-5, marks=pytest.mark.slow),
    ],
)
def test_at_once_and_traced_they_are_the_same(drawn, tolerance):
    def function(seed, step):
        key = sw.random.fold_in(sw.random.key(seed), step)
        keys = sw.random.split(key)
        return key, *drawn(keys[0], keys[1], step)

    found = sw.jit(function, opt="quick")(np.int64(2**40 + 5), np.int64(3))
    expected = function(2**40 + 5, 3)
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance / 10)


def test_keys_are_independent():
    keys = [KEY, *sw.random.split(KEY, 50), *(sw.random.fold_in(KEY, n) for n in range(4))]
    assert len({tuple(key.tolist()) for key in keys}) == 55
    x, y = (sw.random.normal(key, 4000) for key in sw.random.split(KEY))
    assert abs(np.corrcoef(x, y)[0, 1]) < 0.05


def test_moments():
    r = sw.random
    for drawn, mean, variance in (
        (r.uniform(KEY, 20000, minval=-2, maxval=4), 1, 3),
        (r.normal(KEY, (20000,), np.float64), 0, 1),
        (r.exponential(KEY, 20000), 1, 1),
        (r.gumbel(KEY, 20000), 0.5772, 1.6449),
        (r.randint(KEY, 20000, 0, 10), 4.5, 8.25),
        (r.bernoulli(KEY, 0.25, (20000,)), 0.25, 0.1875),
    ):
        assert abs(drawn.mean() - mean) < 0.05
        assert abs(drawn.var() / variance - 1) < 0.05


@pytest.mark.slow
def test_choice_permutation_and_categorical():
    r, names = sw.random, np.arange(10, 14)
    p = np.array([0.1, 0.2, 0.7, 0.0], "f4")
    for drawn in (
        r.choice(KEY, names, (8000,), p=p) - 10,
        r.categorical(KEY, np.log(p + 1e-30), -1, 8000),
    ):
        shares = np.bincount(drawn, minlength=4) / 8000
        np.testing.assert_allclose(shares, p, atol=0.02)
        assert shares[3] == 0
    assert set(r.choice(KEY, names, 3, replace=False, p=p).tolist()) == {10, 11, 12}
    assert sorted(r.permutation(KEY, names).tolist()) == names.tolist()
    x = np.arange(12).reshape(3, 4)
    shuffled = r.permutation(KEY, x, 1)
    np.testing.assert_array_equal(np.sort(shuffled, 1), x)
    np.testing.assert_array_equal(np.diff(shuffled, axis=0), 4)
    logits = np.log(np.array([[1.0, 1e-30], [1e-30, 1.0]]))
    np.testing.assert_array_equal(r.categorical(KEY, logits), [0, 1])
    np.testing.assert_array_equal(r.categorical(KEY, logits, 0, (3, 2)), [[0, 1]] * 3)
    # Each order of three is as frequent as the others.
    shuffle = sw.jit(lambda key: r.permutation(key, 3), opt="quick")
    orders = [tuple(shuffle(key).tolist()) for key in r.split(KEY, 600)]
    assert len(set(orders)) == 6
    assert min(map(orders.count, orders)) > 65


def test_mistakes_are_one_line():
    r = sw.random
    for message, call in {
        r"found a key of dtype int64 and shape \[\]": lambda: r.uniform(3),
        r"found a key of dtype uint32 and shape \[2, 2\]": lambda: r.normal(r.split(KEY)),
        "found dtype int32 for random numbers": lambda: r.uniform(KEY, 3, np.int32),
        "found dtype float32 of randint": lambda: r.randint(KEY, 3, 0, 2, np.float32),
        "found dtype int8 of bits": lambda: r.bits(KEY, 3, np.int8),
        "found 5 elements to choose from 3": lambda: r.choice(KEY, 3, 5, replace=False),
        r"found p of shape \[2\]": lambda: r.choice(KEY, 3, p=np.ones(2)),
        r"found shape \[3\] for logits": lambda: r.categorical(KEY, np.ones((2, 2)), shape=3),
        "found a data of dtype float64": lambda: r.fold_in(KEY, np.float64(1)),
    }.items():
        with pytest.raises(sw.StepwellError, match=message):
            call()
