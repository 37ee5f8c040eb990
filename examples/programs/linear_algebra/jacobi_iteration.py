"""Solve a diagonally dominant system by Jacobi's iteration."""

import numpy as np

SMALL = {"n": 14}
STEPS = 20


def inputs(rng, n=500):
    a = rng.random((n, n))
    return a + n * np.eye(n), rng.random(n)


def program(np, a, b):
    d = np.diagonal(a)
    x = b / d
    for _ in range(STEPS):
        x = (b - a @ x + d * x) / d
    return x


def compiled(np, lax, a, b):
    d = np.diagonal(a)
    return lax.fori_loop(0, STEPS, lambda _, x: (b - a @ x + d * x) / d, b / d)


def numba(a, b):
    d = np.diag(a).copy()
    x = b / d
    for _ in range(STEPS):
        x = (b - a @ x + d * x) / d
    return x
