"""Classify points by logistic regression, with gradients written out."""

import numpy as np

SMALL = {"n": 30, "features": 4}
STEPS = 10


def inputs(rng, n=10_000, features=30):
    x = rng.normal(size=(n, features)).astype("float32")
    return x, (x.sum(axis=1) > 0).astype("float32")


def step(np, x, y, w, b):
    p = 1 / (1 + np.exp(-(x @ w + b)))
    error = p - y
    return w - 0.5 * (x.T @ error) / x.shape[0], b - 0.5 * error.mean()


def program(np, x, y):
    w, b = 0 * x[0], 0 * y[0]
    for _ in range(STEPS):
        w, b = step(np, x, y, w, b)
    return w, b


def compiled(np, lax, x, y):
    return lax.fori_loop(0, STEPS, lambda _, wb: step(np, x, y, *wb), (0 * x[0], 0 * y[0]))


def numba(x, y):
    n, features = x.shape
    one = np.float32(1)
    w, b = np.zeros(features, np.float32), np.float32(0)
    for _ in range(STEPS):
        gradient, total = np.zeros(features, np.float32), np.float32(0)
        for i in range(n):
            z = b
            for k in range(features):
                z += x[i, k] * w[k]
            error = one / (one + np.exp(-z)) - y[i]
            total += error
            for k in range(features):
                gradient[k] += error * x[i, k]
        w = w - np.float32(0.5) * gradient / np.float32(n)
        b = b - np.float32(0.5) * total / np.float32(n)
    return w, b
