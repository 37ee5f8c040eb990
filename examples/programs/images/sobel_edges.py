"""The strength of edges: the gradient by Sobel's masks."""

import numpy as np

SMALL = {"n": 28}


def inputs(rng, n=1024):
    return (rng.random((n, n), dtype="float32"),)


def program(np, x):
    gx = (x[:-2, 2:] + 2 * x[1:-1, 2:] + x[2:, 2:]) - (x[:-2, :-2] + 2 * x[1:-1, :-2] + x[2:, :-2])
    gy = (x[2:, :-2] + 2 * x[2:, 1:-1] + x[2:, 2:]) - (x[:-2, :-2] + 2 * x[:-2, 1:-1] + x[:-2, 2:])
    return np.sqrt(gx**2 + gy**2)


def numba(x):
    n, m = x.shape
    two = np.float32(2)
    out = np.empty((n - 2, m - 2), np.float32)
    for i in range(n - 2):
        for j in range(m - 2):
            a, b, c = x[i, j], x[i, j + 1], x[i, j + 2]
            d, f = x[i + 1, j], x[i + 1, j + 2]
            g, h, k = x[i + 2, j], x[i + 2, j + 1], x[i + 2, j + 2]
            gx = (c + two * f + k) - (a + two * d + g)
            gy = (g + two * h + k) - (a + two * b + c)
            out[i, j] = np.sqrt(gx * gx + gy * gy)
    return out
