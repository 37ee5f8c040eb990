"""One step of gravity among bodies: accelerations by all pairs, then velocities and places."""

import numpy as np

SMALL = {"n": 23}


def inputs(rng, n=1000):
    return rng.normal(size=(n, 3)), 0.1 * rng.normal(size=(n, 3)), rng.random(n)


def program(np, place, velocity, mass):
    d = place[None, :, :] - place[:, None, :]
    r2 = (d**2).sum(axis=-1) + 0.01
    acceleration = (d * (mass[None, :] / r2**1.5)[:, :, None]).sum(axis=1)
    velocity = velocity + 0.01 * acceleration
    return place + 0.01 * velocity, velocity


def numba(place, velocity, mass):
    n = place.shape[0]
    speed = velocity.copy()
    for i in range(n):
        ax = ay = az = 0.0
        for j in range(n):
            dx = place[j, 0] - place[i, 0]
            dy = place[j, 1] - place[i, 1]
            dz = place[j, 2] - place[i, 2]
            r2 = dx * dx + dy * dy + dz * dz + 0.01
            pull = mass[j] / (r2 * np.sqrt(r2))
            ax += dx * pull
            ay += dy * pull
            az += dz * pull
        speed[i, 0] += 0.01 * ax
        speed[i, 1] += 0.01 * ay
        speed[i, 2] += 0.01 * az
    return place + 0.01 * speed, speed
