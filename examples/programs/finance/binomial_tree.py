"""American puts on a binomial tree, walked back from the last day, for many strikes."""

import numpy as np

SMALL = {"strikes": 5, "days": 12}


def inputs(rng, strikes=100, days=200):
    return np.linspace(80, 120, strikes), 100 * 1.01 ** (np.arange(2 * days + 1.0) - days)


def program(np, strikes, prices):
    days = prices.shape[0] // 2
    value = np.maximum(strikes[:, None] - prices[::2], 0)
    for day in range(days, 0, -1):
        now = prices[days - day + 1 : days + day : 2]
        held = 0.9999 * (0.501 * value[:, 1:] + 0.499 * value[:, :-1])
        value = np.maximum(held, strikes[:, None] - now)
    return value[:, 0]


def compiled(np, lax, strikes, prices):
    days = prices.shape[0] // 2
    zero = np.zeros_like(strikes[:, None])

    def back(i, state):
        # Row j of day d stands at price days - d + 2 j; later columns are not looked at again.
        value, shifted = state
        up = np.concatenate([value[:, 1:], zero], axis=1)
        held = 0.9999 * (0.501 * up + 0.499 * value)
        return np.maximum(held, strikes[:, None] - shifted[::2]), np.roll(shifted, -1)

    start = np.maximum(strikes[:, None] - prices[::2], 0)
    return lax.fori_loop(0, days, back, (start, np.roll(prices, -1)))[0][:, 0]


def torch(torch, strikes, prices):
    days = prices.shape[0] // 2
    value = torch.clamp(strikes[:, None] - prices[::2], min=0)
    for day in range(days, 0, -1):
        now = prices[days - day + 1 : days + day : 2]
        held = 0.9999 * (0.501 * value[:, 1:] + 0.499 * value[:, :-1])
        value = torch.maximum(held, strikes[:, None] - now)
    return value[:, 0]


def numba(strikes, prices):
    days = prices.size // 2
    out = np.empty_like(strikes)
    for s in range(strikes.size):
        value = np.maximum(strikes[s] - prices[::2], 0.0)
        for day in range(days, 0, -1):
            for j in range(day):
                held = 0.9999 * (0.501 * value[j + 1] + 0.499 * value[j])
                value[j] = max(held, strikes[s] - prices[days - day + 1 + 2 * j])
        out[s] = value[0]
    return out
