"""The outline of a binary picture: what dilation adds and erosion takes."""

import numpy as np

SMALL = {"n": 30}


def inputs(rng, n=1000):
    return (rng.random((n, n)) < 0.7,)


def program(np, mask):
    p = np.pad(mask, 1)
    n, m = mask.shape
    around = [p[i : i + n, j : j + m] for i in range(3) for j in range(3)]
    dilated, eroded = around[0], around[0]
    for one in around[1:]:
        dilated = dilated | one
        eroded = eroded & one
    return dilated & ~eroded


def torch(torch, mask):
    p = torch.nn.functional.pad(mask, (1, 1, 1, 1))
    n, m = mask.shape
    around = torch.stack([p[i : i + n, j : j + m] for i in range(3) for j in range(3)])
    return around.any(dim=0) & ~around.all(dim=0)


def numba(mask):
    n, m = mask.shape
    out = np.empty_like(mask)
    for i in range(n):
        for j in range(m):
            count = 0
            for a in range(max(i - 1, 0), min(i + 2, n)):
                for b in range(max(j - 1, 0), min(j + 2, m)):
                    count += mask[a, b]
            out[i, j] = 0 < count < 9
    return out
