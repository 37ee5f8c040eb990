"""Lay one picture over another, by the opacity of each pixel."""

import numpy as np

SMALL = {"height": 14, "width": 25}


def inputs(rng, height=720, width=1280):
    return (
        rng.random((height, width, 4), dtype="float32"),
        rng.random((height, width, 3), dtype="float32"),
    )


def program(np, above, below):
    alpha = above[..., 3:]
    return alpha * above[..., :3] + (1 - alpha) * below


def numba(above, below):
    out = np.empty_like(below)
    for i in range(below.shape[0]):
        for j in range(below.shape[1]):
            alpha = above[i, j, 3]
            for c in range(3):
                out[i, j, c] = alpha * above[i, j, c] + (np.float32(1) - alpha) * below[i, j, c]
    return out
