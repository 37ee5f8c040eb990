"""Pendulums with many amplitudes by Verlet's velocity scheme, and their energies."""

import numpy as np

SMALL = {"n": 10}
STEPS = 100


def inputs(rng, n=2000):
    return np.linspace(0.1, 3.0, n), np.zeros(n)


def step(np, angle, speed, h=0.01):
    half = speed - h / 2 * np.sin(angle)
    angle = angle + h * half
    return angle, half - h / 2 * np.sin(angle)


def program(np, angle, speed):
    for _ in range(STEPS):
        angle, speed = step(np, angle, speed)
    return angle, 0.5 * speed**2 + 1 - np.cos(angle)


def compiled(np, lax, angle, speed):
    angle, speed = lax.fori_loop(0, STEPS, lambda _, s: step(np, *s), (angle, speed))
    return angle, 0.5 * speed**2 + 1 - np.cos(angle)


def numba(angle, speed):
    angle, speed, h = angle.copy(), speed.copy(), 0.01
    for i in range(angle.size):
        a, s = angle[i], speed[i]
        for _ in range(STEPS):
            s -= h / 2 * np.sin(a)
            a += h * s
            s -= h / 2 * np.sin(a)
        angle[i], speed[i] = a, s
    return angle, 0.5 * speed**2 + 1 - np.cos(angle)
