"""The product of two matrices in double precision."""

SMALL = {"m": 13, "k": 17, "n": 11}


def inputs(rng, m=500, k=500, n=500):
    return rng.random((m, k)), rng.random((k, n))


def program(np, a, b):
    return a @ b


def numba(a, b):
    return a @ b
