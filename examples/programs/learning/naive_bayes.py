"""Gaussian naive Bayes: the log-likelihood of each class for new points, and the best class."""

import numpy as np

SMALL = {"n": 40, "classes": 3, "features": 5}


def inputs(rng, n=20_000, classes=10, features=20):
    return (
        rng.normal(size=(n, features)),
        rng.normal(size=(classes, features)),
        0.5 + rng.random((classes, features)),
    )


def program(np, x, mean, variance):
    z = (x[:, None, :] - mean) ** 2 / variance
    likelihood = -0.5 * (z + np.log(2 * np.pi * variance)).sum(axis=-1)
    return likelihood, likelihood.argmax(axis=1)


def numba(x, mean, variance):
    n, classes = x.shape[0], mean.shape[0]
    constant = np.log(2 * np.pi * variance).sum(axis=1)
    likelihood = np.empty((n, classes))
    best = np.empty(n, np.int64)
    for i in range(n):
        for c in range(classes):
            total = constant[c]
            for k in range(x.shape[1]):
                total += (x[i, k] - mean[c, k]) ** 2 / variance[c, k]
            likelihood[i, c] = -0.5 * total
        best[i] = likelihood[i].argmax()
    return likelihood, best
