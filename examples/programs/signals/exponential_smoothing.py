"""Smooth series by an average that forgets: a loop over time, for many series at once."""

SMALL = {"time": 21, "series": 9}
ALPHA = 0.3


def inputs(rng, time=500, series=1000):
    return (rng.normal(size=(time, series)),)


def program(np, x):
    level = x[0]
    out = [level]
    for t in range(1, x.shape[0]):
        level = ALPHA * x[t] + (1 - ALPHA) * level
        out.append(level)
    return np.stack(out)


def compiled(np, lax, x):
    def step(level, now):
        level = ALPHA * now + (1 - ALPHA) * level
        return level, level

    _, out = lax.scan(step, x[0], x[1:])
    return np.concatenate([x[:1], out])


def numba(x):
    out = x.copy()
    for t in range(1, x.shape[0]):
        for s in range(x.shape[1]):
            out[t, s] = ALPHA * x[t, s] + (1 - ALPHA) * out[t - 1, s]
    return out
