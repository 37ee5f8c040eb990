"""The products of all pairs of different elements, once each: a matrix above its diagonal."""

import numpy as np

SMALL = {"n": 40}


def inputs(rng, n=1200):
    return (rng.random(n),)


def program(np, x):
    return np.triu(np.outer(x, x), 1)


def torch(torch, x):
    return torch.triu(torch.outer(x, x), 1)


def numba(x):
    out = np.zeros((x.size, x.size))
    for i in range(x.size):
        for j in range(i + 1, x.size):
            out[i, j] = x[i] * x[j]
    return out
