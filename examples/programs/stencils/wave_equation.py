"""A wave on a string that is fixed at its ends: leapfrog steps in time."""

import numpy as np

SMALL = {"n": 60}
STEPS = 200


def inputs(rng, n=10_000):
    x = np.linspace(0, 1, n)
    return (np.exp(-((x - 0.3) ** 2) * 200) * np.sin(np.pi * x),)


def program(np, start):
    before, now = start, start
    for _ in range(STEPS):
        curve = now[2:] - 2 * now[1:-1] + now[:-2]
        inner = 2 * now[1:-1] - before[1:-1] + 0.25 * curve
        before, now = now, np.concatenate([now[:1], inner, now[-1:]])
    return now


def compiled(np, lax, start):
    def step(_, state):
        before, now = state
        curve = now[2:] - 2 * now[1:-1] + now[:-2]
        inner = 2 * now[1:-1] - before[1:-1] + 0.25 * curve
        return now, np.concatenate([now[:1], inner, now[-1:]])

    return lax.fori_loop(0, STEPS, step, (start, start))[1]


def numba(start):
    before, now, after = start.copy(), start.copy(), start.copy()
    for _ in range(STEPS):
        for i in range(1, now.size - 1):
            curve = now[i + 1] - 2 * now[i] + now[i - 1]
            after[i] = 2 * now[i] - before[i] + 0.25 * curve
        before, now, after = now, after, before
    return now
