"""The distances on the globe from each of some towns to each other one."""

import numpy as np

SMALL = {"n": 20}


def inputs(rng, n=600):
    return rng.uniform(-60, 70, n), rng.uniform(-180, 180, n)


def program(np, latitude, longitude):
    a, b = np.radians(latitude), np.radians(longitude)
    da, db = a[:, None] - a, b[:, None] - b
    h = np.sin(da / 2) ** 2 + np.cos(a)[:, None] * np.cos(a) * np.sin(db / 2) ** 2
    return 2 * 6371 * np.arcsin(np.sqrt(h))


def torch(torch, latitude, longitude):
    a, b = torch.deg2rad(latitude), torch.deg2rad(longitude)
    da, db = a[:, None] - a, b[:, None] - b
    h = torch.sin(da / 2) ** 2 + torch.cos(a)[:, None] * torch.cos(a) * torch.sin(db / 2) ** 2
    return 2 * 6371 * torch.arcsin(torch.sqrt(h))


def numba(latitude, longitude):
    n = latitude.size
    a, b = np.radians(latitude), np.radians(longitude)
    out = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            u, v = np.sin((a[i] - a[j]) / 2), np.sin((b[i] - b[j]) / 2)
            h = u * u + np.cos(a[i]) * np.cos(a[j]) * v * v
            out[i, j] = 2 * 6371 * np.arcsin(np.sqrt(h))
    return out
