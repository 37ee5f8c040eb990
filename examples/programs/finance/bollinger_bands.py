"""Rolling means and deviations of a price: the bands that traders draw, and who leaves them."""

import numpy as np

SMALL = {"n": 100}
WINDOW = 20


def inputs(rng, n=500_000):
    return (100 + rng.normal(size=n).cumsum() / 10,)


def program(np, price):
    total = np.cumsum(price)
    square = np.cumsum(price**2)
    mean = (total[WINDOW:] - total[:-WINDOW]) / WINDOW
    variance = (square[WINDOW:] - square[:-WINDOW]) / WINDOW - mean**2
    width = 2 * np.sqrt(np.maximum(variance, 0.01))
    return mean, np.abs(price[WINDOW:] - mean) > width


def torch(torch, price):
    total = torch.cumsum(price, 0)
    square = torch.cumsum(price**2, 0)
    mean = (total[WINDOW:] - total[:-WINDOW]) / WINDOW
    variance = (square[WINDOW:] - square[:-WINDOW]) / WINDOW - mean**2
    width = 2 * torch.sqrt(torch.clamp(variance, min=0.01))
    return mean, torch.abs(price[WINDOW:] - mean) > width


def numba(price):
    n = price.size - WINDOW
    middle, outside = np.empty(n), np.empty(n, np.bool_)
    total, square = price[:WINDOW].sum(), (price[:WINDOW] ** 2).sum()
    for i in range(n):
        new, old = price[i + WINDOW], price[i]
        total += new - old
        square += new * new - old * old
        mean = total / WINDOW
        width = 2 * np.sqrt(max(square / WINDOW - mean * mean, 0.01))
        middle[i], outside[i] = mean, abs(new - mean) > width
    return middle, outside
