"""The mean, the variance, the skewness and the kurtosis of a sample."""

SMALL = {"n": 997}


def inputs(rng, n=1_000_000):
    return (rng.gamma(2.0, size=n),)


def program(np, x):
    mean = x.mean()
    d = x - mean
    variance = (d**2).mean()
    skewness = (d**3).mean() / variance**1.5
    kurtosis = (d**4).mean() / variance**2 - 3
    return mean, variance, skewness, kurtosis


def numba(x):
    mean = x.sum() / x.size
    s2 = s3 = s4 = 0.0
    for value in x:
        d = value - mean
        s2 += d * d
        s3 += d * d * d
        s4 += d * d * d * d
    variance = s2 / x.size
    return mean, variance, s3 / x.size / variance**1.5, s4 / x.size / variance**2 - 3
