"""Fit cubic polynomials to noisy samples: the normal equations of Vandermonde's matrix."""

import numpy as np

SMALL = {"n": 40}


def inputs(rng, n=200_000):
    x = rng.uniform(-1, 1, n)
    return x, 1 - 2 * x + 3 * x**3 + 0.1 * rng.normal(size=n)


def program(np, x, y):
    v = np.vander(x, 4)
    return np.linalg.solve(v.T @ v, v.T @ y)


def numba(x, y):
    gram, right = np.zeros((4, 4)), np.zeros(4)
    for i in range(x.size):
        row = (x[i] ** 3, x[i] ** 2, x[i], 1.0)
        for a in range(4):
            right[a] += row[a] * y[i]
            for b in range(4):
                gram[a, b] += row[a] * row[b]
    return np.linalg.solve(gram, right)
