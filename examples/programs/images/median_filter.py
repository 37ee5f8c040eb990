"""Take single wrong pixels out: each becomes the median of the nine around it."""

import numpy as np

SMALL = {"n": 20}


def inputs(rng, n=400):
    return (rng.random((n, n), dtype="float32"),)


def program(np, x):
    n, m = x.shape[0] - 2, x.shape[1] - 2
    around = np.stack([x[i : i + n, j : j + m] for i in range(3) for j in range(3)])
    return np.median(around, axis=0)


def torch(torch, x):
    around = x.unfold(0, 3, 1).unfold(1, 3, 1).reshape(x.shape[0] - 2, x.shape[1] - 2, 9)
    return around.median(dim=-1).values


def numba(x):
    n, m = x.shape[0] - 2, x.shape[1] - 2
    out = np.empty((n, m), np.float32)
    for i in range(n):
        for j in range(m):
            out[i, j] = np.median(x[i : i + 3, j : j + 3])
    return out
