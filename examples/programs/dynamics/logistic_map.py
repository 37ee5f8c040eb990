"""The bifurcation of the logistic map: late values for many growth rates."""

import numpy as np

SMALL = {"n": 40}


def inputs(rng, n=100_000):
    return (np.linspace(2.5, 3.5, n),)


def program(np, rate):
    x = 0.5 * np.ones_like(rate)
    for _ in range(50):
        x = rate * x * (1 - x)
    return x


def numba(rate):
    out = np.empty_like(rate)
    for i in range(rate.size):
        x = 0.5
        for _ in range(50):
            x = rate[i] * x * (1 - x)
        out[i] = x
    return out
