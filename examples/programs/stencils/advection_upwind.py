"""A cloud carried by the wind: first-order upwind steps with boundaries that wrap."""

import numpy as np

SMALL = {"n": 50}
STEPS = 100


def inputs(rng, n=20_000):
    return (np.exp(-((np.linspace(0, 1, n) - 0.5) ** 2) * 100),)


def program(np, c):
    for _ in range(STEPS):
        c = c - 0.4 * (c - np.roll(c, 1))
    return c


def compiled(np, lax, c):
    return lax.fori_loop(0, STEPS, lambda _, c: c - 0.4 * (c - np.roll(c, 1)), c)


def numba(c):
    c = c.copy()
    for _ in range(STEPS):
        before = c[-1]
        for i in range(c.size):
            now = c[i]
            c[i] = now - 0.4 * (now - before)
            before = now
    return c
