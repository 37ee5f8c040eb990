"""A spread that outliers do not move: the median of the distances from the median."""

import numpy as np

SMALL = {"n": 501}


def inputs(rng, n=100_001):
    return (rng.normal(size=n),)


def program(np, x):
    middle = np.median(x)
    return middle, np.median(np.abs(x - middle))


def numba(x):
    middle = np.median(x)
    return middle, np.median(np.abs(x - middle))
