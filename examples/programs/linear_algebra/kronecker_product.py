"""The Kronecker product of two matrices, applied to a vector."""

import numpy as np

SMALL = {"n": 4, "m": 5}


def inputs(rng, n=40, m=50):
    return rng.normal(size=(n, n)), rng.normal(size=(m, m)), rng.normal(size=n * m)


def program(np, a, b, x):
    return np.kron(a, b) @ x


def numba(a, b, x):
    return np.kron(a, b) @ x
