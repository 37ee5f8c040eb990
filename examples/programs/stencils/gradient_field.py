"""The slope and the hillshade of a landscape, with np.gradient."""

import numpy as np

SMALL = {"n": 25}


def inputs(rng, n=1000):
    x = np.linspace(0, 20, n)
    return (np.sin(x)[:, None] * np.cos(0.7 * x)[None, :] + 0.01 * rng.random((n, n)),)


def program(np, height):
    dy, dx = np.gradient(height)
    slope = np.arctan(np.sqrt(dx * dx + dy * dy))
    shade = np.cos(slope) * 0.7 + np.sin(slope) * 0.7 * np.cos(np.arctan2(dy, dx) - 0.8)
    return np.clip(shade, 0, 1)


def torch(torch, height):
    dy, dx = torch.gradient(height)
    slope = torch.arctan(torch.sqrt(dx * dx + dy * dy))
    shade = torch.cos(slope) * 0.7 + torch.sin(slope) * 0.7 * torch.cos(torch.arctan2(dy, dx) - 0.8)
    return torch.clip(shade, 0, 1)


def numba(height):
    n, m = height.shape
    out = np.empty_like(height)
    for i in range(n):
        up, down = max(i - 1, 0), min(i + 1, n - 1)
        for j in range(m):
            left, right = max(j - 1, 0), min(j + 1, m - 1)
            dy = (height[down, j] - height[up, j]) / (down - up)
            dx = (height[i, right] - height[i, left]) / (right - left)
            slope = np.arctan(np.sqrt(dx * dx + dy * dy))
            shade = np.cos(np.arctan2(dy, dx) - 0.8) * np.sin(slope) * 0.7 + np.cos(slope) * 0.7
            out[i, j] = min(max(shade, 0.0), 1.0)
    return out
