"""The table of all sums of two vectors, without those that are odd."""

import numpy as np

SMALL = {"n": 23, "m": 31}


def inputs(rng, n=1500, m=1500):
    return rng.integers(0, 1000, n), rng.integers(0, 1000, m)


def program(np, a, b):
    table = a[:, None] + b[None, :]
    return np.where(table % 2 == 0, table, 0)


def numba(a, b):
    out = np.zeros((a.size, b.size), np.int64)
    for i in range(a.size):
        for j in range(b.size):
            total = a[i] + b[j]
            if total % 2 == 0:
                out[i, j] = total
    return out
