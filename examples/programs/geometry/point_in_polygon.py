"""Which points lie inside a polygon: how many edges a ray from each crosses."""

import numpy as np

SMALL = {"n": 40, "corners": 7}


def inputs(rng, n=20_000, corners=40):
    angle = np.sort(rng.uniform(0, 2 * np.pi, corners))
    radius = rng.uniform(0.3, 1, corners)
    corner = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    return rng.uniform(-1, 1, (n, 2)), corner


def program(np, points, corner):
    x, y = points[:, 0][:, None], points[:, 1][:, None]
    x1, y1 = corner[:, 0], corner[:, 1]
    x2, y2 = np.roll(x1, -1), np.roll(y1, -1)
    spans = (y1 > y) != (y2 > y)
    left = x < (x2 - x1) * (y - y1) / (y2 - y1) + x1
    return (spans & left).sum(axis=1) % 2 == 1


def numba(points, corner):
    out = np.zeros(points.shape[0], np.bool_)
    for i in range(points.shape[0]):
        x, y = points[i, 0], points[i, 1]
        j = corner.shape[0] - 1
        for k in range(corner.shape[0]):
            if (corner[k, 1] > y) != (corner[j, 1] > y):
                part = (y - corner[k, 1]) / (corner[j, 1] - corner[k, 1])
                if x < (corner[j, 0] - corner[k, 0]) * part + corner[k, 0]:
                    out[i] = not out[i]
            j = k
    return out
