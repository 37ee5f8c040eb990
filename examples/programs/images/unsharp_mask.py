"""Sharpen a photograph: add what a blur took away, and keep the bytes in range."""

import numpy as np

RTOL = 0.005  # a byte that is cut off may differ by one
SMALL = {"height": 22, "width": 35}


def inputs(rng, height=720, width=1280):
    return (rng.integers(0, 256, (height, width), dtype="uint8"),)


def program(np, image):
    x = image.astype(np.float32)
    blurred = (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:] + x[1:-1, 1:-1]) / 5
    sharp = x[1:-1, 1:-1] + 1.5 * (x[1:-1, 1:-1] - blurred)
    return np.clip(sharp, 0, 255).astype(np.uint8)


def torch(torch, image):
    x = image.float()
    blurred = (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:] + x[1:-1, 1:-1]) / 5
    sharp = x[1:-1, 1:-1] + 1.5 * (x[1:-1, 1:-1] - blurred)
    return torch.clip(sharp, 0, 255).to(torch.uint8)


def numba(image):
    n, m = image.shape
    out = np.empty((n - 2, m - 2), np.uint8)
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            x = np.float32(image[i, j])
            total = np.float32(image[i - 1, j]) + np.float32(image[i + 1, j])
            total += np.float32(image[i, j - 1]) + np.float32(image[i, j + 1]) + x
            sharp = x + np.float32(1.5) * (x - total / np.float32(5))
            out[i - 1, j - 1] = np.uint8(min(max(sharp, np.float32(0)), np.float32(255)))
    return out
