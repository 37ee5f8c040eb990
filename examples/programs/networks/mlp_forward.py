"""A network of three layers with ReLU and softmax, as digits are classified with."""

import numpy as np

SMALL = {"batch": 7}


def inputs(rng, batch=256):
    def layer(rows, columns):
        return (rng.normal(size=(rows, columns)) / np.sqrt(rows)).astype("float32")

    x = rng.random((batch, 784), dtype="float32")
    return x, layer(784, 256), layer(256, 128), layer(128, 10)


def program(np, x, w1, w2, w3):
    h = np.maximum(x @ w1, 0)
    h = np.maximum(h @ w2, 0)
    logits = h @ w3
    e = np.exp(logits - logits.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def torch(torch, x, w1, w2, w3):
    h = torch.relu(x @ w1)
    h = torch.relu(h @ w2)
    return torch.softmax(h @ w3, dim=1)
