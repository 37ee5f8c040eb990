"""The values of a polynomial of degree eleven and of its derivative, by Horner's scheme."""

import numpy as np

SMALL = {"n": 100}


def inputs(rng, n=500_000):
    return rng.normal(size=12), rng.uniform(-1, 1, n)


def program(np, coefficients, x):
    value, slope = 0 * x, 0 * x
    for c in coefficients:
        slope = slope * x + value
        value = value * x + c
    return value, slope


def numba(coefficients, x):
    value, slope = np.zeros_like(x), np.zeros_like(x)
    for i in range(x.size):
        v = s = 0.0
        for c in coefficients:
            s = s * x[i] + v
            v = v * x[i] + c
        value[i], slope[i] = v, s
    return value, slope
