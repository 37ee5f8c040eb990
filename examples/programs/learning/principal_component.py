"""The first principal component of data, by power iteration on the covariance."""

import numpy as np

SMALL = {"n": 40, "features": 5}
STEPS = 30


def inputs(rng, n=5000, features=100):
    return (rng.normal(size=(n, features)) * np.linspace(1, 3, features),)


def step(np, covariance, v):
    v = covariance @ v
    return v / np.sqrt((v**2).sum())


def program(np, x):
    x = x - x.mean(axis=0)
    covariance = x.T @ x / (x.shape[0] - 1)
    v = np.ones_like(x[0])
    for _ in range(STEPS):
        v = step(np, covariance, v)
    return v, v @ covariance @ v, x @ v


def compiled(np, lax, x):
    x = x - x.mean(axis=0)
    covariance = x.T @ x / (x.shape[0] - 1)
    v = lax.fori_loop(0, STEPS, lambda _, v: step(np, covariance, v), np.ones_like(x[0]))
    return v, v @ covariance @ v, x @ v
