"""Neurons that leak, fire and reset, coupled by random weights."""

SMALL = {"n": 20}
STEPS = 50


def inputs(rng, n=500):
    return (rng.normal(0.05, 0.1, (n, n)) / n).astype("float32"), rng.random(n, dtype="float32")


def step(np, weights, v, drive):
    fired = v > 1
    spikes = fired.astype(np.float32)
    v = np.where(fired, 0, v)
    return v + 0.1 * (drive * 2 - v) + weights @ spikes, spikes.sum()


def program(np, weights, drive):
    v, total = 0 * drive, np.float32(0)
    for _ in range(STEPS):
        v, count = step(np, weights, v, drive)
        total = total + count
    return v, total


def compiled(np, lax, weights, drive):
    def body(_, state):
        v, count = step(np, weights, state[0], drive)
        return v, state[1] + count

    return lax.fori_loop(0, STEPS, body, (0 * drive, np.float32(0)))


def torch(torch, weights, drive):
    v, total = 0 * drive, 0.0
    for _ in range(STEPS):
        fired = v > 1
        spikes = fired.float()
        v = torch.where(fired, 0, v)
        v = v + 0.1 * (drive * 2 - v) + weights @ spikes
        total = total + spikes.sum()
    return v, total
