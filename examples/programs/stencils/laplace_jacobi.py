"""The potential between the plates of a capacitor: Jacobi's steps until nothing changes much."""

import numpy as np

SMALL = {"n": 16}


def inputs(rng, n=128):
    u = np.zeros((n, n))
    u[0] = 1.0
    return (u,)


def program(np, u):
    change = 1.0
    while change > 1e-4:
        inner = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
        change = np.abs(inner - u[1:-1, 1:-1]).max()
        u = u.copy()
        u[1:-1, 1:-1] = inner
    return u


def compiled(np, lax, u):
    def step(state):
        u, _ = state
        inner = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
        change = np.abs(inner - u[1:-1, 1:-1]).max()
        return u.at[1:-1, 1:-1].set(inner), change

    return lax.while_loop(lambda state: state[1] > 1e-4, step, (u, np.asarray(1.0, u.dtype)))[0]


def torch(torch, u):
    change = 1.0
    while change > 1e-4:
        inner = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
        change = torch.abs(inner - u[1:-1, 1:-1]).max()
        u = u.clone()
        u[1:-1, 1:-1] = inner
    return u


def numba(u):
    n, m = u.shape
    old, new = u.copy(), u.copy()
    change = 1.0
    while change > 1e-4:
        change = 0.0
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                new[i, j] = 0.25 * (old[i - 1, j] + old[i + 1, j] + old[i, j - 1] + old[i, j + 1])
                change = max(change, abs(new[i, j] - old[i, j]))
        old, new = new, old
    return old
