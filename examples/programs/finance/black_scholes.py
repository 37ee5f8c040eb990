"""The prices of European options by Black and Scholes, with the error function."""

import math

import numpy as np

SMALL = {"n": 101}


def inputs(rng, n=200_000):
    return rng.uniform(50, 150, n), rng.uniform(50, 150, n), rng.uniform(0.1, 2, n)


def price(np, erf, spot, strike, time):
    rate, volatility = 0.03, 0.2
    root = volatility * np.sqrt(time)
    d1 = (np.log(spot / strike) + (rate + volatility**2 / 2) * time) / root
    d2 = d1 - root
    discounted = strike * np.exp(-rate * time)
    call = spot * (1 + erf(d1 / 2**0.5)) / 2 - discounted * (1 + erf(d2 / 2**0.5)) / 2
    return call, call - spot + discounted


def program(np, spot, strike, time):
    return price(np, np.vectorize(math.erf), spot, strike, time)


def stepwell(np, spot, strike, time):
    return price(np, np.erf, spot, strike, time)


def jax(np, spot, strike, time):
    from jax.scipy.special import erf

    return price(np, erf, spot, strike, time)


def torch(torch, spot, strike, time):
    return price(torch, torch.erf, spot, strike, time)


def numba(spot, strike, time):
    calls, puts = np.empty_like(spot), np.empty_like(spot)
    for i in range(spot.size):
        root = 0.2 * np.sqrt(time[i])
        d1 = (np.log(spot[i] / strike[i]) + (0.03 + 0.02) * time[i]) / root
        discounted = strike[i] * np.exp(-0.03 * time[i])
        n1 = (1 + math.erf(d1 / np.sqrt(2))) / 2
        n2 = (1 + math.erf((d1 - root) / np.sqrt(2))) / 2
        calls[i] = spot[i] * n1 - discounted * n2
        puts[i] = calls[i] - spot[i] + discounted
    return calls, puts
