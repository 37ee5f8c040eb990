"""Dropout with given random numbers, batch normalization at training time, and leaky ReLU."""

import numpy as np

SMALL = {"batch": 12, "width": 9}


def inputs(rng, batch=1024, width=512):
    return rng.normal(size=(batch, width)).astype("float32"), rng.random((batch, width)) < 0.8


def program(np, x, keep):
    mean, variance = x.mean(axis=0), x.var(axis=0)
    y = (x - mean) / np.sqrt(variance + 1e-5)
    y = np.where(y > 0, y, 0.1 * y)
    return np.where(keep, y / 0.8, 0)


def torch(torch, x, keep):
    y = torch.nn.functional.batch_norm(x, None, None, training=True)
    return torch.nn.functional.leaky_relu(y, 0.1) * keep / 0.8


def numba(x, keep):
    rows, columns = x.shape
    f = np.float32
    mean, square = np.zeros(columns, np.float32), np.zeros(columns, np.float32)
    for i in range(rows):
        for j in range(columns):
            mean[j] += x[i, j]
    mean /= f(rows)
    for i in range(rows):
        for j in range(columns):
            square[j] += (x[i, j] - mean[j]) ** 2
    factor = f(1) / np.sqrt(square / f(rows) + f(1e-5))
    out = np.empty_like(x)
    for i in range(rows):
        for j in range(columns):
            y = (x[i, j] - mean[j]) * factor[j]
            y = y if y > 0 else f(0.1) * y
            out[i, j] = y / f(0.8) if keep[i, j] else f(0)
    return out
