"""Give each column of a table the mean 0 and the standard deviation 1."""

import numpy as np

SMALL = {"rows": 51, "columns": 7}


def inputs(rng, rows=20_000, columns=50):
    return (rng.normal(5, 2, (rows, columns)),)


def program(np, x):
    return (x - x.mean(axis=0)) / x.std(axis=0)


def torch(torch, x):
    return (x - x.mean(dim=0)) / x.std(dim=0, correction=0)


def numba(x):
    rows, columns = x.shape
    mean = np.zeros(columns)
    variance = np.zeros(columns)
    for i in range(rows):
        for j in range(columns):
            mean[j] += x[i, j]
    mean /= rows
    for i in range(rows):
        for j in range(columns):
            variance[j] += (x[i, j] - mean[j]) ** 2
    deviation = np.sqrt(variance / rows)
    out = np.empty_like(x)
    for i in range(rows):
        for j in range(columns):
            out[i, j] = (x[i, j] - mean[j]) / deviation[j]
    return out
