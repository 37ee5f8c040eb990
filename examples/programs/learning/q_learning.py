"""The value of each state of a small world for the best actions: value iteration."""

import numpy as np

SMALL = {"states": 9, "actions": 3}
STEPS = 20


def inputs(rng, states=200, actions=4):
    chance = rng.random((actions, states, states)) ** 8
    return chance / chance.sum(axis=2, keepdims=True), rng.random((actions, states))


def step(np, chance, reward, value):
    return (reward + 0.95 * (chance @ value)).max(axis=0)


def program(np, chance, reward):
    value = 0 * reward[0]
    for _ in range(STEPS):
        value = step(np, chance, reward, value)
    return value, (reward + 0.95 * (chance @ value)).argmax(axis=0)


def compiled(np, lax, chance, reward):
    value = lax.fori_loop(0, STEPS, lambda _, value: step(np, chance, reward, value), 0 * reward[0])
    return value, (reward + 0.95 * (chance @ value)).argmax(axis=0)


def torch(torch, chance, reward):
    value = 0 * reward[0]
    for _ in range(STEPS):
        value = (reward + 0.95 * (chance @ value)).amax(dim=0)
    return value, (reward + 0.95 * (chance @ value)).argmax(dim=0)


def numba(chance, reward):
    actions, states = reward.shape
    value = np.zeros(states)
    best = np.zeros(states, np.int64)
    for _ in range(STEPS + 1):
        new = np.full(states, -np.inf)
        for a in range(actions):
            for s in range(states):
                total = 0.0
                for t in range(states):
                    total += chance[a, s, t] * value[t]
                total = reward[a, s] + 0.95 * total
                if total > new[s]:
                    new[s], best[s] = total, a
        old, value = value, new
    return old, best
