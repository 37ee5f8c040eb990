"""The loss of a classifier and its gradient, from logits and labels, with a stable logarithm."""

import numpy as np

SMALL = {"n": 11, "classes": 8}


def inputs(rng, n=500, classes=1000):
    return 3 * rng.normal(size=(n, classes)).astype("float32"), rng.integers(0, classes, n)


def program(np, logits, label):
    n = logits.shape[0]
    shifted = logits - logits.max(axis=1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    loss = -log_p[np.arange(n), label].mean()
    return loss, np.exp(log_p) / n


def torch(torch, logits, label):
    loss = torch.nn.functional.cross_entropy(logits, label)
    return loss, torch.softmax(logits, dim=1) / logits.shape[0]


def numba(logits, label):
    n, classes = logits.shape
    out = np.empty_like(logits)
    loss = np.float32(0)
    for i in range(n):
        most = logits[i].max()
        total = np.float32(0)
        for c in range(classes):
            out[i, c] = np.exp(logits[i, c] - most)
            total += out[i, c]
        loss -= logits[i, label[i]] - most - np.log(total)
        for c in range(classes):
            out[i, c] /= total * np.float32(n)
    return loss / np.float32(n), out
