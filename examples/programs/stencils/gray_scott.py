"""Spots and stripes: two substances that react and diffuse (Gray and Scott)."""

import numpy as np

SMALL = {"n": 20}
STEPS = 20


def inputs(rng, n=256):
    u = np.ones((n, n), "float32")
    v = np.zeros((n, n), "float32")
    v[n // 2 - 5 : n // 2 + 5, n // 2 - 5 : n // 2 + 5] = 0.5
    return u, v + 0.01 * rng.random((n, n), dtype="float32")


def laplacian(np, u):
    return np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1) - 4 * u


def step(np, u, v):
    uvv = u * v * v
    return (
        u + 0.16 * laplacian(np, u) - uvv + 0.035 * (1 - u),
        v + 0.08 * laplacian(np, v) + uvv - 0.1 * v,
    )


def program(np, u, v):
    for _ in range(STEPS):
        u, v = step(np, u, v)
    return u, v


def compiled(np, lax, u, v):
    return lax.fori_loop(0, STEPS, lambda _, uv: step(np, *uv), (u, v))


def numba(u, v):
    n, m = u.shape
    f = np.float32
    for _ in range(STEPS):
        u2, v2 = np.empty_like(u), np.empty_like(v)
        for i in range(n):
            up, down = (i - 1) % n, (i + 1) % n
            for j in range(m):
                left, right = (j - 1) % m, (j + 1) % m
                a, b = u[i, j], v[i, j]
                la = u[up, j] + u[down, j] + u[i, left] + u[i, right] - f(4) * a
                lb = v[up, j] + v[down, j] + v[i, left] + v[i, right] - f(4) * b
                u2[i, j] = a + f(0.16) * la - a * b * b + f(0.035) * (f(1) - a)
                v2[i, j] = b + f(0.08) * lb + a * b * b - f(0.1) * b
        u, v = u2, v2
    return u, v
