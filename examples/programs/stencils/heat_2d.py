"""Heat that flows through a plate: explicit steps of the diffusion equation."""

SMALL = {"n": 16}
STEPS = 50


def inputs(rng, n=256):
    return (rng.random((n, n)),)


def program(np, u):
    u = np.array(u)
    for _ in range(STEPS):
        around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
        u[1:-1, 1:-1] = u[1:-1, 1:-1] + 0.2 * (around - 4 * u[1:-1, 1:-1])
    return u


def compiled(np, lax, u):
    def step(_, u):
        around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
        return u.at[1:-1, 1:-1].add(0.2 * (around - 4 * u[1:-1, 1:-1]))

    return lax.fori_loop(0, STEPS, step, u)


def torch(torch, u):
    u = u.clone()
    for _ in range(STEPS):
        around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
        u[1:-1, 1:-1] = u[1:-1, 1:-1] + 0.2 * (around - 4 * u[1:-1, 1:-1])
    return u


def numba(u):
    n, m = u.shape
    old, new = u.copy(), u.copy()
    for _ in range(STEPS):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                around = old[i - 1, j] + old[i + 1, j] + old[i, j - 1] + old[i, j + 1]
                new[i, j] = old[i, j] + 0.2 * (around - 4 * old[i, j])
        old, new = new, old
    return old
