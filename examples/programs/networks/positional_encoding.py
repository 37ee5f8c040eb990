"""The sines and cosines that tell a transformer where a word stands, added to embeddings."""

SMALL = {"length": 9, "width": 8}


def inputs(rng, length=1024, width=512):
    return (rng.normal(size=(length, width)).astype("float32"),)


def program(np, x):
    length, width = x.shape
    rate = 1 / 10_000 ** (np.arange(0, width, 2, dtype=np.float32) / width)
    angle = np.arange(length, dtype=np.float32)[:, None] * rate
    return x + np.stack([np.sin(angle), np.cos(angle)], axis=-1).reshape(length, width)


def torch(torch, x):
    length, width = x.shape
    rate = 1 / 10_000 ** (torch.arange(0, width, 2) / width)
    angle = torch.arange(length)[:, None] * rate
    return x + torch.stack([torch.sin(angle), torch.cos(angle)], dim=-1).reshape(length, width)
