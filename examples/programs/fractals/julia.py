"""Julia's set of one constant, coloured smoothly by logarithms."""

import numpy as np

RTOL = 0.001  # points at the edge of the set escape a step later when products round otherwise
SMALL = {"n": 14}


def inputs(rng, n=400):
    x, y = np.meshgrid(np.linspace(-1.5, 1.5, n), np.linspace(-1.5, 1.5, n))
    return x.astype("float32"), y.astype("float32")


def program(np, x, y):
    count = np.zeros_like(x)
    for _ in range(30):
        inside = x * x + y * y < 100
        count = count + inside.astype(np.float32)
        x, y = np.where(inside, x * x - y * y - 0.8, x), np.where(inside, 2 * x * y + 0.156, y)
    return count - np.log2(np.maximum(np.log(x * x + y * y + 1), 1e-3))


def torch(torch, x, y):
    count = torch.zeros_like(x)
    for _ in range(30):
        inside = x * x + y * y < 100
        count = count + inside
        x, y = (
            torch.where(inside, x * x - y * y - 0.8, x),
            torch.where(inside, 2 * x * y + 0.156, y),
        )
    return count - torch.log2(torch.clamp(torch.log(x * x + y * y + 1), min=1e-3))


def numba(x, y):
    f = np.float32
    out = np.empty_like(x)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            a, b, count = x[i, j], y[i, j], f(0)
            for _ in range(30):
                if a * a + b * b >= f(100):
                    break
                a, b = a * a - b * b - f(0.8), f(2) * a * b + f(0.156)
                count += f(1)
            out[i, j] = count - np.log2(max(np.log(a * a + b * b + f(1)), f(1e-3)))
    return out
