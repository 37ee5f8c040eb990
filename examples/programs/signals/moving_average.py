"""The mean of each window of a series, by differences of running sums."""

import numpy as np

SMALL = {"n": 100}
WINDOW = 25


def inputs(rng, n=1_000_000):
    return (rng.normal(size=n),)


def program(np, x):
    total = np.cumsum(np.concatenate([np.zeros(1), x]))
    return (total[WINDOW:] - total[:-WINDOW]) / WINDOW


def torch(torch, x):
    total = torch.cumsum(torch.cat([torch.zeros(1, dtype=x.dtype), x]), 0)
    return (total[WINDOW:] - total[:-WINDOW]) / WINDOW


def numba(x):
    out = np.empty(x.size - WINDOW + 1)
    total = 0.0
    for i in range(x.size):
        total += x[i]
        if i >= WINDOW:
            total -= x[i - WINDOW]
        if i >= WINDOW - 1:
            out[i - WINDOW + 1] = total / WINDOW
    return out
