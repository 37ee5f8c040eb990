"""Weighted means and variances of many series, with np.average."""

import numpy as np

SMALL = {"series": 13, "n": 29}


def inputs(rng, series=1000, n=1000):
    return rng.normal(size=(series, n)), rng.random(n) + 0.1


def program(np, x, weights):
    mean = np.average(x, axis=1, weights=weights)
    variance = np.average((x - mean[:, None]) ** 2, axis=1, weights=weights)
    return mean, variance


def torch(torch, x, weights):
    weights = weights / weights.sum()
    mean = x @ weights
    return mean, (x - mean[:, None]) ** 2 @ weights


def numba(x, weights):
    total = weights.sum()
    mean = np.zeros(x.shape[0])
    variance = np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        s = 0.0
        for j in range(x.shape[1]):
            s += x[i, j] * weights[j]
        mean[i] = s / total
        s = 0.0
        for j in range(x.shape[1]):
            s += (x[i, j] - mean[i]) ** 2 * weights[j]
        variance[i] = s / total
    return mean, variance
