"""Conway's game of life on a torus."""

import numpy as np

SMALL = {"n": 24}
STEPS = 20


def inputs(rng, n=512):
    return ((rng.random((n, n)) < 0.3).astype("int32"),)


def step(np, life):
    count = np.zeros_like(life)
    for i in (-1, 0, 1):
        for j in (-1, 0, 1):
            if i or j:
                count = count + np.roll(np.roll(life, i, 0), j, 1)
    return ((count == 3) | ((life == 1) & (count == 2))).astype(np.int32)


def program(np, life):
    for _ in range(STEPS):
        life = step(np, life)
    return life


def compiled(np, lax, life):
    return lax.fori_loop(0, STEPS, lambda _, life: step(np, life), life)


def torch(torch, life):
    for _ in range(STEPS):
        count = -life
        for i in (-1, 0, 1):
            for j in (-1, 0, 1):
                count = count + torch.roll(life, (i, j), (0, 1))
        life = ((count == 3) | ((life == 1) & (count == 2))).int()
    return life


def numba(life):
    n, m = life.shape
    for _ in range(STEPS):
        after = np.empty_like(life)
        for i in range(n):
            up, down = (i - 1) % n, (i + 1) % n
            for j in range(m):
                left, right = (j - 1) % m, (j + 1) % m
                count = life[up, left] + life[up, j] + life[up, right] + life[i, left]
                count += life[i, right] + life[down, left] + life[down, j] + life[down, right]
                after[i, j] = count == 3 or (life[i, j] == 1 and count == 2)
        life = after
    return life
