"""The rows of a table of embeddings that tokens name."""

SMALL = {"words": 50, "tokens": 17}


def inputs(rng, words=10_000, tokens=4096):
    return rng.standard_normal((words, 256)).astype("float32"), rng.integers(0, words, tokens)


def program(np, table, tokens):
    return table[tokens]


def torch(torch, table, tokens):
    return torch.nn.functional.embedding(tokens, table)
