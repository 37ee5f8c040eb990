"""Streams of random numbers by a linear congruence and by xorshift, all side by side."""

import numpy as np

SMALL = {"n": 20}


def inputs(rng, n=100_000):
    return (rng.integers(1, 2**32, n, dtype="uint32"),)


def program(np, x):
    total = 0 * x
    for _ in range(16):
        x = x * np.uint32(1664525) + np.uint32(1013904223)
        y = x ^ (x << 13)
        y = y ^ (y >> 17)
        total = total ^ y ^ (y << 5)
    return total


def jax(np, x):
    return program(np, x)


def torch(torch, x):
    raise NotImplementedError("PyTorch has no shifts of uint32")


def numba(x):
    out = np.empty_like(x)
    for i in range(x.size):
        s, total = x[i], np.uint32(0)
        for _ in range(16):
            s = np.uint32(s * np.uint32(1664525) + np.uint32(1013904223))
            y = np.uint32(s ^ np.uint32(s << np.uint32(13)))
            y = np.uint32(y ^ (y >> np.uint32(17)))
            total = np.uint32(total ^ y ^ np.uint32(y << np.uint32(5)))
        out[i] = total
    return out
