"""One step of a mixture of Gaussians: responsibilities, then new weights, means and variances."""

import numpy as np

SMALL = {"n": 50, "k": 3}


def inputs(rng, n=50_000, k=4):
    return rng.normal(size=n), np.full(k, 1 / k), np.linspace(-1, 1, k), np.ones(k)


def program(np, x, weight, mean, variance):
    z = (x[:, None] - mean) ** 2 / variance
    density = weight * np.exp(-0.5 * z) / np.sqrt(2 * np.pi * variance)
    share = density / density.sum(axis=1, keepdims=True)
    total = share.sum(axis=0)
    mean = (share * x[:, None]).sum(axis=0) / total
    variance = (share * (x[:, None] - mean) ** 2).sum(axis=0) / total
    return total / x.shape[0], mean, variance


def numba(x, weight, mean, variance):
    k = mean.size
    total, first = np.zeros(k), np.zeros(k)
    share = np.empty((x.size, k))
    scale = weight / np.sqrt(2 * np.pi * variance)
    for i in range(x.size):
        all_of = 0.0
        for c in range(k):
            share[i, c] = scale[c] * np.exp(-0.5 * (x[i] - mean[c]) ** 2 / variance[c])
            all_of += share[i, c]
        for c in range(k):
            share[i, c] /= all_of
            total[c] += share[i, c]
            first[c] += share[i, c] * x[i]
    mean = first / total
    second = np.zeros(k)
    for i in range(x.size):
        for c in range(k):
            second[c] += share[i, c] * (x[i] - mean[c]) ** 2
    return total / x.size, mean, second / total
