"""A flock of birds: each steers by the places and velocities of those near to it."""

import numpy as np

SMALL = {"n": 21}


def inputs(rng, n=800):
    return 10 * rng.random((n, 2), dtype="float32"), rng.normal(size=(n, 2)).astype("float32")


def program(np, place, velocity):
    d = place[None] - place[:, None]
    r2 = np.sum(d * d, axis=-1)
    near = (r2 < 1).astype(np.float32)
    count = near.sum(axis=1)[:, None]
    to_centre = near @ place / count - place
    to_others = near @ velocity / count - velocity
    too_near = ((r2 < 0.04).astype(np.float32)[..., None] * d).sum(axis=1)
    velocity = velocity + 0.01 * to_centre + 0.05 * to_others - 0.1 * too_near
    speed = np.linalg.norm(velocity, axis=1, keepdims=True)
    velocity = velocity * np.minimum(1, 2 / speed)
    return place + 0.1 * velocity, velocity


def torch(torch, place, velocity):
    d = place[None] - place[:, None]
    r2 = torch.sum(d * d, dim=-1)
    near = (r2 < 1).float()
    count = near.sum(dim=1)[:, None]
    to_centre = near @ place / count - place
    to_others = near @ velocity / count - velocity
    too_near = ((r2 < 0.04).float()[..., None] * d).sum(dim=1)
    velocity = velocity + 0.01 * to_centre + 0.05 * to_others - 0.1 * too_near
    speed = torch.linalg.norm(velocity, dim=1, keepdim=True)
    velocity = velocity * torch.clamp(2 / speed, max=1)
    return place + 0.1 * velocity, velocity


def numba(place, velocity):
    n = place.shape[0]
    f = np.float32
    new_place, new = np.empty_like(place), np.empty_like(velocity)
    for i in range(n):
        px = py = vx = vy = sx = sy = count = f(0)
        for j in range(n):
            dx, dy = place[j, 0] - place[i, 0], place[j, 1] - place[i, 1]
            r2 = dx * dx + dy * dy
            if r2 < f(1):
                count += f(1)
                px += place[j, 0]
                py += place[j, 1]
                vx += velocity[j, 0]
                vy += velocity[j, 1]
            if r2 < f(0.04):
                sx += dx
                sy += dy
        ux, uy = velocity[i, 0], velocity[i, 1]
        ux += f(0.01) * (px / count - place[i, 0]) + f(0.05) * (vx / count - ux) - f(0.1) * sx
        uy += f(0.01) * (py / count - place[i, 1]) + f(0.05) * (vy / count - uy) - f(0.1) * sy
        slow = min(f(1), f(2) / np.sqrt(ux * ux + uy * uy))
        new[i, 0], new[i, 1] = ux * slow, uy * slow
        new_place[i, 0] = place[i, 0] + f(0.1) * new[i, 0]
        new_place[i, 1] = place[i, 1] + f(0.1) * new[i, 1]
    return new_place, new
