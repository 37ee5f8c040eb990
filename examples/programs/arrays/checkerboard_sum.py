"""Sum the black and the white squares of a board apart."""

import numpy as np

SMALL = {"n": 34}


def inputs(rng, n=2000):
    return (rng.random((n, n), dtype="float32"),)


def program(np, board):
    black = board[::2, ::2].sum() + board[1::2, 1::2].sum()
    white = board[::2, 1::2].sum() + board[1::2, ::2].sum()
    return black, white


def numba(board):
    black = np.float32(0)
    white = np.float32(0)
    for i in range(board.shape[0]):
        for j in range(board.shape[1]):
            if (i + j) % 2 == 0:
                black += board[i, j]
            else:
                white += board[i, j]
    return black, white
