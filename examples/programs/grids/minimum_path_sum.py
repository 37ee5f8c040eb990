"""The cheapest way from the top of a triangle of numbers to its base, for many triangles."""

SMALL = {"triangles": 4, "n": 9}


def inputs(rng, triangles=50, n=200):
    return (rng.integers(0, 100, (n, triangles, n)),)


def program(np, cost):
    best = cost[-1]
    for r in range(cost.shape[0] - 2, -1, -1):
        best = cost[r, :, : r + 1] + np.minimum(best[:, : r + 1], best[:, 1 : r + 2])
    return best[:, 0]


def compiled(np, lax, cost):
    def row(best, now):
        after = np.concatenate([best[:, 1:], best[:, -1:]], axis=1)
        return now + np.minimum(best, after), None

    return lax.scan(row, cost[-1], cost[:-1], reverse=True)[0][:, 0]


def numba(cost):
    n, triangles, _ = cost.shape
    best = cost[-1].copy()
    for r in range(n - 2, -1, -1):
        for t in range(triangles):
            for j in range(r + 1):
                best[t, j] = cost[r, t, j] + min(best[t, j], best[t, j + 1])
    return best[:, 0]
