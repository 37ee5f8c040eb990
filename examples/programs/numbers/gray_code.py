"""Gray's code of numbers, and back."""

import numpy as np

SMALL = {"n": 256}


def inputs(rng, n=2**19):
    return (np.arange(n),)


def program(np, x):
    gray = x ^ (x >> 1)
    back = gray
    for shift in (1, 2, 4, 8, 16):
        back = back ^ (back >> shift)
    return gray, back


def numba(x):
    gray, back = np.empty_like(x), np.empty_like(x)
    for i in range(x.size):
        g = x[i] ^ (x[i] >> 1)
        gray[i] = g
        for shift in (1, 2, 4, 8, 16):
            g = g ^ (g >> shift)
        back[i] = g
    return gray, back
