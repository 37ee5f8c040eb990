"""The tangent by Lambert's continued fraction beside np.tan, and the greatest difference."""

import numpy as np

SMALL = {"n": 77}


def inputs(rng, n=200_000):
    return (rng.uniform(-1, 1, n),)


def program(np, x):
    fraction = 0 * x
    for odd in range(21, 0, -2):
        fraction = x * x / (odd - fraction)
    mine = fraction / x
    return mine, np.abs(mine - np.tan(x)).max() < 1e-12


def numba(x):
    out = np.empty_like(x)
    worst = 0.0
    for i in range(x.size):
        fraction = 0.0
        for odd in range(21, 0, -2):
            fraction = x[i] * x[i] / (odd - fraction)
        out[i] = fraction / x[i]
        worst = max(worst, abs(out[i] - np.tan(x[i])))
    return out, worst < 1e-12
