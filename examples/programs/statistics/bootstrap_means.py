"""The spread of a mean: the means of samples that are drawn again, with indices given."""

import numpy as np

SMALL = {"n": 30, "samples": 11}


def inputs(rng, n=500, samples=2000):
    return rng.exponential(size=n), rng.integers(0, n, (samples, n))


def program(np, x, index):
    means = x[index].mean(axis=1)
    return means, means.std()


def torch(torch, x, index):
    means = x[index].mean(dim=1)
    return means, means.std(correction=0)


def numba(x, index):
    means = np.zeros(index.shape[0])
    for i in range(index.shape[0]):
        total = 0.0
        for j in range(index.shape[1]):
            total += x[index[i, j]]
        means[i] = total / index.shape[1]
    return means, means.std()
