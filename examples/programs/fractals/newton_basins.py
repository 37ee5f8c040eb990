"""Which cube root of one Newton's method finds from each point of the plane."""

import numpy as np

SMALL = {"n": 12}


def inputs(rng, n=300):
    x, y = np.meshgrid(np.linspace(-2, 2, n), np.linspace(-2, 2, n))
    return x + 0.01, y + 0.02


def program(np, x, y):
    for _ in range(20):
        a, b = x * x - y * y, 2 * x * y
        size = a * a + b * b
        x, y = (2 * x + a / size) / 3, (2 * y - b / size) / 3
    return np.where(x > 0, 0, np.where(y > 0, 1, 2))


def numba(x, y):
    out = np.empty(x.shape, np.int64)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            p, q = x[i, j], y[i, j]
            for _ in range(20):
                a, b = p * p - q * q, 2 * p * q
                size = a * a + b * b
                p, q = (2 * p + a / size) / 3, (2 * q - b / size) / 3
            out[i, j] = 0 if p > 0 else (1 if q > 0 else 2)
    return out
