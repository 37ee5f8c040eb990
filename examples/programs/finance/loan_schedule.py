"""What is left of loans after every month, in closed form by powers."""

import numpy as np

SMALL = {"loans": 8, "months": 12}


def inputs(rng, loans=1000, months=360):
    return (
        rng.uniform(1e5, 5e5, loans),
        rng.uniform(0.001, 0.005, loans),
        np.arange(1, months + 1),
    )


def program(np, amount, rate, month):
    growth = (1 + rate)[:, None] ** month
    payment = amount * rate / (1 - (1 + rate) ** -float(month.shape[0]))
    left = amount[:, None] * growth - payment[:, None] * (growth - 1) / rate[:, None]
    return payment, left


def numba(amount, rate, month):
    payment = np.empty_like(amount)
    left = np.empty((amount.size, month.size))
    for i in range(amount.size):
        payment[i] = amount[i] * rate[i] / (1 - (1 + rate[i]) ** -month.size)
        growth = 1.0
        for m in range(month.size):
            growth *= 1 + rate[i]
            left[i, m] = amount[i] * growth - payment[i] * (growth - 1) / rate[i]
    return payment, left
