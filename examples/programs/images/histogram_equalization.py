"""Spread the brightness of a picture of bytes evenly over the range."""

import numpy as np

SMALL = {"n": 40}


def inputs(rng, n=1000):
    return (rng.integers(40, 180, (n, n), dtype="uint8"),)


def program(np, image):
    counts = np.bincount(image.ravel(), minlength=256)
    return equalized(np, image, counts)


def equalized(np, image, counts):
    running = np.cumsum(counts)
    table = (255 * running / running[-1]).astype(np.uint8)
    return table[image]


def stepwell(np, image):
    return equalized(np, image, np.bincount(image.ravel(), length=256))


def jax(np, image):
    return equalized(np, image, np.bincount(image.ravel(), length=256))


def torch(torch, image):
    counts = torch.bincount(image.ravel(), minlength=256)
    running = torch.cumsum(counts, 0)
    table = (255 * running / running[-1]).to(torch.uint8)
    return table[image.long()]


def numba(image):
    counts = np.zeros(256, np.int64)
    for value in image.ravel():
        counts[value] += 1
    running = np.cumsum(counts)
    table = (255 * running / running[-1]).astype(np.uint8)
    out = np.empty_like(image)
    for i in range(image.shape[0]):
        for j in range(image.shape[1]):
            out[i, j] = table[image[i, j]]
    return out
