"""The squared distance of each point to each of many others, in 64 dimensions."""

SMALL = {"n": 17, "m": 25}
RTOL = 1e-4  # PyTorch's are differences of products


def inputs(rng, n=1000, m=1000):
    return tuple(rng.standard_normal((k, 64)).astype("float32") for k in (n, m))


def program(np, x, y):
    return ((x[:, None] - y[None]) ** 2).sum(-1)


def torch(torch, x, y):
    return torch.cdist(x, y, compute_mode="use_mm_for_euclid_dist") ** 2
