"""Many trajectories of Lorenz's attractor by Runge and Kutta's method of order four."""

import numpy as np

SMALL = {"n": 11}
STEPS = 100


def inputs(rng, n=5000):
    return (rng.normal(size=(3, n)),)


def slope(np, state):
    x, y, z = state
    return np.stack([10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z])


def step(np, s, h=0.005):
    k1 = slope(np, s)
    k2 = slope(np, s + h / 2 * k1)
    k3 = slope(np, s + h / 2 * k2)
    k4 = slope(np, s + h * k3)
    return s + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def program(np, state):
    for _ in range(STEPS):
        state = step(np, state)
    return state


def compiled(np, lax, state):
    return lax.fori_loop(0, STEPS, lambda _, state: step(np, state), state)


def numba(state):
    def slope(x, y, z):
        return 10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z

    h = 0.005
    out = np.empty_like(state)
    for i in range(state.shape[1]):
        x, y, z = state[0, i], state[1, i], state[2, i]
        for _ in range(STEPS):
            a1, b1, c1 = slope(x, y, z)
            a2, b2, c2 = slope(x + h / 2 * a1, y + h / 2 * b1, z + h / 2 * c1)
            a3, b3, c3 = slope(x + h / 2 * a2, y + h / 2 * b2, z + h / 2 * c2)
            a4, b4, c4 = slope(x + h * a3, y + h * b3, z + h * c3)
            x += h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
            y += h / 6 * (b1 + 2 * b2 + 2 * b3 + b4)
            z += h / 6 * (c1 + 2 * c2 + 2 * c3 + c4)
        out[0, i], out[1, i], out[2, i] = x, y, z
    return out
