"""A recurrent network over a sequence: tanh of the input and the last state."""

SMALL = {"time": 6, "batch": 3, "width": 8}


def inputs(rng, time=50, batch=32, width=128):
    x = rng.normal(size=(time, batch, width)).astype("float32")
    wx, wh = (0.1 * rng.normal(size=(2, width, width))).astype("float32")
    return x, wx, wh


def program(np, x, wx, wh):
    h = 0 * x[0]
    states = []
    for t in range(x.shape[0]):
        h = np.tanh(x[t] @ wx + h @ wh)
        states.append(h)
    return np.stack(states)


def compiled(np, lax, x, wx, wh):
    def step(h, now):
        h = np.tanh(now @ wx + h @ wh)
        return h, h

    return lax.scan(step, 0 * x[0], x)[1]
