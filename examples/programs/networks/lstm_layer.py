"""A layer of LSTM over a sequence, its four gates in one product."""

SMALL = {"time": 4, "batch": 3, "width": 8}


def inputs(rng, time=30, batch=16, width=64):
    x = rng.normal(size=(time, batch, width)).astype("float32")
    return x, (0.1 * rng.normal(size=(2 * width, 4 * width))).astype("float32")


def sigmoid(np, x):
    return 1 / (1 + np.exp(-x))


def step(np, w, h, c, x):
    gates = np.concatenate([x, h], axis=1) @ w
    i, f, o, g = np.split(gates, 4, axis=1)
    c = sigmoid(np, f) * c + sigmoid(np, i) * np.tanh(g)
    return sigmoid(np, o) * np.tanh(c), c


def program(np, x, w):
    h = c = 0 * x[0]
    out = []
    for t in range(x.shape[0]):
        h, c = step(np, w, h, c, x[t])
        out.append(h)
    return np.stack(out), c


def compiled(np, lax, x, w):
    def body(state, now):
        state = step(np, w, *state, now)
        return state, state[0]

    (_, c), out = lax.scan(body, (0 * x[0], 0 * x[0]), x)
    return out, c


def torch(torch, x, w):
    h = c = 0 * x[0]
    out = []
    for now in x:
        i, f, o, g = torch.chunk(torch.cat([now, h], dim=1) @ w, 4, dim=1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(c)
        out.append(h)
    return torch.stack(out), c
