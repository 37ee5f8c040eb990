"""Filter a signal by a short kernel, with np.convolve."""

import numpy as np

SMALL = {"n": 100, "taps": 7}


def inputs(rng, n=200_000, taps=33):
    return rng.normal(size=n).astype("float32"), (np.hamming(taps) / taps).astype("float32")


def program(np, signal, kernel):
    return np.convolve(signal, kernel, mode="valid")


def torch(torch, signal, kernel):
    return torch.conv1d(signal[None, None], kernel.flip(0)[None, None])[0, 0]


def numba(signal, kernel):
    taps = kernel.size
    out = np.empty(signal.size - taps + 1, np.float32)
    for i in range(out.size):
        total = np.float32(0)
        for k in range(taps):
            total += signal[i + k] * kernel[taps - 1 - k]
        out[i] = total
    return out
