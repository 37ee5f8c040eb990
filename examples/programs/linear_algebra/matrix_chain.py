"""A product of four matrices and a vector, from left to right as it is written."""

SMALL = {"n": 12}


def inputs(rng, n=400):
    a, b, c = rng.normal(size=(3, n, n)) / n**0.5
    return a, b, c, rng.normal(size=n)


def program(np, a, b, c, x):
    return a @ b @ c @ x + a.T @ x


def numba(a, b, c, x):
    return a @ b @ c @ x + a.T @ x
