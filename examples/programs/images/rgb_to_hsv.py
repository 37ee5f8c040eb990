"""From red, green and blue to hue, saturation and value."""

import numpy as np

SMALL = {"n": 700}


def inputs(rng, n=500_000):
    return (rng.random((3, n), dtype="float32"),)


def program(np, rgb):
    r, g, b = rgb
    value = np.maximum(np.maximum(r, g), b)
    chroma = value - np.minimum(np.minimum(r, g), b)
    safe = np.where(chroma == 0, 1, chroma)
    hue = np.where(
        value == r,
        (g - b) / safe % 6,
        np.where(value == g, (b - r) / safe + 2, (r - g) / safe + 4),
    )
    saturation = np.where(value == 0, 0, chroma / np.where(value == 0, 1, value))
    return hue / 6, saturation, value


def numba(rgb):
    n = rgb.shape[1]
    out = np.empty((3, n), np.float32)
    for i in range(n):
        r, g, b = rgb[0, i], rgb[1, i], rgb[2, i]
        value = max(r, g, b)
        chroma = value - min(r, g, b)
        if chroma == 0:
            hue = np.float32(0)
        elif value == r:
            hue = (g - b) / chroma % np.float32(6)
        elif value == g:
            hue = (b - r) / chroma + np.float32(2)
        else:
            hue = (r - g) / chroma + np.float32(4)
        out[0, i] = hue / np.float32(6)
        out[1, i] = chroma / value if value != 0 else np.float32(0)
        out[2, i] = value
    return out[0], out[1], out[2]
