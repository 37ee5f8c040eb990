"""Balls thrown with drag, until every one has landed: a while loop over time."""

import numpy as np

SMALL = {"n": 8}


def inputs(rng, n=5000):
    return rng.uniform(0.3, 1.2, n), rng.uniform(10, 30, n)


def start(np, angle, speed):
    return 0 * angle, 0 * angle + 1e-9, speed * np.cos(angle), speed * np.sin(angle)


def step(np, x, y, u, v, h=0.01):
    flying = y > 0
    drag = 0.01 * np.sqrt(u * u + v * v)
    moved = x + h * u, y + h * v, u - h * drag * u, v - h * (9.81 + drag * v)
    return tuple(np.where(flying, a, b) for a, b in zip(moved, (x, y, u, v), strict=True))


def program(np, angle, speed):
    state = start(np, angle, speed)
    while (state[1] > 0).any():
        state = step(np, *state)
    return state[0]


def compiled(np, lax, angle, speed):
    state = lax.while_loop(
        lambda state: (state[1] > 0).any(),
        lambda state: step(np, *state),
        start(np, angle, speed),
    )
    return state[0]


def numba(angle, speed):
    out = np.empty_like(angle)
    for i in range(angle.size):
        x, y = 0.0, 1e-9
        u, v = speed[i] * np.cos(angle[i]), speed[i] * np.sin(angle[i])
        while y > 0:
            drag = 0.01 * np.sqrt(u * u + v * v)
            x, y = x + 0.01 * u, y + 0.01 * v
            u, v = u - 0.01 * drag * u, v - 0.01 * (9.81 + drag * v)
        out[i] = x
    return out
