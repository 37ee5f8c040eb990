"""Random walks in the plane: how far they have come, step by step, by running sums."""

import numpy as np

SMALL = {"walks": 7, "steps": 50}


def inputs(rng, walks=500, steps=1000):
    return (rng.choice([-1.0, 1.0], (walks, steps, 2)),)


def program(np, moves):
    place = np.cumsum(moves, axis=1)
    return (place**2).sum(axis=-1).mean(axis=0)


def torch(torch, moves):
    return (torch.cumsum(moves, dim=1) ** 2).sum(dim=-1).mean(dim=0)


def numba(moves):
    walks, steps, _ = moves.shape
    out = np.zeros(steps)
    for w in range(walks):
        x = y = 0.0
        for s in range(steps):
            x += moves[w, s, 0]
            y += moves[w, s, 1]
            out[s] += x * x + y * y
    return out / walks
