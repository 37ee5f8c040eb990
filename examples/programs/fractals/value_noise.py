"""Clouds: noise from a grid of random values, smoothed between them, in several octaves."""

import numpy as np

SMALL = {"n": 20}


def inputs(rng, n=512):
    return rng.random((64, 64), dtype="float32"), np.arange(n, dtype="float32") / n


def program(np, grid, at):
    total = 0
    for octave in range(3):
        x = at * 8 * 2**octave
        low = np.floor(x)
        part = x - low
        part = part * part * (3 - 2 * part)
        i = low.astype(np.int64) % 63
        rows = grid[i] * (1 - part)[:, None] + grid[i + 1] * part[:, None]
        total = total + (rows[:, i] * (1 - part) + rows[:, i + 1] * part) / 2**octave
    return total


def torch(torch, grid, at):
    total = 0
    for octave in range(3):
        x = at * 8 * 2**octave
        low = torch.floor(x)
        part = x - low
        part = part * part * (3 - 2 * part)
        i = low.long() % 63
        rows = grid[i] * (1 - part)[:, None] + grid[i + 1] * part[:, None]
        total = total + (rows[:, i] * (1 - part) + rows[:, i + 1] * part) / 2**octave
    return total


def numba(grid, at):
    n = at.size
    one = np.float32(1)
    out = np.zeros((n, n), np.float32)
    for octave in range(3):
        scale = np.float32(8 * 2**octave)
        weight = np.float32(0.5**octave)
        for a in range(n):
            i = int(at[a] * scale)
            p = at[a] * scale - np.float32(i)
            p = p * p * (np.float32(3) - np.float32(2) * p)
            i = i % 63
            for b in range(n):
                j = int(at[b] * scale)
                q = at[b] * scale - np.float32(j)
                q = q * q * (np.float32(3) - np.float32(2) * q)
                j = j % 63
                left = grid[i, j] * (one - p) + grid[i + 1, j] * p
                right = grid[i, j + 1] * (one - p) + grid[i + 1, j + 1] * p
                out[a, b] += (left * (one - q) + right * q) * weight
    return out
