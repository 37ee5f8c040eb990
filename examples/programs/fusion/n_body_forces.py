"""The gravitational acceleration of each body by all others, an array for each direction."""

SMALL = {"n": 23}


def inputs(rng, n=1000):
    return tuple((rng.random(n) + 0.5).astype("float32") for _ in range(4))


def program(np, x, y, z, mass):
    dx, dy, dz = (p[None, :] - p[:, None] for p in (x, y, z))
    square = dx * dx + dy * dy + dz * dz + 1e-3
    pull = mass[None, :] / (square * np.sqrt(square))
    return tuple((d * pull).sum(1) for d in (dx, dy, dz))
