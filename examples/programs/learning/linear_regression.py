"""Fit a line through points in many dimensions by gradient descent."""

import numpy as np

SMALL = {"n": 40, "features": 5}
STEPS = 20


def inputs(rng, n=5000, features=50):
    x = rng.normal(size=(n, features))
    return x, x @ rng.normal(size=features) + 0.1 * rng.normal(size=n)


def step(x, y, w):
    return w - 0.1 * (2 / x.shape[0]) * (x.T @ (x @ w - y))


def program(np, x, y):
    w = 0 * x[0]
    for _ in range(STEPS):
        w = step(x, y, w)
    return w, ((x @ w - y) ** 2).mean()


def compiled(np, lax, x, y):
    w = lax.fori_loop(0, STEPS, lambda _, w: step(x, y, w), 0 * x[0])
    return w, ((x @ w - y) ** 2).mean()


def numba(x, y):
    w = np.zeros(x.shape[1])
    for _ in range(STEPS):
        w = w - 0.1 * (2 / x.shape[0]) * (x.T @ (x @ w - y))
    return w, ((x @ w - y) ** 2).mean()
