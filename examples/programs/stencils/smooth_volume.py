"""Smooth a volume by the mean of each voxel and its six neighbours."""

import numpy as np

SMALL = {"n": 11}


def inputs(rng, n=128):
    return (rng.random((n, n, n), dtype="float32"),)


def program(np, v):
    centre = v[1:-1, 1:-1, 1:-1]
    faces = v[:-2, 1:-1, 1:-1] + v[2:, 1:-1, 1:-1] + v[1:-1, :-2, 1:-1] + v[1:-1, 2:, 1:-1]
    return (centre + faces + v[1:-1, 1:-1, :-2] + v[1:-1, 1:-1, 2:]) / 7


def numba(v):
    n, m, k = v.shape
    out = np.empty((n - 2, m - 2, k - 2), np.float32)
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            for t in range(1, k - 1):
                total = v[i, j, t] + v[i - 1, j, t] + v[i + 1, j, t] + v[i, j - 1, t]
                total += v[i, j + 1, t] + v[i, j, t - 1] + v[i, j, t + 1]
                out[i - 1, j - 1, t - 1] = total / np.float32(7)
    return out
