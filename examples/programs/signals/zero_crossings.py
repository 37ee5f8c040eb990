"""The rate of the zero crossings and the energy of each frame of a sound."""

import numpy as np

SMALL = {"frames": 9, "length": 40}


def inputs(rng, frames=2000, length=400):
    return (rng.normal(size=(frames, length)).astype("float32"),)


def program(np, x):
    crossings = np.diff(np.sign(x), axis=1) != 0
    return crossings.mean(axis=1), np.log10((x**2).sum(axis=1) + 1e-10)


def torch(torch, x):
    crossings = torch.diff(torch.sign(x), dim=1) != 0
    return crossings.double().mean(dim=1), torch.log10((x**2).sum(dim=1) + 1e-10)


def numba(x):
    frames, length = x.shape
    rate = np.empty(frames)
    energy = np.empty(frames, np.float32)
    for f in range(frames):
        count = 0
        total = np.float32(0)
        for t in range(length):
            total += x[f, t] * x[f, t]
            if t:
                count += np.sign(x[f, t]) != np.sign(x[f, t - 1])
        rate[f] = count / (length - 1)
        energy[f] = np.log10(total + np.float32(1e-10))
    return rate, energy
