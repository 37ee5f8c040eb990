"""Sums over rectangles in four reads each, by the integral of a picture."""

import numpy as np

SMALL = {"n": 30}
SIDE = 9


def inputs(rng, n=1000):
    return (rng.random((n, n)),)


def program(np, x):
    total = np.pad(x.cumsum(axis=0).cumsum(axis=1), ((1, 0), (1, 0)))
    return total[SIDE:, SIDE:] - total[:-SIDE, SIDE:] - total[SIDE:, :-SIDE] + total[:-SIDE, :-SIDE]


def torch(torch, x):
    total = torch.nn.functional.pad(x.cumsum(dim=0).cumsum(dim=1), (1, 0, 1, 0))
    return total[SIDE:, SIDE:] - total[:-SIDE, SIDE:] - total[SIDE:, :-SIDE] + total[:-SIDE, :-SIDE]


def numba(x):
    n, m = x.shape
    total = np.zeros((n + 1, m + 1))
    for i in range(n):
        row = 0.0
        for j in range(m):
            row += x[i, j]
            total[i + 1, j + 1] = total[i, j + 1] + row
    out = np.empty((n - SIDE + 1, m - SIDE + 1))
    for i in range(n - SIDE + 1):
        for j in range(m - SIDE + 1):
            a = total[i + SIDE, j + SIDE] - total[i, j + SIDE]
            out[i, j] = a - total[i + SIDE, j] + total[i, j]
    return out
