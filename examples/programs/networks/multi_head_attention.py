"""Attention of eight heads with einsum, without a mask, and its projections."""

SMALL = {"batch": 2, "length": 5}
HEADS = 8


def inputs(rng, batch=4, length=128, width=256):
    x = rng.normal(size=(batch, length, width)).astype("float32")
    weights = [(rng.normal(size=(width, width)) / 16).astype("float32") for _ in range(4)]
    return (x, *weights)


def program(np, x, wq, wk, wv, wo):
    batch, length, width = x.shape
    q, k, v = (np.reshape(x @ w, (batch, length, HEADS, -1)) for w in (wq, wk, wv))
    score = np.einsum("bqhd,bkhd->bhqk", q, k) / (width // HEADS) ** 0.5
    e = np.exp(score - score.max(axis=-1, keepdims=True))
    weight = e / e.sum(axis=-1, keepdims=True)
    mixed = np.einsum("bhqk,bkhd->bqhd", weight, v)
    return mixed.reshape(batch, length, width) @ wo


def torch(torch, x, wq, wk, wv, wo):
    batch, length, width = x.shape
    q, k, v = ((x @ w).view(batch, length, HEADS, -1).transpose(1, 2) for w in (wq, wk, wv))
    mixed = torch.nn.functional.scaled_dot_product_attention(q, k, v)
    return mixed.transpose(1, 2).reshape(batch, length, width) @ wo
