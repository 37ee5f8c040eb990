"""The mean of the values of each group, by counting with weights."""

import numpy as np

SMALL = {"n": 1000, "groups": 7}


def inputs(rng, n=500_000, groups=100):
    return rng.integers(0, groups, n), rng.random(n), np.arange(groups)


def program(np, group, value, names):
    count = np.bincount(group, minlength=len(names))
    total = np.bincount(group, weights=value, minlength=len(names))
    return total / count


def stepwell(np, group, value, names):
    count = np.bincount(group, length=len(names))
    total = np.bincount(group, weights=value, length=len(names))
    return total / count


def jax(np, group, value, names):
    count = np.bincount(group, length=len(names))
    total = np.bincount(group, weights=value, length=len(names))
    return total / count


def numba(group, value, names):
    count = np.zeros(names.size)
    total = np.zeros(names.size)
    for i in range(group.size):
        count[group[i]] += 1
        total[group[i]] += value[i]
    return total / count
