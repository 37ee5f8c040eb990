"""From planes of red, green and blue to pixels, with the order of the colours reversed."""

import numpy as np

SMALL = {"height": 17, "width": 23}


def inputs(rng, height=1080, width=1920):
    return (rng.integers(0, 256, (3, height, width), dtype="uint8"),)


def program(np, planes):
    return np.stack([planes[2], planes[1], planes[0]], axis=-1)


def torch(torch, planes):
    return torch.stack([planes[2], planes[1], planes[0]], dim=-1)


def numba(planes):
    _, height, width = planes.shape
    out = np.empty((height, width, 3), np.uint8)
    for i in range(height):
        for j in range(width):
            for c in range(3):
                out[i, j, c] = planes[2 - c, i, j]
    return out
