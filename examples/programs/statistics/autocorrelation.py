"""The autocorrelation of a series at the first lags."""

import numpy as np

SMALL = {"n": 300}
LAGS = 24


def inputs(rng, n=200_000):
    return (rng.normal(size=n).cumsum() / 100,)


def program(np, x):
    x = x - x.mean()
    lags = [(x[: x.shape[0] - lag] * x[lag:]).sum() for lag in range(LAGS)]
    return np.stack(lags) / (x**2).sum()


def numba(x):
    x = x - x.mean()
    out = np.empty(LAGS)
    for lag in range(LAGS):
        total = 0.0
        for i in range(x.size - lag):
            total += x[i] * x[i + lag]
        out[lag] = total
    return out / (x * x).sum()
