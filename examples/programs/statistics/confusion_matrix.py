"""How often each class was taken for each other, and the precision and recall of each."""

import numpy as np

SMALL = {"n": 300, "classes": 4}


def inputs(rng, n=200_000, classes=10):
    truth = rng.integers(0, classes, n)
    guess = np.where(rng.random(n) < 0.7, truth, rng.integers(0, classes, n))
    return truth, guess, np.arange(classes)


def program(np, truth, guess, names):
    is_truth = truth[:, None] == names
    is_guess = guess[:, None] == names
    matrix = is_truth.T.astype("float64") @ is_guess.astype("float64")
    right = np.diagonal(matrix)
    return matrix, right / matrix.sum(axis=0), right / matrix.sum(axis=1)


def torch(torch, truth, guess, names):
    n = names.shape[0]
    matrix = torch.bincount(truth * n + guess, minlength=n * n).reshape(n, n).double()
    right = torch.diagonal(matrix)
    return matrix, right / matrix.sum(dim=0), right / matrix.sum(dim=1)


def numba(truth, guess, names):
    matrix = np.zeros((names.size, names.size))
    for i in range(truth.size):
        matrix[truth[i], guess[i]] += 1
    right = np.diag(matrix)
    return matrix, right / matrix.sum(axis=0), right / matrix.sum(axis=1)
