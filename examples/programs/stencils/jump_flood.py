"""The nearest of some seeds for each pixel (Voronoi's cells) by jump flooding."""

import numpy as np

SMALL = {"n": 16, "seeds": 4}


def inputs(rng, n=256, seeds=40):
    own = np.full((n, n, 2), -10_000, "int32")
    places = rng.integers(0, n, (seeds, 2))
    own[places[:, 0], places[:, 1]] = places
    return (own,)


def program(np, nearest):
    n = nearest.shape[0]
    y, x = np.arange(n).reshape(n, 1), np.arange(n).reshape(1, n)

    def distance(seed):
        return (seed[..., 0] - y) ** 2 + (seed[..., 1] - x) ** 2

    jump = n // 2
    while jump:
        for dy in (-jump, 0, jump):
            for dx in (-jump, 0, jump):
                other = np.roll(nearest, (dy, dx), axis=(0, 1))
                closer = distance(other) < distance(nearest)
                nearest = np.where(closer[..., None], other, nearest)
        jump //= 2
    return distance(nearest)


def torch(torch, nearest):
    n = nearest.shape[0]
    y, x = torch.arange(n).reshape(n, 1), torch.arange(n).reshape(1, n)

    def distance(seed):
        return (seed[..., 0] - y) ** 2 + (seed[..., 1] - x) ** 2

    jump = n // 2
    while jump:
        for dy in (-jump, 0, jump):
            for dx in (-jump, 0, jump):
                other = torch.roll(nearest, (dy, dx), dims=(0, 1))
                closer = distance(other) < distance(nearest)
                nearest = torch.where(closer[..., None], other, nearest)
        jump //= 2
    return distance(nearest)
