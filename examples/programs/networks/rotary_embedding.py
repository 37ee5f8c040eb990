"""Rotate pairs of features by angles that grow with the position (RoPE)."""

import numpy as np

SMALL = {"length": 8, "heads": 2, "width": 6}


def inputs(rng, length=512, heads=8, width=64):
    angle = np.outer(np.arange(length), 1e4 ** (-np.arange(width // 2) * 2 / width))
    x = rng.normal(size=(length, heads, width)).astype("float32")
    return x, np.cos(angle).astype("float32"), np.sin(angle).astype("float32")


def program(np, x, cos, sin):
    half = x.shape[-1] // 2
    a, b = x[..., :half], x[..., half:]
    cos, sin = cos[:, None, :], sin[:, None, :]
    return np.concatenate([a * cos - b * sin, a * sin + b * cos], axis=-1)


def numba(x, cos, sin):
    length, heads, width = x.shape
    half = width // 2
    out = np.empty_like(x)
    for t in range(length):
        for h in range(heads):
            for k in range(half):
                a, b = x[t, h, k], x[t, h, half + k]
                out[t, h, k] = a * cos[t, k] - b * sin[t, k]
                out[t, h, half + k] = a * sin[t, k] + b * cos[t, k]
    return out
