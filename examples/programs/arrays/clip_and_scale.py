"""Scale data to the range from 0 to 1, after cutting its extremes."""

import numpy as np

SMALL = {"n": 1001}


def inputs(rng, n=1_000_000):
    return (rng.normal(0, 3, n),)


def program(np, x):
    x = np.clip(x, -5, 5)
    return (x - x.min()) / (x.max() - x.min())


def numba(x):
    low, high = np.inf, -np.inf
    for value in x:
        value = min(max(value, -5.0), 5.0)
        low = min(low, value)
        high = max(high, value)
    out = np.empty_like(x)
    for i in range(x.size):
        out[i] = (min(max(x[i], -5.0), 5.0) - low) / (high - low)
    return out
