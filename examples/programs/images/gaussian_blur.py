"""Blur a picture with a Gaussian bell, along rows and then along columns."""

import numpy as np

SMALL = {"n": 31}


def inputs(rng, n=1024):
    x = np.arange(-4, 5)
    bell = np.exp(-(x**2) / 8.0)
    return rng.random((n, n), dtype="float32"), (bell / bell.sum()).astype("float32")


def program(np, image, bell):
    n, m = image.shape
    padded = np.pad(image, ((4, 4), (0, 0)), mode="reflect")
    rows = sum(bell[k] * padded[k : k + n] for k in range(9))
    padded = np.pad(rows, ((0, 0), (4, 4)), mode="reflect")
    return sum(bell[k] * padded[:, k : k + m] for k in range(9))


def torch(torch, image, bell):
    f = torch.nn.functional
    padded = f.pad(image[None, None], (4, 4, 4, 4), mode="reflect")
    rows = f.conv2d(padded, bell[None, None, :, None])
    return f.conv2d(rows, bell[None, None, None, :])[0, 0]


def numba(image, bell):
    n, m = image.shape
    rows = np.zeros_like(image)
    for i in range(n):
        for k in range(9):
            at = abs(i + k - 4)
            at = min(at, 2 * (n - 1) - at)
            for j in range(m):
                rows[i, j] += bell[k] * image[at, j]
    out = np.empty_like(image)
    for i in range(n):
        for j in range(m):
            total = np.float32(0)
            for k in range(9):
                at = abs(j + k - 4)
                total += bell[k] * rows[i, min(at, 2 * (m - 1) - at)]
            out[i, j] = total
    return out
