"""Heat along a rod by an implicit scheme: each step solves a tridiagonal system (Thomas)."""

import numpy as np

SMALL = {"n": 12, "rods": 5}
R = 0.7


def inputs(rng, n=200, rods=512):
    return (rng.random((n, rods)),)


def program(np, d):
    n = d.shape[0]
    c, x = [], []
    ratio, value = -R / (1 + 2 * R), d[0] / (1 + 2 * R)
    for i in range(n):
        if i:
            pivot = 1 + 2 * R + R * c[-1]
            ratio, value = -R / pivot, (d[i] + R * x[-1]) / pivot
        c.append(ratio)
        x.append(value)
    for i in range(n - 2, -1, -1):
        x[i] = x[i] - c[i] * x[i + 1]
    return np.stack(x)


def compiled(np, lax, d):
    def forward(state, row):
        ratio, value = state
        pivot = 1 + 2 * R + R * ratio
        state = -R / pivot, (row + R * value) / pivot
        return state, state

    def backward(after, row):
        ratio, value = row
        value = value - ratio * after
        return value, value

    first = np.full((), 0.0, dtype=d.dtype), np.zeros_like(d[0])
    _, (c, x) = lax.scan(forward, first, d)
    return lax.scan(backward, np.zeros_like(d[0]), (c, x), reverse=True)[1]


def numba(d):
    n, rods = d.shape
    c = np.empty(n)
    x = d.copy()
    c[0] = -R / (1 + 2 * R)
    x[0] /= 1 + 2 * R
    for i in range(1, n):
        pivot = 1 + 2 * R + R * c[i - 1]
        c[i] = -R / pivot
        for s in range(rods):
            x[i, s] = (x[i, s] + R * x[i - 1, s]) / pivot
    for i in range(n - 2, -1, -1):
        for s in range(rods):
            x[i, s] -= c[i] * x[i + 1, s]
    return x
