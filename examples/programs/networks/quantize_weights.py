"""Weights in eight bits with a scale for each row, and how much is lost."""

import numpy as np

SMALL = {"rows": 12, "columns": 17}


def inputs(rng, rows=1024, columns=1024):
    return (rng.normal(size=(rows, columns)).astype("float32"),)


def program(np, w):
    scale = np.abs(w).max(axis=1, keepdims=True) / 127
    q = np.round(w / scale).astype(np.int8)
    back = q.astype(np.float32) * scale
    return q, scale, np.sqrt(((w - back) ** 2).mean())


def torch(torch, w):
    scale = torch.abs(w).amax(dim=1, keepdim=True) / 127
    q = torch.round(w / scale).to(torch.int8)
    return q, scale, torch.sqrt(((w - q.float() * scale) ** 2).mean())


def numba(w):
    rows, columns = w.shape
    q = np.empty((rows, columns), np.int8)
    scale = np.empty((rows, 1), np.float32)
    total = np.float32(0)
    for i in range(rows):
        most = np.float32(0)
        for j in range(columns):
            most = max(most, abs(w[i, j]))
        scale[i, 0] = most / np.float32(127)
        for j in range(columns):
            q[i, j] = np.int8(np.round(w[i, j] / scale[i, 0]))
            total += (w[i, j] - np.float32(q[i, j]) * scale[i, 0]) ** 2
    return q, scale, np.sqrt(total / np.float32(w.size))
