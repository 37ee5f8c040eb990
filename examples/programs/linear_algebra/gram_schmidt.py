"""An orthonormal basis of the columns of a matrix, one after the other."""

import numpy as np

SMALL = {"n": 12, "columns": 4}


def inputs(rng, n=2000, columns=16):
    return (rng.normal(size=(n, columns)),)


def program(np, a):
    basis = []
    for j in range(a.shape[1]):
        v = a[:, j]
        for q in basis:
            v = v - (q @ v) * q
        basis.append(v / np.sqrt(v @ v))
    return np.stack(basis, 1)


def numba(a):
    q = a.T.copy()
    for j in range(q.shape[0]):
        for i in range(j):
            q[j] -= (q[i] @ q[j]) * q[i]
        q[j] /= np.sqrt(q[j] @ q[j])
    return q.T
