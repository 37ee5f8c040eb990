"""The polar coordinates of the points of a grid, by meshgrid and arctan2."""

import numpy as np

SMALL = {"n": 33}


def inputs(rng, n=600):
    return np.linspace(-1, 1, n), np.linspace(-2, 2, n)


def program(np, x, y):
    xx, yy = np.meshgrid(x, y)
    return np.hypot(xx, yy), np.arctan2(yy, xx)


def torch(torch, x, y):
    xx, yy = torch.meshgrid(x, y, indexing="xy")
    return torch.hypot(xx, yy), torch.arctan2(yy, xx)


def numba(x, y):
    radius = np.empty((y.size, x.size))
    angle = np.empty((y.size, x.size))
    for i in range(y.size):
        for j in range(x.size):
            radius[i, j] = np.hypot(x[j], y[i])
            angle[i, j] = np.arctan2(y[i], x[j])
    return radius, angle
