"""Kohonen's map: the nearest unit of each sample, and its neighbours drawn towards it."""

import numpy as np

SMALL = {"samples": 8, "side": 5}


def inputs(rng, samples=200, side=20, features=3):
    units = rng.random((side * side, features))
    places = np.stack(np.meshgrid(np.arange(side), np.arange(side)), axis=-1).reshape(-1, 2)
    return rng.random((samples, features)), units, places.astype("float64")


def step(np, sample, units, places):
    best = ((units - sample) ** 2).sum(axis=1).argmin()
    distance = ((places - places[best]) ** 2).sum(axis=1)
    return units + 0.1 * np.exp(-distance / 8)[:, None] * (sample - units)


def program(np, samples, units, places):
    for sample in samples:
        units = step(np, sample, units, places)
    return units


def compiled(np, lax, samples, units, places):
    def body(units, sample):
        return step(np, sample, units, places), None

    return lax.scan(body, units, samples)[0]


def numba(samples, units, places):
    units = units.copy()
    for s in range(samples.shape[0]):
        best, least = 0, np.inf
        for u in range(units.shape[0]):
            d = 0.0
            for k in range(units.shape[1]):
                d += (units[u, k] - samples[s, k]) ** 2
            if d < least:
                best, least = u, d
        for u in range(units.shape[0]):
            dx, dy = places[u, 0] - places[best, 0], places[u, 1] - places[best, 1]
            pull = 0.1 * np.exp(-(dx * dx + dy * dy) / 8)
            for k in range(units.shape[1]):
                units[u, k] += pull * (samples[s, k] - units[u, k])
    return units
