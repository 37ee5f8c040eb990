"""A tone that rises, mixed with another one and enveloped: a synthesizer's elementwise arithmetic."""

import numpy as np

SMALL = {"n": 500}


def inputs(rng, n=441_000):
    return (np.arange(n) / 44_100,)


def program(np, t):
    chirp = np.sin(2 * np.pi * (220 * t + 40 * t**2))
    tone = 0.5 * np.cos(2 * np.pi * 330 * t)
    return np.tanh(chirp + tone) * np.exp(-t)


def numba(t):
    out = np.empty_like(t)
    for i in range(t.size):
        chirp = np.sin(2 * np.pi * (220 * t[i] + 40 * t[i] ** 2))
        tone = 0.5 * np.cos(2 * np.pi * 330 * t[i])
        out[i] = np.tanh(chirp + tone) * np.exp(-t[i])
    return out
