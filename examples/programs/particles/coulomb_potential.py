"""The potential of point charges on a grid of places."""

import numpy as np

SMALL = {"n": 12, "charges": 5}


def inputs(rng, n=200, charges=50):
    axis = np.linspace(0, 1, n)
    return axis, rng.random((charges, 2)), rng.choice([-1.0, 1.0], charges)


def program(np, axis, place, charge):
    dx = axis[None, :, None] - place[:, 0]
    dy = axis[:, None, None] - place[:, 1]
    return (charge / np.sqrt(dx**2 + dy**2 + 1e-4)).sum(axis=-1)


def numba(axis, place, charge):
    out = np.empty((axis.size, axis.size))
    for i in range(axis.size):
        for j in range(axis.size):
            total = 0.0
            for c in range(charge.size):
                dx, dy = axis[j] - place[c, 0], axis[i] - place[c, 1]
                total += charge[c] / np.sqrt(dx * dx + dy * dy + 1e-4)
            out[i, j] = total
    return out
