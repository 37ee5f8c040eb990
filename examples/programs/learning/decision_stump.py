"""The threshold that parts two classes best in each feature: sums of sorted labels."""

import numpy as np

SMALL = {"n": 30, "features": 4}


def inputs(rng, n=5000, features=20):
    return rng.normal(size=(n, features)), rng.integers(0, 2, n)


def program(np, x, label):
    n = x.shape[0]
    order = np.argsort(x, axis=0)
    ones = np.cumsum(label[order], axis=0)
    below = np.arange(1, n + 1)[:, None]
    p = ones / below
    q = (ones[-1] - ones) / np.maximum(n - below, 1)
    impurity = below * p * (1 - p) + (n - below) * q * (1 - q)
    return impurity.argmin(axis=0), impurity.min(axis=0) / n


def torch(torch, x, label):
    n = x.shape[0]
    order = torch.argsort(x, dim=0)
    ones = torch.cumsum(label[order], dim=0)
    below = torch.arange(1, n + 1)[:, None]
    p = ones / below
    q = (ones[-1] - ones) / torch.clamp(n - below, min=1)
    impurity = below * p * (1 - p) + (n - below) * q * (1 - q)
    return impurity.argmin(dim=0), impurity.amin(dim=0) / n


def numba(x, label):
    n, features = x.shape
    where = np.empty(features, np.int64)
    least = np.empty(features)
    for f in range(features):
        order = np.argsort(x[:, f])
        total, ones, best = label.sum(), 0, np.inf
        for i in range(n):
            ones += label[order[i]]
            p, q = ones / (i + 1), (total - ones) / max(n - i - 1, 1)
            impurity = (i + 1) * p * (1 - p) + (n - i - 1) * q * (1 - q)
            if impurity < best:
                best, where[f] = impurity, i
        least[f] = best / n
    return where, least
