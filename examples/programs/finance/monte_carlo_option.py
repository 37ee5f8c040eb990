"""An Asian option by Monte Carlo: paths from given normal numbers, their means, the payoff."""

import numpy as np

SMALL = {"paths": 40, "days": 12}


def inputs(rng, paths=5000, days=100):
    return (rng.normal(size=(paths, days)),)


def program(np, z):
    days = z.shape[1]
    step = 0.2 * (1 / days) ** 0.5
    growth = (0.03 - 0.02) / days + step * z
    path = 100 * np.exp(np.cumsum(growth, axis=1))
    payoff = np.maximum(path.mean(axis=1) - 100, 0)
    return np.exp(-0.03) * payoff.mean(), payoff.std() / z.shape[0] ** 0.5


def torch(torch, z):
    days = z.shape[1]
    growth = 0.01 / days + 0.2 * (1 / days) ** 0.5 * z
    path = 100 * torch.exp(torch.cumsum(growth, dim=1))
    payoff = torch.clamp(path.mean(dim=1) - 100, min=0)
    return np.exp(-0.03) * payoff.mean(), payoff.std(correction=0) / z.shape[0] ** 0.5


def numba(z):
    paths, days = z.shape
    step = 0.2 * np.sqrt(1 / days)
    total = square = 0.0
    for p in range(paths):
        log, mean = 0.0, 0.0
        for d in range(days):
            log += 0.01 / days + step * z[p, d]
            mean += 100 * np.exp(log)
        payoff = max(mean / days - 100, 0.0)
        total += payoff
        square += payoff * payoff
    mean = total / paths
    return np.exp(-0.03) * mean, np.sqrt(square / paths - mean**2) / np.sqrt(paths)
