"""The likelihood of returns by a GARCH model, for many parameters at once: a scan over days."""

import numpy as np

SMALL = {"days": 30, "parameters": 7}


def inputs(rng, days=1000, parameters=100):
    return 0.01 * rng.normal(size=days), rng.uniform(0.05, 0.15, parameters)


def day(np, variance, likelihood, ret, alpha):
    likelihood = likelihood - 0.5 * (np.log(variance) + ret * ret / variance)
    return 1e-6 + alpha * ret * ret + (0.98 - alpha) * variance, likelihood


def program(np, returns, alpha):
    variance, likelihood = 0 * alpha + 1e-4, 0 * alpha
    for ret in returns:
        variance, likelihood = day(np, variance, likelihood, ret, alpha)
    return likelihood


def compiled(np, lax, returns, alpha):
    def step(state, ret):
        return day(np, *state, ret, alpha), None

    return lax.scan(step, (0 * alpha + 1e-4, 0 * alpha), returns)[0][1]


def numba(returns, alpha):
    out = np.empty_like(alpha)
    for p in range(alpha.size):
        variance, likelihood = 1e-4, 0.0
        for ret in returns:
            likelihood -= 0.5 * (np.log(variance) + ret * ret / variance)
            variance = 1e-6 + alpha[p] * ret * ret + (0.98 - alpha[p]) * variance
        out[p] = likelihood
    return out
