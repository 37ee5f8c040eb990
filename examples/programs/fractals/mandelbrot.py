"""How many steps each point of the plane takes to leave Mandelbrot's set, until all have left."""

import numpy as np

SMALL = {"n": 15}
LIMIT = 50


def inputs(rng, n=300):
    re, im = np.meshgrid(np.linspace(-2, 0.5, n), np.linspace(-1.2, 1.2, n))
    return re, im


def step(np, re, im, x, y, count):
    inside = x * x + y * y <= 4
    x, y = np.where(inside, x * x - y * y + re, x), np.where(inside, 2 * x * y + im, y)
    return x, y, count + inside


def program(np, re, im):
    state = 0 * re, 0 * re, np.zeros(re.shape, dtype=np.int64)
    for _ in range(LIMIT):
        state = step(np, re, im, *state)
    return state[2]


def compiled(np, lax, re, im):
    state = 0 * re, 0 * re, np.zeros(re.shape, dtype=np.int64)
    return lax.fori_loop(0, LIMIT, lambda _, state: step(np, re, im, *state), state)[2]


def numba(re, im):
    out = np.empty(re.shape, np.int64)
    for i in range(re.shape[0]):
        for j in range(re.shape[1]):
            x = y = 0.0
            count = 0
            while count < LIMIT and x * x + y * y <= 4:
                x, y = x * x - y * y + re[i, j], 2 * x * y + im[i, j]
                count += 1
            out[i, j] = count
    return out
