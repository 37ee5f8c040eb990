"""Ridge regression by the normal equations, solved with np.linalg.solve."""

import numpy as np

SMALL = {"n": 50, "features": 6}


def inputs(rng, n=20_000, features=40):
    x = rng.normal(size=(n, features))
    return x, x @ rng.normal(size=features) + 0.1 * rng.normal(size=n)


def program(np, x, y):
    gram = x.T @ x + 0.1 * np.eye(x.shape[1])
    return np.linalg.solve(gram, x.T @ y)


def torch(torch, x, y):
    gram = x.T @ x + 0.1 * torch.eye(x.shape[1], dtype=x.dtype)
    return torch.linalg.solve(gram, x.T @ y)


def numba(x, y):
    return np.linalg.solve(x.T @ x + 0.1 * np.eye(x.shape[1]), x.T @ y)
