"""Points on many cubic Bezier curves, and the lengths of the curves."""

import numpy as np

SMALL = {"curves": 5, "points": 11}


def inputs(rng, curves=2000, points=100):
    return rng.random((curves, 4, 2)), np.linspace(0, 1, points)


def program(np, control, t):
    s = 1 - t
    basis = np.stack([s**3, 3 * s**2 * t, 3 * s * t**2, t**3], -1)
    curve = np.einsum("tk,ckd->ctd", basis, control)
    moves = curve[:, 1:] - curve[:, :-1]
    return curve, np.sqrt((moves**2).sum(-1)).sum(-1)


def numba(control, t):
    curve = np.empty((control.shape[0], t.size, 2))
    length = np.zeros(control.shape[0])
    for c in range(control.shape[0]):
        for i in range(t.size):
            u, s = t[i], 1 - t[i]
            a, b, d, e = s * s * s, 3 * s * s * u, 3 * s * u * u, u * u * u
            for k in range(2):
                first = a * control[c, 0, k] + b * control[c, 1, k]
                curve[c, i, k] = first + d * control[c, 2, k] + e * control[c, 3, k]
            if i:
                dx, dy = curve[c, i, 0] - curve[c, i - 1, 0], curve[c, i, 1] - curve[c, i - 1, 1]
                length[c] += np.sqrt(dx * dx + dy * dy)
    return curve, length
