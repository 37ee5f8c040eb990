"""Integrals of many functions of one family, by the trapezoid rule on a grid."""

import numpy as np

SMALL = {"functions": 5, "n": 50}


def inputs(rng, functions=200, n=2000):
    return rng.uniform(0.5, 3, functions), np.linspace(0, 1, n)


def program(np, a, x):
    y = np.exp(-a[:, None] * x) * np.sin(a[:, None] * x)
    return np.trapezoid(y, x, axis=1)


def torch(torch, a, x):
    y = torch.exp(-a[:, None] * x) * torch.sin(a[:, None] * x)
    return torch.trapezoid(y, x, dim=1)


def numba(a, x):
    out = np.zeros_like(a)
    for i in range(a.size):
        before = 0.0
        for j in range(x.size):
            now = np.exp(-a[i] * x[j]) * np.sin(a[i] * x[j])
            if j:
                out[i] += (now + before) / 2 * (x[j] - x[j - 1])
            before = now
    return out
