"""The distance of every point to every other one, by broadcasting."""

import numpy as np

SMALL = {"n": 17, "m": 25}


def inputs(rng, n=1000, m=1000):
    return rng.random((n, 3)), rng.random((m, 3))


def program(np, a, b):
    return np.sqrt(((a[:, None, :] - b[None, :, :]) ** 2).sum(axis=-1))


def torch(torch, a, b):
    return torch.cdist(a, b)


def numba(a, b):
    out = np.empty((a.shape[0], b.shape[0]))
    for i in range(a.shape[0]):
        for j in range(b.shape[0]):
            total = 0.0
            for k in range(a.shape[1]):
                total += (a[i, k] - b[j, k]) ** 2
            out[i, j] = np.sqrt(total)
    return out
