"""Where in a sequence a new value starts, and how many runs of equal values there are."""

import numpy as np

SMALL = {"n": 200}


def inputs(rng, n=1_000_000):
    return (rng.integers(0, 3, n),)


def program(np, x):
    starts = np.concatenate([np.ones(1, dtype=bool), x[1:] != x[:-1]])
    return starts, np.cumsum(starts), starts.sum()


def torch(torch, x):
    starts = torch.cat([torch.ones(1, dtype=torch.bool), x[1:] != x[:-1]])
    return starts, torch.cumsum(starts, 0), starts.sum()


def numba(x):
    starts = np.empty(x.size, np.bool_)
    runs = np.empty(x.size, np.int64)
    count = 0
    for i in range(x.size):
        starts[i] = i == 0 or x[i] != x[i - 1]
        count += starts[i]
        runs[i] = count
    return starts, runs, count
