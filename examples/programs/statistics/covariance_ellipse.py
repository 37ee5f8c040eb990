"""The axes of the ellipse of a cloud of points: the eigenvalues of a 2 by 2 covariance, by hand."""

import numpy as np

SMALL = {"n": 101}


def inputs(rng, n=500_000):
    return rng.normal(size=n), rng.normal(size=n)


def program(np, x, y):
    dx, dy = x - np.mean(x), y - np.mean(y)
    a, b, c = np.mean(dx * dx), np.mean(dx * dy), np.mean(dy * dy)
    middle, spread = (a + c) / 2, np.sqrt(((a - c) / 2) ** 2 + b * b)
    angle = 0.5 * np.arctan2(2 * b, a - c)
    return middle + spread, middle - spread, angle


def numba(x, y):
    mx, my = x.sum() / x.size, y.sum() / y.size
    a = b = c = 0.0
    for i in range(x.size):
        dx, dy = x[i] - mx, y[i] - my
        a += dx * dx
        b += dx * dy
        c += dy * dy
    a, b, c = a / x.size, b / x.size, c / x.size
    middle, spread = (a + c) / 2, np.sqrt(((a - c) / 2) ** 2 + b * b)
    return middle + spread, middle - spread, 0.5 * np.arctan2(2 * b, a - c)
