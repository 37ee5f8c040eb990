"""Recommend films: ratings as a product of two thin matrices, by gradient steps on known ones."""

SMALL = {"users": 12, "films": 15}
STEPS = 5


def inputs(rng, users=600, films=800, rank=16):
    known = (rng.random((users, films)) < 0.2).astype("float32")
    ratings = rng.integers(1, 6, (users, films)).astype("float32")
    u = (0.3 * rng.normal(size=(users, rank))).astype("float32")
    return ratings, known, u, (0.3 * rng.normal(size=(films, rank))).astype("float32")


def step(ratings, known, u, v):
    error = known * (u @ v.T - ratings)
    return u - 0.001 * (error @ v), v - 0.001 * (error.T @ u)


def program(np, ratings, known, u, v):
    for _ in range(STEPS):
        u, v = step(ratings, known, u, v)
    return u, v


def compiled(np, lax, ratings, known, u, v):
    return lax.fori_loop(0, STEPS, lambda _, uv: step(ratings, known, *uv), (u, v))
