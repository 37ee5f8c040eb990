"""Balls that bounce off the walls of a box: places and velocities by masks."""

import numpy as np

SMALL = {"n": 50}
STEPS = 20


def inputs(rng, n=50_000):
    return rng.random((n, 2), dtype="float32"), rng.normal(size=(n, 2)).astype("float32")


def step(np, x, v):
    v = v - np.asarray([0.0, 0.1], dtype=np.float32)
    x = x + 0.05 * v
    out = (x < 0) | (x > 1)
    return np.clip(x, 0, 1), np.where(out, -v, v)


def program(np, x, v):
    for _ in range(STEPS):
        x, v = step(np, x, v)
    return x, v


def compiled(np, lax, x, v):
    return lax.fori_loop(0, STEPS, lambda _, state: step(np, *state), (x, v))


def numba(x, v):
    x, v = x.copy(), v.copy()
    f = np.float32
    for _ in range(STEPS):
        for i in range(x.shape[0]):
            v[i, 1] -= f(0.1)
            for k in range(2):
                now = x[i, k] + f(0.05) * v[i, k]
                if now < f(0) or now > f(1):
                    v[i, k] = -v[i, k]
                x[i, k] = min(max(now, f(0)), f(1))
    return x, v
