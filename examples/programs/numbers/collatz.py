"""How many steps numbers take to one, all together, until the last has arrived."""

import numpy as np

SMALL = {"n": 30}


def inputs(rng, n=5000):
    return (np.arange(1, n + 1),)


def step(np, x, count):
    moving = x > 1
    after = np.where(x % 2 == 0, x // 2, 3 * x + 1)
    return np.where(moving, after, x), count + moving


def program(np, x):
    count = 0 * x
    while (x > 1).any():
        x, count = step(np, x, count)
    return count


def compiled(np, lax, x):
    return lax.while_loop(
        lambda state: (state[0] > 1).any(), lambda state: step(np, *state), (x, 0 * x)
    )[1]


def numba(x):
    out = np.zeros_like(x)
    for i in range(x.size):
        now = x[i]
        while now > 1:
            now = now // 2 if now % 2 == 0 else 3 * now + 1
            out[i] += 1
    return out
