"""The edit distances of a word to many others of its length, by rows of the table."""

import numpy as np

SMALL = {"words": 5, "length": 6}


def inputs(rng, words=2000, length=20):
    return rng.integers(0, 4, length), rng.integers(0, 4, (words, length))


def row(np, above, letter, words):
    changed = (words != letter).astype(words.dtype)
    best = np.minimum(above[:, 1:] + 1, above[:, :-1] + changed)
    best = np.concatenate([above[:, :1] + 1, best], axis=1)
    place = np.arange(best.shape[1])
    return place, best - place


def program(np, word, words):
    table = np.zeros_like(words[:, :1]) + np.arange(words.shape[1] + 1)
    for letter in word:
        place, best = row(np, table, letter, words)
        table = np.minimum.accumulate(best, axis=1) + place
    return table[:, -1]


def stepwell(np, word, words):
    def step(table, letter):
        place, best = row(np, table, letter, words)
        return np.cummin(best, axis=1) + place, None

    table = np.zeros_like(words[:, :1]) + np.arange(words.shape[1] + 1)
    return np.scan(step, table, word)[0][:, -1]


def jax(np, word, words):
    from jax import lax

    def step(table, letter):
        place, best = row(np, table, letter, words)
        return lax.cummin(best, axis=1) + place, None

    table = np.zeros_like(words[:, :1]) + np.arange(words.shape[1] + 1)
    return lax.scan(step, table, word)[0][:, -1]


def torch(torch, word, words):
    table = torch.zeros_like(words[:, :1]) + torch.arange(words.shape[1] + 1)
    for letter in word:
        changed = (words != letter).long()
        best = torch.minimum(table[:, 1:] + 1, table[:, :-1] + changed)
        best = torch.cat([table[:, :1] + 1, best], dim=1)
        place = torch.arange(best.shape[1])
        table = torch.cummin(best - place, dim=1).values + place
    return table[:, -1]


def numba(word, words):
    count, length = words.shape
    out = np.empty(count, np.int64)
    for w in range(count):
        above = np.arange(length + 1)
        for i in range(word.size):
            corner, above[0] = above[0], above[0] + 1
            for j in range(length):
                best = min(above[j + 1] + 1, above[j] + 1)
                best = min(best, corner + (words[w, j] != word[i]))
                corner, above[j + 1] = above[j + 1], best
        out[w] = above[length]
    return out
