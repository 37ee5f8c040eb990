"""Foxes and rabbits (Lotka and Volterra): the whole history, by Euler's steps in a scan."""

import numpy as np

SMALL = {"n": 6, "steps": 30}


def inputs(rng, n=500, steps=1000):
    return rng.random(n) + 0.5, rng.random(n) + 0.5, np.zeros(steps)


def step(rabbits, foxes, h=0.01):
    return rabbits + h * rabbits * (1 - foxes), foxes + h * foxes * (rabbits - 1)


def program(np, rabbits, foxes, time):
    history = []
    for _ in time:
        rabbits, foxes = step(rabbits, foxes)
        history.append(rabbits)
    return np.stack(history), foxes


def compiled(np, lax, rabbits, foxes, time):
    def next_state(state, _):
        state = step(*state)
        return state, state[0]

    (_, foxes), history = lax.scan(next_state, (rabbits, foxes), time)
    return history, foxes


def numba(rabbits, foxes, time):
    history = np.empty((time.size, rabbits.size))
    rabbits, foxes = rabbits.copy(), foxes.copy()
    for t in range(time.size):
        for i in range(rabbits.size):
            r, f = rabbits[i], foxes[i]
            rabbits[i] = r + 0.01 * r * (1 - f)
            foxes[i] = f + 0.01 * f * (r - 1)
            history[t, i] = rabbits[i]
    return history, foxes
