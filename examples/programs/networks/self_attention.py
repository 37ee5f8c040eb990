"""Causal self-attention of one head, from queries, keys and values."""

SMALL = {"length": 13, "width": 8}


def inputs(rng, length=256, width=64):
    return tuple(rng.normal(size=(length, width)).astype("float32") for _ in range(3))


def program(np, q, k, v):
    n, width = q.shape
    score = q @ k.T / width**0.5
    score = np.where(np.tri(n, dtype=bool), score, -np.inf)
    e = np.exp(score - score.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True) @ v


def torch(torch, q, k, v):
    attend = torch.nn.functional.scaled_dot_product_attention
    return attend(q[None], k[None], v[None], is_causal=True)[0]
