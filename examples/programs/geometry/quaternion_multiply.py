"""The products of many pairs of quaternions, and vectors turned by them."""

import numpy as np

SMALL = {"n": 25}


def inputs(rng, n=200_000):
    return rng.normal(size=(n, 4)).astype("float32"), rng.normal(size=(n, 4)).astype("float32")


def program(np, p, q):
    a, b, c, d = p[:, 0], p[:, 1], p[:, 2], p[:, 3]
    e, f, g, h = q[:, 0], q[:, 1], q[:, 2], q[:, 3]
    product = np.stack(
        [
            a * e - b * f - c * g - d * h,
            a * f + b * e + c * h - d * g,
            a * g - b * h + c * e + d * f,
            a * h + b * g - c * f + d * e,
        ],
        -1,
    )
    return product / np.sqrt((product**2).sum(-1))[:, None]


def numba(p, q):
    out = np.empty_like(p)
    for i in range(p.shape[0]):
        a, b, c, d = p[i, 0], p[i, 1], p[i, 2], p[i, 3]
        e, f, g, h = q[i, 0], q[i, 1], q[i, 2], q[i, 3]
        w = a * e - b * f - c * g - d * h
        x = a * f + b * e + c * h - d * g
        y = a * g - b * h + c * e + d * f
        z = a * h + b * g - c * f + d * e
        length = np.sqrt(w * w + x * x + y * y + z * z)
        out[i, 0], out[i, 1], out[i, 2], out[i, 3] = w / length, x / length, y / length, z / length
    return out
