"""An epidemic in many towns: the susceptible, the infected and the recovered, and the day of the peak."""

import numpy as np

SMALL = {"towns": 9}
DAYS = 160


def inputs(rng, towns=2000):
    return 0.2 + 0.3 * rng.random(towns), 0.05 + 0.1 * rng.random(towns)


def program(np, contact, recovery):
    s, i = 0.99 * np.ones_like(contact), 0.01 * np.ones_like(contact)
    infected = []
    for _ in range(DAYS):
        new = contact * s * i
        s, i = s - new, i + new - recovery * i
        infected.append(i)
    infected = np.stack(infected)
    return infected.max(axis=0), infected.argmax(axis=0)


def compiled(np, lax, contact, recovery):
    def day(state, _):
        s, i = state
        new = contact * s * i
        s, i = s - new, i + new - recovery * i
        return (s, i), i

    start = 0.99 * np.ones_like(contact), 0.01 * np.ones_like(contact)
    _, infected = lax.scan(day, start, None, length=DAYS)
    return infected.max(axis=0), infected.argmax(axis=0)


def torch(torch, contact, recovery):
    s, i = 0.99 * torch.ones_like(contact), 0.01 * torch.ones_like(contact)
    infected = []
    for _ in range(DAYS):
        new = contact * s * i
        s, i = s - new, i + new - recovery * i
        infected.append(i)
    infected = torch.stack(infected)
    return infected.amax(dim=0), infected.argmax(dim=0)


def numba(contact, recovery):
    peak = np.zeros(contact.size)
    when = np.zeros(contact.size, np.int64)
    for t in range(contact.size):
        s, i = 0.99, 0.01
        for day in range(DAYS):
            new = contact[t] * s * i
            s, i = s - new, i + new - recovery[t] * i
            if i > peak[t]:
                peak[t], when[t] = i, day
    return peak, when
