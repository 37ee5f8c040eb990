"""Where a body is and how fast it moves, from noisy measurements: Kalman's filter."""

import numpy as np

SMALL = {"n": 20}


def inputs(rng, n=1000):
    t = np.arange(n) * 0.1
    return (np.sin(t) + 0.1 * rng.normal(size=n),)


def step(np, x, p, z):
    f = np.array([[1.0, 0.1], [0.0, 1.0]])
    x = f @ x
    p = f @ p @ f.T + 0.001 * np.eye(2)
    gain = p[:, 0] / (p[0, 0] + 0.01)
    x = x + gain * (z - x[0])
    return x, p - np.outer(gain, p[0])


def program(np, measured):
    x, p = np.zeros(2), np.eye(2)
    out = []
    for z in measured:
        x, p = step(np, x, p, z)
        out.append(x)
    return np.stack(out)


def compiled(np, lax, measured):
    def body(state, z):
        state = step(np, *state, z)
        return state, state[0]

    return lax.scan(body, (np.zeros(2), np.eye(2)), measured)[1]


def torch(torch, measured):
    f = torch.tensor([[1.0, 0.1], [0.0, 1.0]], dtype=measured.dtype)
    x, p = torch.zeros(2, dtype=f.dtype), torch.eye(2, dtype=f.dtype)
    out = []
    for z in measured:
        x, p = f @ x, f @ p @ f.T + 0.001 * torch.eye(2, dtype=f.dtype)
        gain = p[:, 0] / (p[0, 0] + 0.01)
        x, p = x + gain * (z - x[0]), p - torch.outer(gain, p[0])
        out.append(x)
    return torch.stack(out)


def numba(measured):
    out = np.empty((measured.size, 2))
    x, v, a, b, c, d = 0.0, 0.0, 1.0, 0.0, 0.0, 1.0
    for i in range(measured.size):
        x += 0.1 * v
        a, b, c = a + 0.1 * (b + c) + 0.01 * d + 0.001, b + 0.1 * d, c + 0.1 * d
        d += 0.001
        g, h = a / (a + 0.01), c / (a + 0.01)
        error = measured[i] - x
        x, v = x + g * error, v + h * error
        a, b, c, d = a - g * a, b - g * b, c - h * a, d - h * b
        out[i, 0], out[i, 1] = x, v
    return out
