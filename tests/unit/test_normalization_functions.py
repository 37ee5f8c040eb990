"""Normalisations and norms against their formulas in double precision: eagerly, and compiled."""

from __future__ import annotations

import numpy as np
import pytest
import stepwell as sw


def sample(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def along(v, rank, axis=1):
    return v.reshape([-1 if i == axis else 1 for i in range(rank)])


def group_norm(x, groups, scale, bias, eps=1e-5):
    grouped = x.reshape(x.shape[0], groups, -1)
    normal = (grouped - grouped.mean(-1, keepdims=True)) / np.sqrt(
        grouped.var(-1, keepdims=True) + eps
    )
    return normal.reshape(x.shape) * along(scale, x.ndim) + along(bias, x.ndim)


def local_response(x, size, alpha, beta, bias):
    out = np.empty_like(x)
    for c in range(x.shape[1]):
        low, high = max(0, c - (size - 1) // 2), min(x.shape[1] - 1, c + size // 2)
        total = (x[:, low : high + 1] ** 2).sum(1)
        out[:, c] = x[:, c] / (bias + alpha / size * total) ** beta
    return out


X, SCALE, BIAS, MEAN = sample(2, 6, 5, 7), *(sample(6, seed=s) for s in (1, 2, 3))
VARIANCE, LAST = np.abs(sample(6, seed=4)) + 0.1, sample(7, seed=5)

CASES = {
    "batch_norm": (
        lambda x: sw.batch_norm(x, SCALE, BIAS, MEAN, VARIANCE),
        lambda x: (
            (x - along(MEAN, 4)) / np.sqrt(along(VARIANCE, 4) + 1e-5) * along(SCALE, 4)
            + along(BIAS, 4)
        ),
    ),
    "group_norm": (
        lambda x: sw.group_norm(x, 3, SCALE, BIAS),
        lambda x: group_norm(x, 3, SCALE, BIAS),
    ),
    "group_norm_plain": (
        lambda x: sw.group_norm(x, 2, eps=1e-3),
        lambda x: group_norm(x, 2, np.ones(6), np.zeros(6), 1e-3),
    ),
    "instance_norm": (
        lambda x: sw.instance_norm(x, SCALE, BIAS),
        lambda x: group_norm(x, 6, SCALE, BIAS),
    ),
    "rms_norm": (
        lambda x: sw.rms_norm(x, LAST),
        lambda x: x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * LAST,
    ),
    "rms_norm_axes": (
        lambda x: sw.rms_norm(x, axis=1, eps=1e-2),
        lambda x: x / np.sqrt((x * x).mean((1, 2, 3), keepdims=True) + 1e-2),
    ),
    "lp_normalize": (
        lambda x: sw.lp_normalize(x, axis=1),
        lambda x: x / np.sqrt((x * x).sum(1, keepdims=True)),
    ),
    "l1_normalize": (
        lambda x: sw.lp_normalize(x, 1),
        lambda x: x / np.abs(x).sum(-1, keepdims=True),
    ),
    "mean_variance_normalize": (
        lambda x: sw.mean_variance_normalize(x),
        lambda x: (x - x.mean((0, 2, 3), keepdims=True)) / (x.std((0, 2, 3), keepdims=True) + 1e-9),
    ),
    "local_response_norm": (
        lambda x: sw.local_response_norm(x, 3, 0.3, 0.6, 1.5),
        lambda x: local_response(x, 3, 0.3, 0.6, 1.5),
    ),
    "local_response_norm_even": (
        lambda x: sw.local_response_norm(x, 4),
        lambda x: local_response(x, 4, 1e-4, 0.75, 1.0),
    ),
    "reduce_l1": (lambda x: sw.reduce_l1(x, (1, 2)), lambda x: np.abs(x).sum((1, 2))),
    "reduce_l2": (
        lambda x: sw.reduce_l2(x, 2, keepdims=True),
        lambda x: np.sqrt((x * x).sum(2, keepdims=True)),
    ),
    "reduce_sum_square": (lambda x: sw.reduce_sum_square(x), lambda x: (x * x).sum()),
    "reduce_log_sum": (
        lambda x: sw.reduce_log_sum(x * x, 1),
        lambda x: np.log((x * x).sum(1)),
    ),
    "logsumexp": (
        lambda x: sw.reduce_log_sum_exp(x * 100, (1, 3), keepdims=True),
        lambda x: np.logaddexp.reduce(np.moveaxis(x * 100, 1, 2).reshape(2, 5, -1), axis=2).reshape(
            2, 1, 5, 1
        ),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_value(name):
    function, expected = CASES[name]
    wanted = expected(X.astype(np.float64))
    assert function(X).dtype == np.float32
    np.testing.assert_allclose(function(X), wanted, rtol=1e-4, atol=1e-5)


def test_compiled():
    functions = [function for function, _ in CASES.values()]
    found = sw.jit(lambda x: [function(x) for function in functions])(X)
    for name, result, (_, expected) in zip(CASES, found, CASES.values(), strict=True):
        np.testing.assert_allclose(
            result, expected(X.astype(np.float64)), rtol=1e-4, atol=1e-5, err_msg=name
        )


def test_edges():
    zeros = np.zeros((2, 3), np.float32)
    np.testing.assert_array_equal(sw.lp_normalize(zeros), zeros)
    infinite = np.array([[-np.inf, -np.inf], [np.inf, 0], [-np.inf, 1]], np.float32)
    np.testing.assert_array_equal(sw.logsumexp(infinite, 1), [-np.inf, np.inf, 1])
    assert sw.logsumexp(np.zeros(0, np.float32)) == -np.inf
    assert sw.reduce_l1(np.array([-3, 2], np.int32)).dtype == np.int32
    assert sw.reduce_l2(np.array([3, 4], np.int32)) == 5


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sw.group_norm(X, 4), "found 4 groups of 6 channels"),
        (lambda: sw.batch_norm(X, LAST, BIAS, MEAN, VARIANCE), "found a parameter of shape 7"),
        (lambda: sw.rms_norm(X, SCALE), "found scale of shape 6"),
        (lambda: sw.local_response_norm(X, 0), "found size 0, expected at least 1"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(sw.StepwellError, match=message):
        call()
