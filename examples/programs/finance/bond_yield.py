"""The yields of bonds from their prices, by Newton's method on the sum of discounted coupons."""

import numpy as np

SMALL = {"bonds": 9}
YEARS = 10


def inputs(rng, bonds=20_000):
    return rng.uniform(80, 120, bonds), rng.uniform(1, 8, bonds)


def program(np, price, coupon):
    rate = 0 * price + 0.05
    for _ in range(6):
        value, slope = 0 * price, 0 * price
        for year in range(1, YEARS + 1):
            paid = coupon + 100 if year == YEARS else coupon
            discount = (1 + rate) ** -year
            value = value + paid * discount
            slope = slope - year * paid * discount / (1 + rate)
        rate = rate - (value - price) / slope
    return rate


def numba(price, coupon):
    out = np.empty_like(price)
    for b in range(price.size):
        rate = 0.05
        for _ in range(6):
            value = slope = 0.0
            discount = 1.0
            for year in range(1, YEARS + 1):
                discount /= 1 + rate
                paid = coupon[b] + 100 * (year == YEARS)
                value += paid * discount
                slope -= year * paid * discount / (1 + rate)
            rate -= (value - price[b]) / slope
        out[b] = rate
    return out
