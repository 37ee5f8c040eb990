"""A bilinear form for each of many pairs of vectors, with einsum."""

SMALL = {"n": 9, "width": 6}


def inputs(rng, n=5000, width=64):
    return (
        rng.normal(size=(n, width)),
        rng.normal(size=(width, width)),
        rng.normal(size=(n, width)),
    )


def program(np, x, m, y):
    return np.einsum("ni,ij,nj->n", x, m, y)


def numba(x, m, y):
    return ((x @ m) * y).sum(axis=1)
