"""Set the border of a picture to zero and double its inside, by assignments to slices."""

import numpy as np

SMALL = {"n": 19}


def inputs(rng, n=1500):
    return (rng.random((n, n), dtype="float32"),)


def program(np, x):
    x = np.array(x)
    x[1:-1, 1:-1] *= 2
    x[0, :] = 0
    x[-1, :] = 0
    x[:, 0] = 0
    x[:, -1] = 0
    return x


def jax(np, x):
    x = x.at[1:-1, 1:-1].multiply(2)
    x = x.at[0, :].set(0).at[-1, :].set(0)
    return x.at[:, 0].set(0).at[:, -1].set(0)


def torch(torch, x):
    x = x.clone()
    x[1:-1, 1:-1] *= 2
    x[0, :] = x[-1, :] = 0
    x[:, 0] = x[:, -1] = 0
    return x


def numba(x):
    x = x.copy()
    x[1:-1, 1:-1] *= np.float32(2)
    x[0, :] = x[-1, :] = 0
    x[:, 0] = x[:, -1] = 0
    return x
