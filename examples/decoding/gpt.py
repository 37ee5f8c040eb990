"""
A decoder of GPT-2's form as Python functions: one step for one token, and a loop of steps as one program.

Keys and values lie in buffers of a fixed length, and a position says how many tokens are in them: every step has the same
shapes, so that no token compiles anything, and each step writes its keys and values where they belong, in place. Weights
are drawn from a seed, so that the text says nothing. (Radford et al., "Language Models are Unsupervised Multitask
Learners", 2019.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import stepwell as sw

F32 = np.float32
EPSILON = 1e-5
OUT_OF_SIGHT = F32(-1e9)
"""What is added to the scores of places that hold no token yet."""

Array: TypeAlias = Any  # NumPy's, or what is traced as one
Layer = dict[str, np.ndarray]


@dataclass(frozen=True)
class Shape:
    """How large a decoder is."""

    layers: int
    width: int
    heads: int
    vocabulary: int
    length: int
    """tokens that the buffers of keys and values have room for"""

    @property
    def cache(self) -> tuple[int, int, int]:
        """Of the keys, or the values, of a layer."""
        return (self.heads, self.length, self.width // self.heads)


class Decoder:
    """The weights of a decoder, float32, and its functions."""

    def __init__(self, shape: Shape, seed: int = 0):
        self.shape = shape
        rng = np.random.default_rng(seed)

        def matrix(rows: int, columns: int) -> np.ndarray:
            return rng.standard_normal((rows, columns), F32) * F32(rows**-0.5)

        width = shape.width
        self.tokens = rng.standard_normal((shape.vocabulary, width), F32)
        self.positions = rng.standard_normal((shape.length, width), F32)
        self.head = matrix(width, shape.vocabulary)
        self.layers: list[Layer] = [
            {
                "qkv": matrix(width, 3 * width),
                "out": matrix(width, width),
                "inner": matrix(width, 4 * width),
                "outer": matrix(4 * width, width),
            }
            for _ in range(shape.layers)
        ]

    @property
    def weight_bytes(self) -> int:
        """What a step reads of the weights: all of them, but for the tables of tokens and positions."""
        return self.head.nbytes + sum(w.nbytes for layer in self.layers for w in layer.values())

    def empty_caches(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Keys and values of each layer before the first token."""
        zeros = [np.zeros(self.shape.cache, F32) for _ in range(2 * self.shape.layers)]
        return list(zip(zeros[::2], zeros[1::2], strict=True))

    def step(self, token: Array, position: Array, caches: Any) -> tuple[Array, Any]:
        """The logits (1, vocabulary) of the token after one at a position, and the caches with it."""
        x = sw.take(self.tokens, token, axis=0) + sw.take(self.positions, position, axis=0)
        x = sw.reshape(x, (1, -1))
        following: list[tuple[Array, Array]] = []
        for weights, cache in zip(self.layers, caches, strict=True):
            mixed, cache = self.attention(normalized(x) @ weights["qkv"], position, cache)
            x = x + mixed @ weights["out"]
            x = x + sw.gelu(normalized(x) @ weights["inner"], approximate="tanh") @ weights["outer"]
            following.append(cache)
        return normalized(x) @ self.head, following

    def attention(
        self, qkv: Array, position: Array, cache: tuple[Array, Array]
    ) -> tuple[Array, tuple[Array, Array]]:
        """Of a token on all up to it, whose keys and values are in the cache: (1, 3 · width) → (1, width)."""
        heads, length, size = self.shape.cache
        query, key, value = (
            sw.reshape(qkv[:, n * heads * size : (n + 1) * heads * size], (heads, 1, size))
            for n in range(3)
        )
        keys, values = (
            sw.dynamic_update_slice(old, new, (0, position, 0))
            for old, new in zip(cache, (key, value), strict=True)
        )
        scores = query @ sw.swapaxes(keys, -1, -2) * F32(size**-0.5)
        seen = sw.where(sw.arange(length) <= position, F32(0), OUT_OF_SIGHT)
        mixed = sw.softmax(scores + seen, axis=-1) @ values
        return sw.reshape(mixed, (1, heads * size)), (keys, values)

    def generate(self, token: Array, position: Array, caches: Any, count: int) -> Any:
        """
        The `count` tokens after one at a position, each the likeliest, with what the next call takes: the last token, its
        position and the caches.
        """

        def step(state: Any, _: None) -> tuple[Any, Array]:
            token, position, caches = state
            logits, caches = self.step(token, position, caches)
            token = sw.reshape(sw.argmax(logits, axis=-1), ())
            return (token, position + 1, caches), token

        return sw.scan(step, (token, position, caches), None, length=count)

    def whole(self, tokens: Sequence[int]) -> np.ndarray:
        """The logits after each token of a text, by NumPy and without caches: (tokens, vocabulary)."""
        count, (heads, _, size) = len(tokens), self.shape.cache
        x = self.tokens[list(tokens)] + self.positions[:count]
        hidden = np.triu(np.full((count, count), OUT_OF_SIGHT), 1)
        for weights in self.layers:
            qkv = normalized_by_numpy(x) @ weights["qkv"]
            q, k, v = qkv.reshape(count, 3, heads, size).transpose(1, 2, 0, 3)
            scores = np.exp(q @ k.transpose(0, 2, 1) * F32(size**-0.5) + hidden)
            mixed = scores / scores.sum(-1, keepdims=True) @ v
            x = x + mixed.transpose(1, 0, 2).reshape(count, -1) @ weights["out"]
            inner = normalized_by_numpy(x) @ weights["inner"]
            gelu = inner / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (inner + 0.044715 * inner**3)))
            x = x + gelu.astype(F32) @ weights["outer"]
        return normalized_by_numpy(x) @ self.head


def normalized_by_numpy(x: np.ndarray) -> np.ndarray:
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt(np.square(centred).mean(-1, keepdims=True) + F32(EPSILON))


def normalized(x: Array) -> Array:
    """Layer normalization; its scales are 1 and its shifts 0."""
    width = x.shape[-1]
    return sw.layer_norm(x, np.ones(width, F32), np.zeros(width, F32), eps=EPSILON)
