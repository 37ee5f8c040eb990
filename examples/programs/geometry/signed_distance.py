"""A scene of circles and boxes, drawn by the distance to their smooth union."""

import numpy as np

SMALL = {"n": 16}


def inputs(rng, n=400, shapes=8):
    axis = np.linspace(0, 1, n, dtype="float32")
    return (
        axis,
        rng.random((shapes, 2), dtype="float32"),
        rng.uniform(0.05, 0.2, shapes).astype("float32"),
    )


def program(np, axis, centre, size):
    x, y = axis[None, :], axis[:, None]
    total = 0
    for k in range(centre.shape[0]):
        dx, dy = abs(x - centre[k, 0]), abs(y - centre[k, 1])
        circle = np.sqrt(dx * dx + dy * dy) - size[k]
        box = np.maximum(dx, dy) - 0.7 * size[k]
        total = total + np.exp(-20 * np.minimum(circle, box))
    distance = -np.log(total) / 20
    return np.clip(0.5 - 100 * distance, 0, 1)


def numba(axis, centre, size):
    n = axis.size
    f = np.float32
    out = np.empty((n, n), np.float32)
    for i in range(n):
        for j in range(n):
            total = f(0)
            for k in range(size.size):
                dx, dy = abs(axis[j] - centre[k, 0]), abs(axis[i] - centre[k, 1])
                circle = np.sqrt(dx * dx + dy * dy) - size[k]
                box = max(dx, dy) - f(0.7) * size[k]
                total += np.exp(f(-20) * min(circle, box))
            distance = -np.log(total) / f(20)
            out[i, j] = min(max(f(0.5) - f(100) * distance, f(0)), f(1))
    return out
