"""Mark the samples that are greater than their two neighbours and a threshold."""

import numpy as np

SMALL = {"n": 333}


def inputs(rng, n=2_000_000):
    return (rng.normal(size=n).astype("float32"),)


def program(np, x):
    inner = x[1:-1]
    peak = (inner > x[:-2]) & (inner > x[2:]) & (inner > 1.5)
    return peak, peak.sum(), np.where(peak, inner, 0).max()


def numba(x):
    peak = np.zeros(x.size - 2, np.bool_)
    count = 0
    best = np.float32(0)
    for i in range(1, x.size - 1):
        if x[i] > x[i - 1] and x[i] > x[i + 1] and x[i] > np.float32(1.5):
            peak[i - 1] = True
            count += 1
            best = max(best, x[i])
    return peak, count, best
