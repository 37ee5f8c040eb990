"""Take the rows of a table that a list names, and add them up in groups of four."""

import numpy as np

SMALL = {"rows": 50, "columns": 12, "count": 40}


def inputs(rng, rows=10_000, columns=128, count=8000):
    return rng.random((rows, columns), dtype="float32"), rng.integers(0, rows, count)


def program(np, table, chosen):
    return table[chosen].reshape(-1, 4, table.shape[1]).sum(axis=1)


def torch(torch, table, chosen):
    return table[chosen].reshape(-1, 4, table.shape[1]).sum(dim=1)


def numba(table, chosen):
    out = np.zeros((chosen.size // 4, table.shape[1]), np.float32)
    for i in range(chosen.size):
        for j in range(table.shape[1]):
            out[i // 4, j] += table[chosen[i], j]
    return out
