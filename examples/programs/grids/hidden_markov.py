"""The likeliest states of a hidden Markov model (Viterbi's algorithm), with the way back."""

import numpy as np

SMALL = {"time": 10, "states": 4}


def inputs(rng, time=300, states=32):
    return np.log(rng.random((states, states))), np.log(rng.random((time, states)))


def program(np, move, seen):
    score = seen[0]
    came_from = []
    for t in range(1, seen.shape[0]):
        ways = score[:, None] + move
        came_from.append(ways.argmax(axis=0))
        score = ways.max(axis=0) + seen[t]
    state = score.argmax()
    path = [state]
    for before in came_from[::-1]:
        state = before[state]
        path.append(state)
    return np.stack(path[::-1]), score.max()


def compiled(np, lax, move, seen):
    def forward(score, now):
        ways = score[:, None] + move
        return ways.max(axis=0) + now, ways.argmax(axis=0)

    def back(state, before):
        return before[state], before[state]

    score, came_from = lax.scan(forward, seen[0], seen[1:])
    last = score.argmax()
    _, path = lax.scan(back, last, came_from, reverse=True)
    return np.concatenate([path, last[None]]), score.max()


def torch(torch, move, seen):
    score = seen[0]
    came_from = []
    for now in seen[1:]:
        ways = (score[:, None] + move).max(dim=0)
        came_from.append(ways.indices)
        score = ways.values + now
    state = score.argmax()
    path = [state]
    for before in came_from[::-1]:
        state = before[state]
        path.append(state)
    return torch.stack(path[::-1]), score.max()


def numba(move, seen):
    time, states = seen.shape
    score = seen[0].copy()
    came_from = np.empty((time, states), np.int64)
    for t in range(1, time):
        new = np.empty(states)
        for j in range(states):
            best, most = 0, -np.inf
            for i in range(states):
                if score[i] + move[i, j] > most:
                    best, most = i, score[i] + move[i, j]
            came_from[t, j], new[j] = best, most + seen[t, j]
        score = new
    path = np.empty(time, np.int64)
    path[-1] = score.argmax()
    for t in range(time - 1, 0, -1):
        path[t - 1] = came_from[t, path[t]]
    return path, score.max()
