"""A linear support vector machine by subgradients of the hinge loss."""

import numpy as np

SMALL = {"n": 50, "features": 4}
STEPS = 10


def inputs(rng, n=10_000, features=20):
    x = rng.normal(size=(n, features))
    return x, np.where(x[:, 0] + x[:, 1] > 0, 1.0, -1.0)


def step(np, x, y, w):
    wrong = np.where(y * (x @ w) < 1, y, 0)
    return w - 0.1 * (0.01 * w - x.T @ wrong / x.shape[0])


def program(np, x, y):
    w = 0 * x[0]
    for _ in range(STEPS):
        w = step(np, x, y, w)
    return w


def compiled(np, lax, x, y):
    return lax.fori_loop(0, STEPS, lambda _, w: step(np, x, y, w), 0 * x[0])


def numba(x, y):
    n, features = x.shape
    w = np.zeros(features)
    for _ in range(STEPS):
        g = np.zeros(features)
        for i in range(n):
            margin = 0.0
            for k in range(features):
                margin += x[i, k] * w[k]
            if y[i] * margin < 1:
                for k in range(features):
                    g[k] += y[i] * x[i, k]
        w = w - 0.1 * (0.01 * w - g / n)
    return w
