"""The importance of pages that link to each other, by power iteration."""

import numpy as np

SMALL = {"n": 20}
STEPS = 20


def inputs(rng, n=1000):
    links = (rng.random((n, n)) < 0.02).astype("float64")
    links[:, links.sum(axis=0) == 0] = 1
    return (links,)


def step(m, rank):
    return 0.85 * (m @ rank) + 0.15 / rank.shape[0]


def program(np, links):
    m = links / links.sum(axis=0)
    rank = np.ones_like(links[0]) / links.shape[0]
    for _ in range(STEPS):
        rank = step(m, rank)
    return rank


def compiled(np, lax, links):
    m = links / links.sum(axis=0)
    rank = np.ones_like(links[0]) / links.shape[0]
    return lax.fori_loop(0, STEPS, lambda _, rank: step(m, rank), rank)


def numba(links):
    m = links / links.sum(axis=0)
    rank = np.ones(m.shape[0]) / m.shape[0]
    for _ in range(STEPS):
        rank = 0.85 * (m @ rank) + 0.15 / rank.size
    return rank
