"""Reduce many fractions to lowest terms with np.gcd."""

import numpy as np

SMALL = {"n": 60}


def inputs(rng, n=100_000):
    return rng.integers(1, 10_000, n), rng.integers(1, 10_000, n)


def program(np, above, below):
    divisor = np.gcd(above, below)
    return above // divisor, below // divisor


def numba(above, below):
    top, bottom = np.empty_like(above), np.empty_like(below)
    for i in range(above.size):
        a, b = above[i], below[i]
        while b:
            a, b = b, a % b
        top[i], bottom[i] = above[i] // a, below[i] // a
    return top, bottom
