"""Solve a large symmetric system by conjugate gradients: a fixed number of steps."""

import numpy as np

SMALL = {"n": 15}
STEPS = 20


def inputs(rng, n=600):
    m = rng.normal(size=(n, n))
    return m @ m.T / n + np.eye(n), rng.normal(size=n)


def step(np, a, x, r, p):
    ap = a @ p
    rr = np.dot(r, r)
    alpha = rr / np.dot(p, ap)
    after = r - alpha * ap
    return x + alpha * p, after, after + np.dot(after, after) / rr * p


def program(np, a, b):
    x, r, p = 0 * b, b, b
    for _ in range(STEPS):
        x, r, p = step(np, a, x, r, p)
    return x


def compiled(np, lax, a, b):
    state = lax.fori_loop(0, STEPS, lambda _, s: step(np, a, *s), (0 * b, b, b))
    return state[0]


def numba(a, b):
    x, r, p = np.zeros_like(b), b.copy(), b.copy()
    for _ in range(STEPS):
        ap = a @ p
        rr = r @ r
        alpha = rr / (p @ ap)
        x = x + alpha * p
        r = r - alpha * ap
        p = r + (r @ r) / rr * p
    return x
