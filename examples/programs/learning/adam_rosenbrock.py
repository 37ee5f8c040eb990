"""Adam walks down Rosenbrock's valley from many starts; the gradient is written out."""

import numpy as np

SMALL = {"n": 20}
STEPS = 100


def inputs(rng, n=5000):
    return rng.uniform(-2, 2, n), rng.uniform(-1, 3, n)


def program(np, x, y):
    state = (x, y, 0 * x, 0 * x, 0 * x, 0 * x)
    for i in range(STEPS):
        state = step(np, float(i + 1), *state)
    return state[0], state[1]


def step(np, t, x, y, mx, my, vx, vy):
    gx, gy = -2 * (1 - x) - 400 * x * (y - x * x), 200 * (y - x * x)
    mx, my = 0.9 * mx + 0.1 * gx, 0.9 * my + 0.1 * gy
    vx, vy = 0.999 * vx + 0.001 * gx * gx, 0.999 * vy + 0.001 * gy * gy
    a, b = 1 - 0.9**t, 1 - 0.999**t
    x = x - 0.02 * (mx / a) / (np.sqrt(vx / b) + 1e-8)
    y = y - 0.02 * (my / a) / (np.sqrt(vy / b) + 1e-8)
    return x, y, mx, my, vx, vy


def compiled(np, lax, x, y):
    def body(i, state):
        return step(np, (i + 1).astype("float64"), *state)

    state = lax.fori_loop(0, STEPS, body, (x, y, 0 * x, 0 * x, 0 * x, 0 * x))
    return state[0], state[1]


def numba(x, y):
    x, y = x.copy(), y.copy()
    for i in range(x.size):
        p, q, mx, my, vx, vy = x[i], y[i], 0.0, 0.0, 0.0, 0.0
        for t in range(1, STEPS + 1):
            gx, gy = -2 * (1 - p) - 400 * p * (q - p * p), 200 * (q - p * p)
            mx, my = 0.9 * mx + 0.1 * gx, 0.9 * my + 0.1 * gy
            vx, vy = 0.999 * vx + 0.001 * gx * gx, 0.999 * vy + 0.001 * gy * gy
            a, b = 1 - 0.9**t, 1 - 0.999**t
            p -= 0.02 * (mx / a) / (np.sqrt(vx / b) + 1e-8)
            q -= 0.02 * (my / a) / (np.sqrt(vy / b) + 1e-8)
        x[i], y[i] = p, q
    return x, y
