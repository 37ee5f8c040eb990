"""Sierpinski's triangle, from the bits that two coordinates have in common, and how full it is."""

import numpy as np

SMALL = {"n": 32}


def inputs(rng, n=1024):
    return (np.arange(n),)


def program(np, i):
    common = i[:, None] & i[None, :]
    triangle = common == 0
    return triangle, triangle.mean()


def torch(torch, i):
    triangle = (i[:, None] & i[None, :]) == 0
    return triangle, triangle.double().mean()


def numba(i):
    out = np.empty((i.size, i.size), np.bool_)
    count = 0
    for a in range(i.size):
        for b in range(i.size):
            out[a, b] = (i[a] & i[b]) == 0
            count += out[a, b]
    return out, count / (i.size * i.size)
