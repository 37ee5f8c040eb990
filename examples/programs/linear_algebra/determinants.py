"""The determinants and inverses of many 3 by 3 matrices, by cofactors."""

import numpy as np

SMALL = {"n": 10}


def inputs(rng, n=50_000):
    return (rng.normal(size=(n, 3, 3)) + 3 * np.eye(3),)


def program(np, m):
    a, b, c = m[:, 0], m[:, 1], m[:, 2]
    columns = [np.cross(b, c), np.cross(c, a), np.cross(a, b)]
    determinant = (a * columns[0]).sum(axis=1)
    return determinant, np.stack(columns, axis=2) / determinant[:, None, None]


def torch(torch, m):
    return torch.linalg.det(m), torch.linalg.inv(m)


def numba(m):
    n = m.shape[0]
    determinant = np.empty(n)
    inverse = np.empty_like(m)
    for t in range(n):
        for j in range(3):
            p, q = (j + 1) % 3, (j + 2) % 3
            for i in range(3):
                r, s = (i + 1) % 3, (i + 2) % 3
                inverse[t, i, j] = m[t, p, r] * m[t, q, s] - m[t, p, s] * m[t, q, r]
        d = m[t, 0, 0] * inverse[t, 0, 0] + m[t, 0, 1] * inverse[t, 1, 0]
        determinant[t] = d + m[t, 0, 2] * inverse[t, 2, 0]
        inverse[t] /= determinant[t]
    return determinant, inverse
