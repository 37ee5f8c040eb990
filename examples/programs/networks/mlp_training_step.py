"""One step of training a network with one hidden layer: forward, backward by hand, update."""

SMALL = {"batch": 9, "hidden": 6}


def inputs(rng, batch=128, features=100, hidden=64):
    w1 = (0.1 * rng.normal(size=(features, hidden))).astype("float32")
    w2 = (0.1 * rng.normal(size=(hidden, 10))).astype("float32")
    return rng.random((batch, features), dtype="float32"), rng.integers(0, 10, batch), w1, w2


def program(np, x, label, w1, w2):
    h = np.tanh(x @ w1)
    logits = h @ w2
    e = np.exp(logits - logits.max(axis=1, keepdims=True))
    p = e / e.sum(axis=1, keepdims=True)
    target = (label[:, None] == np.arange(10)).astype(np.float32)
    loss = -(target * np.log(p)).sum(axis=1).mean()
    d = (p - target) / x.shape[0]
    dh = (d @ w2.T) * (1 - h**2)
    return loss, w1 - 0.1 * (x.T @ dh), w2 - 0.1 * (h.T @ d)


def torch(torch, x, label, w1, w2):
    w1, w2 = w1.clone().requires_grad_(), w2.clone().requires_grad_()
    loss = torch.nn.functional.cross_entropy(torch.tanh(x @ w1) @ w2, label)
    loss.backward()
    with torch.no_grad():
        return loss.detach(), w1 - 0.1 * w1.grad, w2 - 0.1 * w2.grad
