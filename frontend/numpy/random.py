"""
Public functions of random numbers by a generator that counts: Threefry-2x32 with 20 rounds (Salmon, Moraes, Dror, Shaw,
"Parallel random numbers: as easy as 1, 2, 3", SC 2011).

Element n of an array is made of the counter n and the seed alone, so the same seed gives the same numbers on every
machine, however many threads there are, at once and traced. The numbers are no secrets.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import pi, prod
from typing import Any

import numpy as np

from ...dialects.dtypes import is_float_dtype
from ...errors import StepwellError
from ..nn.normalization import softmax
from ..promotion import FLOAT32, FLOAT64, INT64, dtype_named
from ..recording import as_tensor
from ..tensor import Tensor, TensorLike
from ..traceable import creation, traceable
from .arguments import integers
from .counting import iota
from .elementwise import cos, less, less_equal, log, minimum, sqrt
from .manipulation import astype, expand_dims, reshape
from .reductions import sum
from .scans import cumsum

UINT32 = np.dtype(np.uint32)

_ROTATIONS = (13, 15, 26, 6), (17, 29, 16, 24)
_PARITY = 0x1BD11BDA
"""Of the words of the key; both from the paper's reference implementation, Random123."""


def _rotated(x: Tensor, bits: int) -> Tensor:
    return (x << np.uint32(bits)) | (x >> np.uint32(32 - bits))


def threefry(
    key: Sequence[int] | Sequence[Tensor], first: Tensor, second: Tensor
) -> tuple[Tensor, Tensor]:
    """The two words that Threefry-2x32-20 makes of the words of a counter, uint32, by a key of two words."""
    k0, k1 = (word if isinstance(word, Tensor) else np.uint32(word) for word in key)
    words = (k0, k1, k0 ^ k1 ^ np.uint32(_PARITY))
    x, y = first + words[0], second + words[1]
    for turn in range(5):
        for rotation in _ROTATIONS[turn % 2]:
            x = x + y
            y = _rotated(y, rotation) ^ x
        x = x + words[(turn + 1) % 3]
        y = y + words[(turn + 2) % 3] + np.uint32(turn + 1)
    return x, y


def words_of_seed(seed: int) -> tuple[int, int]:
    """The key of a seed: its words of 32 bits, the lower one first."""
    (number,) = integers(seed, "seed")
    number %= 2**64
    return number % 2**32, number >> 32


def random_words(
    key: Sequence[int] | Sequence[Tensor], shape: Sequence[int]
) -> tuple[Tensor, Tensor]:
    """Two words of 32 random bits for each element of a shape."""
    counter = iota((prod(shape),))
    low, high = astype(counter, UINT32), astype(counter >> np.int64(32), UINT32)
    x, y = threefry(key, low, high)
    return reshape(x, shape), reshape(y, shape)


def fraction(x: Tensor, y: Tensor, dtype: np.dtype) -> Tensor:
    """Numbers from 0 up to, without, 1, in steps of 2**-24, or of 2**-53 in double precision."""
    if dtype == FLOAT64:
        upper, lower = astype(x >> np.uint32(5), FLOAT64), astype(y >> np.uint32(6), FLOAT64)
        return (upper * 2.0**26 + lower) * 2.0**-53
    return astype(x >> np.uint32(8), FLOAT32) * np.float32(2.0**-24)


def float_named(dtype: Any) -> np.dtype:
    """The dtype of that name. Raises StepwellError unless it is a float."""
    found = dtype_named(dtype)
    if not is_float_dtype(found):
        raise StepwellError(f"found dtype {found} for random numbers, expected a float; name one")
    return found


@creation
def random_uniform(
    seed: int,
    shape: int | Sequence[int],
    low: float = 0.0,
    high: float = 1.0,
    *,
    dtype: Any = np.float32,
) -> Tensor:
    """
    Numbers spread evenly from `low` up to `high`.

    >>> x = sw.random_uniform(7, (100,), 2.0, 3.0)
    >>> bool((x >= 2).all() and (x < 3).all())
    True
    """
    target = float_named(dtype)
    wide = FLOAT64 if target == FLOAT64 else FLOAT32
    numbers = fraction(*random_words(words_of_seed(seed), integers(shape, "shape")), wide)
    return astype(numbers * wide.type(high - low) + wide.type(low), target)


@creation
def random_normal(
    seed: int,
    shape: int | Sequence[int],
    mean: float = 0.0,
    scale: float = 1.0,
    *,
    dtype: Any = np.float32,
) -> Tensor:
    """
    Normally distributed numbers of this mean and standard deviation, by the method of Box and Muller: the cosine of a
    random angle times sqrt(-2 log u).

    >>> sw.random_normal(7, (2, 3)).shape
    (2, 3)
    """
    target = float_named(dtype)
    wide = FLOAT64 if target == FLOAT64 else FLOAT32
    numbers = normally(*random_words(words_of_seed(seed), integers(shape, "shape")), wide)
    return astype(numbers * wide.type(scale) + wide.type(mean), target)


def normally(x: Tensor, y: Tensor, wide: np.dtype) -> Tensor:
    """Normally distributed numbers made of two random words each, by the method of Box and Muller."""
    # Of 1 - u, which is not 0. Both words are of 32 bits, which the double precision of the result does not need more of.
    step = 2.0**-24 if wide == FLOAT32 else 2.0**-32
    shift = np.uint32(8 if wide == FLOAT32 else 0)
    u = wide.type(1) - astype(x >> shift, wide) * wide.type(step)
    angle = astype(y >> shift, wide) * wide.type(step * 2 * pi)
    return sqrt(log(u) * wide.type(-2)) * cos(angle)


@traceable
def bernoulli(p: TensorLike, seed: int, /, *, dtype: Any = None) -> Tensor:
    """
    1 where a random number from 0 to 1 is below `p`, 0 elsewhere, in the dtype of `p` unless another is given.

    >>> sw.bernoulli([0.0, 1.0], 7)
    array([0., 1.])
    """
    p = as_tensor(p)
    wide = FLOAT64 if p.dtype == FLOAT64 else FLOAT32
    numbers = fraction(*random_words(words_of_seed(seed), tuple(p.shape)), wide)
    return astype(less(numbers, astype(p, wide)), p.dtype if dtype is None else dtype_named(dtype))


@traceable
def multinomial(
    logits: TensorLike, seed: int, /, sample_size: int = 1, *, dtype: Any = np.int64
) -> Tensor:
    """
    For each row of `logits`, (batch, class), so many classes drawn with the probabilities `softmax(logits)` (ONNX
    Multinomial), of shape (batch, sample).

    Raises StepwellError for logits of other axes, and for a number of samples below 0.

    >>> sw.multinomial([[0.0, -np.inf]], 7, 3)
    array([[0, 0, 0]])
    """
    logits = as_tensor(logits)
    (count,) = integers(sample_size, "sample_size")
    if logits.ndim != 2 or not logits.shape[1] or count < 0:
        raise StepwellError(
            f"found logits of shape {list(logits.shape)} and {count} samples, expected (batch, class) with at least "
            "one class, and at least 0 samples"
        )
    batch, classes = logits.shape
    ends = cumsum(softmax(logits, 1), 1)
    numbers = fraction(*random_words(words_of_seed(seed), (batch, count)), FLOAT32)
    below = less_equal(expand_dims(ends, 1), expand_dims(numbers, 2))
    # Rounding may leave the last end below 1.
    chosen = minimum(sum(astype(below, INT64), 2), classes - 1)
    return astype(chosen, dtype_named(dtype))
