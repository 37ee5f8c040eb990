"""Find the brightness that parts a picture into dark and bright (Otsu), and apply it."""

import numpy as np

SMALL = {"n": 50}


def inputs(rng, n=1000):
    dark = rng.random((n, n)) < 0.4
    return (np.where(dark, rng.normal(80, 20, (n, n)), rng.normal(170, 25, (n, n))).clip(0, 255),)


def program(np, image):
    counts, _ = np.histogram(image, bins=256, range=(0, 256))
    level = np.arange(256)
    below = np.cumsum(counts, 0)
    above = below[-1] - below
    sums = np.cumsum(counts * level, 0)
    mean_below = sums / np.maximum(below, 1)
    mean_above = (sums[-1] - sums) / np.maximum(above, 1)
    best = np.argmax(below * above * (mean_below - mean_above) ** 2)
    return best, image > best


def numba(image):
    counts = np.zeros(256)
    for value in image.ravel():
        counts[min(int(value), 255)] += 1
    total, sums = counts.sum(), (counts * np.arange(256)).sum()
    best, most, below, sum_below = 0, -1.0, 0.0, 0.0
    for level in range(256):
        below += counts[level]
        sum_below += counts[level] * level
        above = total - below
        difference = sum_below / max(below, 1.0) - (sums - sum_below) / max(above, 1.0)
        if below * above * difference**2 > most:
            best, most = level, below * above * difference**2
    return best, image > best
