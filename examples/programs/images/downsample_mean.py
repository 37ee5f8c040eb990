"""Shrink a picture to a quarter of its height and width, by the means of its squares."""

import numpy as np

SMALL = {"n": 32}


def inputs(rng, n=2048):
    return (rng.random((n, n), dtype="float32"),)


def program(np, x):
    n, m = x.shape
    return x.reshape(n // 4, 4, m // 4, 4).mean(axis=(1, 3))


def torch(torch, x):
    return torch.nn.functional.avg_pool2d(x[None, None], 4)[0, 0]


def numba(x):
    n, m = x.shape[0] // 4, x.shape[1] // 4
    out = np.empty((n, m), np.float32)
    for i in range(n):
        for j in range(m):
            total = np.float32(0)
            for a in range(4):
                for b in range(4):
                    total += x[4 * i + a, 4 * j + b]
            out[i, j] = total / np.float32(16)
    return out
