"""Count numbers in bins of equal width."""

import numpy as np

SMALL = {"n": 1000}


def inputs(rng, n=1_000_000):
    return (rng.random(n),)


def program(np, x):
    counts, edges = np.histogram(x, bins=50, range=(0.0, 1.0))
    return counts, edges


def torch(torch, x):
    return tuple(torch.histogram(x, bins=50, range=(0.0, 1.0)))


def numba(x):
    counts = np.zeros(50, np.int64)
    for value in x:
        counts[min(int(value * 50), 49)] += 1
    return counts, np.linspace(0, 1, 51)
