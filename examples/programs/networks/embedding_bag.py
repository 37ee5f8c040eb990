"""The mean of the embeddings of the words of each sentence, padding left out."""

import numpy as np

SMALL = {"words": 20, "batch": 4, "length": 6, "width": 5}


def inputs(rng, words=20_000, batch=512, length=20, width=64):
    table = rng.normal(size=(words, width)).astype("float32")
    return table, rng.integers(0, words, (batch, length)), rng.integers(1, length + 1, batch)


def program(np, table, tokens, lengths):
    mask = np.arange(tokens.shape[1]) < lengths[:, None]
    rows = table[tokens] * mask[:, :, None].astype(np.float32)
    return rows.sum(axis=1) / lengths[:, None].astype(np.float32)


def torch(torch, table, tokens, lengths):
    mask = torch.arange(tokens.shape[1]) < lengths[:, None]
    return (table[tokens] * mask[:, :, None]).sum(dim=1) / lengths[:, None]


def numba(table, tokens, lengths):
    out = np.zeros((tokens.shape[0], table.shape[1]), np.float32)
    for b in range(tokens.shape[0]):
        for t in range(lengths[b]):
            for k in range(table.shape[1]):
                out[b, k] += table[tokens[b, t], k]
        out[b] /= np.float32(lengths[b])
    return out
