"""The best value of each weight that a bag may have, item by item."""

import numpy as np

SMALL = {"items": 6, "capacity": 30}


def inputs(rng, items=100, capacity=5000):
    return rng.integers(1, 30, items), rng.random(items), np.zeros(capacity + 1)


def program(np, weight, value, best):
    for w, v in zip(weight, value, strict=True):
        with_item = np.full_like(best, -np.inf)
        with_item[w:] = best[: best.shape[0] - w] + v
        best = np.maximum(best, with_item)
    return best


def compiled(np, lax, weight, value, best):
    place = np.arange(best.shape[0])

    def item(best, pair):
        w, v = pair
        before = place - w
        taken = np.where(before >= 0, best[np.maximum(before, 0)] + v, -np.inf)
        return np.maximum(best, taken), None

    return lax.scan(item, best, (weight, value))[0]


def torch(torch, weight, value, best):
    for w, v in zip(weight.tolist(), value, strict=True):
        best = torch.cat([best[:w], torch.maximum(best[w:], best[:-w] + v)])
    return best


def numba(weight, value, best):
    best = best.copy()
    for i in range(weight.size):
        for c in range(best.size - 1, weight[i] - 1, -1):
            best[c] = max(best[c], best[c - weight[i]] + value[i])
    return best
