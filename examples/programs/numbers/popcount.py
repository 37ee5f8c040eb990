"""Count the bits of many words by shifts and masks, and how far they are from their neighbours."""

import numpy as np

SMALL = {"n": 99}


def inputs(rng, n=1_000_000):
    return (rng.integers(0, 2**32, n, dtype="uint32"),)


def popcount(x):
    x = x - ((x >> 1) & 0x55555555)
    x = (x & 0x33333333) + ((x >> 2) & 0x33333333)
    x = (x + (x >> 4)) & 0x0F0F0F0F
    return (x * 0x01010101) >> 24


def program(np, x):
    return popcount(x), popcount(x[1:] ^ x[:-1])


def torch(torch, x):
    # PyTorch has no shifts of uint32.
    bits = popcount_wide(x.to(torch.int64))
    return bits, popcount_wide(x[1:].to(torch.int64) ^ x[:-1].to(torch.int64))


def popcount_wide(x):
    x = x - ((x >> 1) & 0x55555555)
    x = (x & 0x33333333) + ((x >> 2) & 0x33333333)
    x = (x + (x >> 4)) & 0x0F0F0F0F
    return (x * 0x01010101 & 0xFFFFFFFF) >> 24


def numba(x):
    out, distance = np.empty_like(x), np.empty(x.size - 1, np.uint32)
    for i in range(x.size):
        for turn in range(2 if i else 1):
            v = x[i] if turn == 0 else x[i] ^ x[i - 1]
            v = v - ((v >> np.uint32(1)) & np.uint32(0x55555555))
            v = (v & np.uint32(0x33333333)) + ((v >> np.uint32(2)) & np.uint32(0x33333333))
            v = (v + (v >> np.uint32(4))) & np.uint32(0x0F0F0F0F)
            v = np.uint32(v * np.uint32(0x01010101)) >> np.uint32(24)
            if turn == 0:
                out[i] = v
            else:
                distance[i - 1] = v
    return out, distance
