"""Haar's wavelet transform: halve a signal again and again into means and differences."""

import numpy as np

SMALL = {"n": 64}
LEVELS = 5


def inputs(rng, n=2**20):
    return (rng.normal(size=n),)


def program(np, x):
    parts = []
    for _ in range(LEVELS):
        even, odd = x[0::2], x[1::2]
        parts.append((even - odd) / np.sqrt(2))
        x = (even + odd) / np.sqrt(2)
    parts.append(x)
    return np.concatenate(parts[::-1])


def torch(torch, x):
    parts = []
    for _ in range(LEVELS):
        even, odd = x[0::2], x[1::2]
        parts.append((even - odd) / 2**0.5)
        x = (even + odd) / 2**0.5
    return torch.cat([x, *parts[::-1]])


def numba(x):
    x = x.copy()
    out = np.empty_like(x)
    n = x.size
    for _ in range(LEVELS):
        n //= 2
        for i in range(n):
            even, odd = x[2 * i], x[2 * i + 1]
            out[n + i] = (even - odd) / np.sqrt(2)
            x[i] = (even + odd) / np.sqrt(2)
    out[:n] = x[:n]
    return out
