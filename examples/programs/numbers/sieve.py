"""Primes by the sieve of Eratosthenes, with slices that are crossed out."""

import numpy as np

SMALL = {"n": 100}


def inputs(rng, n=20_000):
    return (np.ones(n, bool),)


def program(np, prime):
    n = prime.shape[0]
    prime = np.array(prime)
    prime[:2] = False
    for i in range(2, int(n**0.5) + 1):
        prime[i * i :: i] = False
    return prime, prime.sum()


def compiled(np, lax, prime):
    n = prime.shape[0]
    number = np.arange(n)

    def cross_out(i, prime):
        return prime & ~((number % i == 0) & (number >= i * i))

    prime = lax.fori_loop(2, int(n**0.5) + 1, cross_out, prime & (number >= 2))
    return prime, prime.sum()


def torch(torch, prime):
    prime = prime.clone()
    prime[:2] = False
    for i in range(2, int(prime.shape[0] ** 0.5) + 1):
        prime[i * i :: i] = False
    return prime, prime.sum()


def numba(prime):
    prime = prime.copy()
    prime[:2] = False
    for i in range(2, int(prime.size**0.5) + 1):
        for k in range(i * i, prime.size, i):
            prime[k] = False
    return prime, prime.sum()
