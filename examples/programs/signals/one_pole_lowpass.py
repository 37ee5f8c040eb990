"""A low-pass filter of one signal, sample by sample: a recurrence that cannot be vectorized."""

import numpy as np

SMALL = {"n": 50}


def inputs(rng, n=20_000):
    return (rng.normal(size=n),)


def program(np, x):
    y = 0.0
    out = []
    for sample in x:
        y = y + 0.1 * (sample - y)
        out.append(y)
    return np.array(out)


def compiled(np, lax, x):
    def step(y, sample):
        y = y + 0.1 * (sample - y)
        return y, y

    return lax.scan(step, np.zeros((), x.dtype), x)[1]


def torch(torch, x):
    y = torch.zeros((), dtype=x.dtype)
    out = []
    for sample in x:
        y = y + 0.1 * (sample - y)
        out.append(y)
    return torch.stack(out)


def numba(x):
    out = np.empty_like(x)
    y = 0.0
    for i in range(x.size):
        y = y + 0.1 * (x[i] - y)
        out[i] = y
    return out
