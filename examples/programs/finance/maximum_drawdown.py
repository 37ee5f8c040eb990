"""The greatest loss from a peak of each of many price series."""

import numpy as np

SMALL = {"series": 6, "days": 40}


def inputs(rng, series=200, days=2500):
    return (100 * np.exp(0.01 * rng.normal(size=(series, days)).cumsum(axis=1)),)


def program(np, price):
    peak = np.maximum.accumulate(price, axis=1)
    return (1 - price / peak).max(axis=1)


def stepwell(np, price):
    return (1 - price / np.cummax(price, axis=1)).max(axis=1)


def jax(np, price):
    from jax.lax import cummax

    return (1 - price / cummax(price, axis=1)).max(axis=1)


def torch(torch, price):
    return (1 - price / torch.cummax(price, dim=1).values).amax(dim=1)


def numba(price):
    out = np.zeros(price.shape[0])
    for s in range(price.shape[0]):
        peak = price[s, 0]
        for d in range(price.shape[1]):
            peak = max(peak, price[s, d])
            out[s] = max(out[s], 1 - price[s, d] / peak)
    return out
