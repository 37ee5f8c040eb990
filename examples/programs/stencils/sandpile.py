"""The abelian sandpile: squares with four grains topple, step by step."""

import numpy as np

SMALL = {"n": 15}
STEPS = 100


def inputs(rng, n=128):
    return (rng.integers(0, 12, (n, n)),)


def step(np, grains):
    topple = grains // 4
    spread = np.pad(topple, 1)
    fallen = spread[:-2, 1:-1] + spread[2:, 1:-1] + spread[1:-1, :-2] + spread[1:-1, 2:]
    return grains - 4 * topple + fallen


def program(np, grains):
    for _ in range(STEPS):
        grains = step(np, grains)
    return grains


def compiled(np, lax, grains):
    return lax.fori_loop(0, STEPS, lambda _, grains: step(np, grains), grains)


def torch(torch, grains):
    for _ in range(STEPS):
        topple = grains // 4
        spread = torch.nn.functional.pad(topple, (1, 1, 1, 1))
        fallen = spread[:-2, 1:-1] + spread[2:, 1:-1] + spread[1:-1, :-2] + spread[1:-1, 2:]
        grains = grains - 4 * topple + fallen
    return grains


def numba(grains):
    n, m = grains.shape
    for _ in range(STEPS):
        new = np.empty_like(grains)
        for i in range(n):
            for j in range(m):
                total = grains[i, j] % 4
                if i > 0:
                    total += grains[i - 1, j] // 4
                if i < n - 1:
                    total += grains[i + 1, j] // 4
                if j > 0:
                    total += grains[i, j - 1] // 4
                if j < m - 1:
                    total += grains[i, j + 1] // 4
                new[i, j] = total
        grains = new
    return grains
