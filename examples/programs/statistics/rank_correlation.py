"""Spearman's correlation: that of the ranks of two samples."""

import numpy as np

SMALL = {"n": 99}


def inputs(rng, n=50_000):
    x = rng.random(n)
    return x, x + rng.random(n)


def program(np, x, y):
    rank_x = np.argsort(np.argsort(x))
    rank_y = np.argsort(np.argsort(y))
    n = x.shape[0]
    return 1 - 6 * ((rank_x - rank_y) ** 2).sum() / (n * (n**2 - 1))


def numba(x, y):
    rank_x = np.argsort(np.argsort(x))
    rank_y = np.argsort(np.argsort(y))
    n = x.shape[0]
    return 1 - 6 * ((rank_x - rank_y) ** 2).sum() / (n * (n**2 - 1.0))
