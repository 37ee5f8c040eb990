"""Layer normalization with a residual and GELU by tanh."""

import numpy as np

SMALL = {"rows": 9, "width": 20}


def inputs(rng, rows=1000, width=512):
    x = rng.normal(size=(2, rows, width)).astype("float32")
    return x[0], x[1], np.ones(width, "float32"), np.zeros(width, "float32")


def program(np, x, residual, scale, shift):
    x = x + residual
    mean = x.mean(axis=-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(axis=-1, keepdims=True)
    y = (x - mean) / np.sqrt(variance + 1e-5) * scale + shift
    return 0.5 * y * (1 + np.tanh((2 / np.pi) ** 0.5 * (y + 0.044715 * y**3)))


def torch(torch, x, residual, scale, shift):
    f = torch.nn.functional
    return f.gelu(f.layer_norm(x + residual, x.shape[-1:], scale, shift), approximate="tanh")


def numba(x, residual, scale, shift):
    out = np.empty_like(x)
    f = np.float32
    width = f(x.shape[1])
    for i in range(x.shape[0]):
        mean = f(0)
        for j in range(x.shape[1]):
            out[i, j] = x[i, j] + residual[i, j]
            mean += out[i, j]
        mean /= width
        variance = f(0)
        for j in range(x.shape[1]):
            variance += (out[i, j] - mean) ** 2
        factor = f(1) / np.sqrt(variance / width + f(1e-5))
        for j in range(x.shape[1]):
            y = (out[i, j] - mean) * factor * scale[j] + shift[j]
            inner = f(0.7978845608) * (y + f(0.044715) * y * y * y)
            out[i, j] = f(0.5) * y * (f(1) + np.tanh(inner))
    return out
