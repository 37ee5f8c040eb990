"""Lloyd's algorithm: points to their nearest centre, centres to the mean of their points."""

import numpy as np

SMALL = {"n": 60, "k": 4}
STEPS = 5


def inputs(rng, n=10_000, k=10):
    points = rng.normal(size=(n, 2)) + 4 * rng.integers(-2, 3, (n, 2))
    return points, points[:k]


def step(np, points, centres):
    nearest = ((points[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2).argmin(axis=1)
    own = (nearest[:, None] == np.arange(centres.shape[0])).astype(points.dtype)
    return own.T @ points / own.sum(axis=0)[:, None]


def program(np, points, centres):
    for _ in range(STEPS):
        centres = step(np, points, centres)
    return centres


def compiled(np, lax, points, centres):
    return lax.fori_loop(0, STEPS, lambda _, centres: step(np, points, centres), centres)


def torch(torch, points, centres):
    for _ in range(STEPS):
        nearest = torch.cdist(points, centres).argmin(dim=1)
        sums = torch.zeros_like(centres).index_add_(0, nearest, points)
        centres = sums / torch.bincount(nearest, minlength=centres.shape[0])[:, None]
    return centres


def numba(points, centres):
    for _ in range(STEPS):
        sums = np.zeros_like(centres)
        count = np.zeros(centres.shape[0])
        for i in range(points.shape[0]):
            best, least = 0, np.inf
            for c in range(centres.shape[0]):
                d = (points[i, 0] - centres[c, 0]) ** 2 + (points[i, 1] - centres[c, 1]) ** 2
                if d < least:
                    best, least = c, d
            count[best] += 1
            sums[best] += points[i]
        centres = sums / count.reshape(-1, 1)
    return centres
