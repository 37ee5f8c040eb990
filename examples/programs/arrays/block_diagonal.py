"""Put small square matrices onto the diagonal of a large one, and multiply a vector by it."""

import numpy as np

SMALL = {"blocks": 5, "n": 3}


def inputs(rng, blocks=2000, n=16):
    return rng.random((blocks, n, n)), rng.random(blocks * n)


def program(np, blocks, x):
    count, n, _ = blocks.shape
    return (blocks @ x.reshape(count, n, 1)).reshape(-1)


def numba(blocks, x):
    count, n, _ = blocks.shape
    out = np.zeros(count * n)
    for b in range(count):
        for i in range(n):
            for j in range(n):
                out[b * n + i] += blocks[b, i, j] * x[b * n + j]
    return out
