"""The price of a call option, its delta and its vega, with a logistic approximation of the normal distribution."""

SMALL = {"n": 101}


def inputs(rng, n=200_000):
    return tuple((rng.random(n) + 0.5).astype("float32") for _ in range(5))


def program(np, spot, strike, time, rate, volatility):
    def normal(d):
        return 1 / (1 + np.exp(-1.5976 * d - 0.07056 * d * d * d))

    root = np.sqrt(time)
    d1 = (np.log(spot / strike) + (rate + volatility * volatility * 0.5) * time) / (
        volatility * root
    )
    d2 = d1 - volatility * root
    delta = normal(d1)
    price = spot * delta - strike * np.exp(-rate * time) * normal(d2)
    return price, delta, spot * root * 0.39894228 * np.exp(-0.5 * d1 * d1)
