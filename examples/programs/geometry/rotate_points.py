"""Turn and shift a cloud of points, by a rotation matrix of three angles."""

import numpy as np

SMALL = {"n": 30}


def inputs(rng, n=200_000):
    return rng.normal(size=(n, 3)), np.array([0.3, -0.7, 1.1]), np.array([1.0, 2.0, 3.0])


def program(np, points, angles, shift):
    (a, b, c), (u, v, w) = np.cos(angles), np.sin(angles)
    one, zero = a * 0 + 1, a * 0
    x = np.stack([one, zero, zero, zero, a, -u, zero, u, a]).reshape(3, 3)
    y = np.stack([b, zero, v, zero, one, zero, -v, zero, b]).reshape(3, 3)
    z = np.stack([c, -w, zero, w, c, zero, zero, zero, one]).reshape(3, 3)
    return points @ (z @ y @ x).T + shift


def numba(points, angles, shift):
    (a, b, c), (u, v, w) = np.cos(angles), np.sin(angles)
    x = np.array([[1.0, 0, 0], [0, a, -u], [0, u, a]])
    y = np.array([[b, 0, v], [0, 1.0, 0], [-v, 0, b]])
    z = np.array([[c, -w, 0], [w, c, 0], [0, 0, 1.0]])
    m = z @ y @ x
    out = np.empty_like(points)
    for i in range(points.shape[0]):
        for j in range(3):
            total = shift[j]
            for k in range(3):
                total += points[i, k] * m[j, k]
            out[i, j] = total
    return out
