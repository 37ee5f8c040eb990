"""Resize a picture by linear interpolation between its four nearest pixels."""

import numpy as np

SMALL = {"n": 21, "m": 34}


def inputs(rng, n=600, m=900):
    return rng.random((n, n), dtype="float32"), np.linspace(0, n - 1, m, dtype="float32")


def program(np, image, at):
    low = np.floor(at).astype(np.int64)
    high = np.minimum(low + 1, image.shape[0] - 1)
    part = at - low.astype(np.float32)
    rows = image[low] * (1 - part)[:, None] + image[high] * part[:, None]
    return rows[:, low] * (1 - part) + rows[:, high] * part


def torch(torch, image, at):
    size = (at.shape[0], at.shape[0])
    return torch.nn.functional.interpolate(
        image[None, None], size, mode="bilinear", align_corners=True
    )[0, 0]


def numba(image, at):
    n, m = image.shape[0], at.size
    one = np.float32(1)
    out = np.empty((m, m), np.float32)
    for i in range(m):
        a = int(at[i])
        b = min(a + 1, n - 1)
        p = at[i] - np.float32(a)
        for j in range(m):
            c = int(at[j])
            d = min(c + 1, n - 1)
            q = at[j] - np.float32(c)
            left = image[a, c] * (one - p) + image[b, c] * p
            right = image[a, d] * (one - p) + image[b, d] * p
            out[i, j] = left * (one - q) + right * q
    return out
