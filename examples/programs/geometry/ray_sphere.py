"""Where the rays of a camera first hit some spheres, and how bright they are there."""

import numpy as np

SMALL = {"n": 10, "spheres": 3}


def inputs(rng, n=200, spheres=10):
    x, y = np.meshgrid(np.linspace(-1, 1, n), np.linspace(-1, 1, n))
    rays = np.stack([x, y, np.full_like(x, 1.5)], axis=-1).reshape(-1, 3)
    centres = rng.uniform(-2, 2, (spheres, 3)) + np.array([0, 0, 6])
    return rays / np.linalg.norm(rays, axis=1, keepdims=True), centres, rng.uniform(0.3, 1, spheres)


def program(np, rays, centres, radius):
    along = rays @ centres.T
    inside = along**2 - (centres**2).sum(axis=1) + radius**2
    distance = np.where(inside > 0, along - np.sqrt(np.where(inside > 0, inside, 0)), np.inf)
    first = distance.argmin(axis=1)
    nearest = distance.min(axis=1)
    hit = np.isfinite(nearest)
    place = rays * np.where(hit, nearest, 0)[:, None]
    normal = (place - centres[first]) / radius[first][:, None]
    light = np.maximum(normal @ np.array([0.6, -0.6, -0.5]), 0)
    return np.where(hit, 0.1 + 0.9 * light, 0)


def torch(torch, rays, centres, radius):
    along = rays @ centres.T
    inside = along**2 - (centres**2).sum(dim=1) + radius**2
    distance = torch.where(inside > 0, along - torch.sqrt(torch.clamp(inside, min=0)), torch.inf)
    nearest, first = distance.min(dim=1)
    hit = torch.isfinite(nearest)
    place = rays * torch.where(hit, nearest, 0)[:, None]
    normal = (place - centres[first]) / radius[first][:, None]
    light = torch.clamp(normal @ torch.tensor([0.6, -0.6, -0.5], dtype=rays.dtype), min=0)
    return torch.where(hit, 0.1 + 0.9 * light, 0)


def numba(rays, centres, radius):
    out = np.zeros(rays.shape[0])
    for i in range(rays.shape[0]):
        nearest, first = np.inf, -1
        for s in range(radius.size):
            along = square = 0.0
            for k in range(3):
                along += rays[i, k] * centres[s, k]
                square += centres[s, k] ** 2
            inside = along * along - square + radius[s] ** 2
            if inside > 0 and along - np.sqrt(inside) < nearest:
                nearest, first = along - np.sqrt(inside), s
        if first >= 0:
            n = (rays[i] * nearest - centres[first]) / radius[first]
            out[i] = 0.1 + 0.9 * max(0.6 * n[0] - 0.6 * n[1] - 0.5 * n[2], 0.0)
    return out
