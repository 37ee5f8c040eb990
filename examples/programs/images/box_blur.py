"""Blur a picture: each pixel becomes the mean of the nine around it."""

import numpy as np

SMALL = {"n": 29}


def inputs(rng, n=1024):
    return (rng.random((n, n), dtype="float32"),)


def program(np, x):
    padded = np.pad(x, 1, mode="edge")
    n, m = x.shape
    total = np.zeros_like(x)
    for i in range(3):
        for j in range(3):
            total = total + padded[i : i + n, j : j + m]
    return total / 9


def torch(torch, x):
    padded = torch.nn.functional.pad(x[None, None], (1, 1, 1, 1), mode="replicate")
    return torch.nn.functional.avg_pool2d(padded, 3, 1)[0, 0]


def numba(x):
    n, m = x.shape
    out = np.empty_like(x)
    for i in range(n):
        for j in range(m):
            total = np.float32(0)
            for a in range(-1, 2):
                for b in range(-1, 2):
                    total += x[min(max(i + a, 0), n - 1), min(max(j + b, 0), m - 1)]
            out[i, j] = total / np.float32(9)
    return out
