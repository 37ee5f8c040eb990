"""Rule 110: the whole history of a row of cells, by a table of eight answers."""

import numpy as np

SMALL = {"n": 40, "steps": 10}


def inputs(rng, n=2000, steps=200):
    return rng.integers(0, 2, n), np.array([0, 1, 1, 1, 0, 1, 1, 0]), np.zeros(steps)


def step(np, cells, table):
    return table[4 * np.roll(cells, 1) + 2 * cells + np.roll(cells, -1)]


def program(np, cells, table, steps):
    history = []
    for _ in range(steps.shape[0]):
        cells = step(np, cells, table)
        history.append(cells)
    return np.stack(history)


def compiled(np, lax, cells, table, steps):
    def body(cells, _):
        cells = step(np, cells, table)
        return cells, cells

    return lax.scan(body, cells, steps)[1]


def numba(cells, table, steps):
    n = cells.size
    out = np.empty((steps.size, n), np.int64)
    for t in range(steps.size):
        for i in range(n):
            right = cells[i + 1 if i + 1 < n else 0]
            out[t, i] = table[4 * cells[i - 1] + 2 * cells[i] + right]
        cells = out[t]
    return out
