"""Magnets that flip by chance: sweeps over the black and the white squares, numbers given."""

import numpy as np

SMALL = {"n": 8, "sweeps": 3}


def inputs(rng, n=128, sweeps=10):
    spins = rng.choice([-1.0, 1.0], (n, n)).astype("float32")
    return spins, rng.random((sweeps, 2, n, n), dtype="float32")


def sweep(np, spins, chances):
    n, m = spins.shape
    parity = (np.arange(n)[:, None] + np.arange(m)) % 2
    for colour in (0, 1):
        around = np.roll(spins, 1, 0) + np.roll(spins, -1, 0)
        around = around + np.roll(spins, 1, 1) + np.roll(spins, -1, 1)
        flips = (chances[colour] < np.exp(-0.8 * spins * around)) & (parity == colour)
        spins = np.where(flips, -spins, spins)
    return spins


def program(np, spins, chances):
    for t in range(chances.shape[0]):
        spins = sweep(np, spins, chances[t])
    return spins, spins.mean()


def compiled(np, lax, spins, chances):
    spins, _ = lax.scan(lambda spins, now: (sweep(np, spins, now), None), spins, chances)
    return spins, spins.mean()


def numba(spins, chances):
    spins = spins.copy()
    n, m = spins.shape
    for t in range(chances.shape[0]):
        for colour in range(2):
            for i in range(n):
                for j in range((i + colour) % 2, m, 2):
                    around = spins[i - 1, j] + spins[(i + 1) % n, j]
                    around += spins[i, j - 1] + spins[i, (j + 1) % m]
                    if chances[t, colour, i, j] < np.exp(np.float32(-0.8) * spins[i, j] * around):
                        spins[i, j] = -spins[i, j]
    return spins, spins.mean()
