"""Fireflies that fall into step: coupled oscillators by Kuramoto."""

import numpy as np

SMALL = {"n": 13}
STEPS = 5


def inputs(rng, n=400):
    return 2 * np.pi * rng.random(n), rng.normal(size=n)


def step(np, phase, speed):
    pull = np.sin(phase[None, :] - phase[:, None]).mean(axis=1)
    return phase + 0.05 * (speed + 2.0 * pull)


def program(np, phase, speed):
    for _ in range(STEPS):
        phase = step(np, phase, speed)
    return phase, np.hypot(np.cos(phase).mean(), np.sin(phase).mean())


def compiled(np, lax, phase, speed):
    phase = lax.fori_loop(0, STEPS, lambda _, phase: step(np, phase, speed), phase)
    return phase, np.hypot(np.cos(phase).mean(), np.sin(phase).mean())


def numba(phase, speed):
    n = phase.size
    for _ in range(STEPS):
        new = np.empty_like(phase)
        for i in range(n):
            pull = 0.0
            for j in range(n):
                pull += np.sin(phase[j] - phase[i])
            new[i] = phase[i] + 0.05 * (speed[i] + 2.0 * pull / n)
        phase = new
    return phase, np.hypot(np.cos(phase).mean(), np.sin(phase).mean())
