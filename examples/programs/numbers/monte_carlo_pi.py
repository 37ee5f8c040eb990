"""Pi, from the share of random points that fall into a circle."""

SMALL = {"n": 500}


def inputs(rng, n=2_000_000):
    return rng.random(n), rng.random(n)


def program(np, x, y):
    return 4 * (x**2 + y**2 <= 1).mean()


def torch(torch, x, y):
    return 4 * (x**2 + y**2 <= 1).double().mean()


def numba(x, y):
    inside = 0
    for i in range(x.size):
        inside += x[i] ** 2 + y[i] ** 2 <= 1
    return 4 * inside / x.size
