"""Listen in one direction with many microphones: shift each track and take the mean."""

import numpy as np

SMALL = {"microphones": 4, "n": 120}


def inputs(rng, microphones=16, n=100_000):
    return (rng.normal(size=(microphones, n)).astype("float32"),)


def program(np, tracks):
    shifted = [np.roll(track, 3 * m) for m, track in enumerate(tracks)]
    return np.mean(np.stack(shifted), axis=0)


def torch(torch, tracks):
    shifted = [torch.roll(track, 3 * m) for m, track in enumerate(tracks)]
    return torch.mean(torch.stack(shifted), dim=0)


def numba(tracks):
    count, n = tracks.shape
    out = np.zeros(n, np.float32)
    for m in range(count):
        for i in range(n):
            out[(i + 3 * m) % n] += tracks[m, i]
    return out / np.float32(count)
