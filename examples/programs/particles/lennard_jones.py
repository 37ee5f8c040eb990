"""The energy of a gas of atoms in a periodic box, by Lennard-Jones's potential."""

import numpy as np

SMALL = {"n": 20}
BOX = 10.0


def inputs(rng, n=800):
    side = int(np.ceil(n ** (1 / 3)))
    grid = np.stack(np.meshgrid(*[np.arange(side)] * 3), axis=-1).reshape(-1, 3)[:n]
    return (grid * (BOX / side) + 0.05 * rng.random((n, 3)),)


def program(np, place):
    d = place[:, None, :] - place[None, :, :]
    d = d - BOX * np.round(d / BOX)
    r2 = (d**2).sum(axis=-1)
    near = (r2 > 0) & (r2 < 9.0)
    inverse = np.where(near, 1 / np.where(near, r2, 1), 0) ** 3
    return 2 * (inverse**2 - inverse).sum()


def numba(place):
    n = place.shape[0]
    energy = 0.0
    for i in range(n):
        for j in range(i):
            r2 = 0.0
            for k in range(3):
                d = place[i, k] - place[j, k]
                d -= BOX * np.round(d / BOX)
                r2 += d * d
            if r2 < 9.0:
                inverse = 1 / (r2 * r2 * r2)
                energy += 4 * (inverse * inverse - inverse)
    return energy
