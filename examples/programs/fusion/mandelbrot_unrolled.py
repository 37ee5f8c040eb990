"""Twenty steps of Mandelbrot's iteration on a grid, in a Python loop that tracing unrolls."""

SMALL = {"n": 17}


def inputs(rng, n=512):
    return tuple(rng.standard_normal((n, n)).astype("float32") for _ in range(2))


def program(np, re, im):
    x, y, count = re * 0, re * 0, re * 0
    for _ in range(20):
        xx, yy = x * x, y * y
        inside = xx + yy <= 4
        count = np.where(inside, count + 1, count)
        x, y = np.where(inside, xx - yy + re, x), np.where(inside, 2 * x * y + im, y)
    return count
