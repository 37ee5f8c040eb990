"""Kepler's equation for many orbits by Newton's method."""

import numpy as np

SMALL = {"n": 60}


def inputs(rng, n=200_000):
    return rng.uniform(0, 6, n), rng.uniform(0, 0.7, n)


def program(np, mean, eccentricity):
    e = mean
    for _ in range(6):
        wrong = e - eccentricity * np.sin(e) - mean
        e = e - wrong / (1 - eccentricity * np.cos(e))
    return e


def numba(mean, eccentricity):
    out = np.empty_like(mean)
    for i in range(mean.size):
        e = mean[i]
        for _ in range(6):
            wrong = e - eccentricity[i] * np.sin(e) - mean[i]
            e -= wrong / (1 - eccentricity[i] * np.cos(e))
        out[i] = e
    return out
