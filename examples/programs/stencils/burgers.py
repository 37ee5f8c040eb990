"""Burgers' equation: a viscous shock, stepped with central and upwind differences."""

import numpy as np

SMALL = {"n": 41}
STEPS = 100


def inputs(rng, n=10_000):
    return (1 + np.sin(2 * np.pi * np.linspace(0, 1, n)) / 2,)


def step(np, u):
    left, right = np.roll(u, 1), np.roll(u, -1)
    return u - 0.1 * u * (u - left) + 0.05 * (right - 2 * u + left)


def program(np, u):
    for _ in range(STEPS):
        u = step(np, u)
    return u


def compiled(np, lax, u):
    return lax.fori_loop(0, STEPS, lambda _, u: step(np, u), u)


def numba(u):
    n = u.size
    for _ in range(STEPS):
        new = np.empty_like(u)
        for i in range(n):
            left, right = u[i - 1], u[i + 1 if i + 1 < n else 0]
            new[i] = u[i] - 0.1 * u[i] * (u[i] - left) + 0.05 * (right - 2 * u[i] + left)
        u = new
    return u
