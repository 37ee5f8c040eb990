"""How alike the sentences of two lists are: cosines, and the most alike of each."""

SMALL = {"n": 9, "m": 14, "width": 10}


def inputs(rng, n=500, m=2000, width=128):
    return (
        rng.normal(size=(n, width)).astype("float32"),
        rng.normal(size=(m, width)).astype("float32"),
    )


def program(np, a, b):
    a = a / np.linalg.norm(a, axis=1, keepdims=True)
    b = b / np.linalg.norm(b, axis=1, keepdims=True)
    alike = a @ b.T
    return alike.argmax(axis=1), alike.max(axis=1)


def torch(torch, a, b):
    f = torch.nn.functional
    best = (f.normalize(a, dim=1) @ f.normalize(b, dim=1).T).max(dim=1)
    return best.indices, best.values
