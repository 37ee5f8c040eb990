"""
Random numbers by keys, after JAX's functions of these names: `stepwell.random`.

A key is two words, uint32 of shape (2,), and may be traced. The same key gives the same numbers each time, on every
machine; `split` and `fold_in` make others of it. The generator is Threefry-2x32 with 20 rounds (Salmon, Moraes, Dror,
Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011). Element n of an array is made of the key and the counter n,
whose upper word is below 2**31; what is above that is for new keys. The numbers are not those that JAX makes of a seed,
and they are no secrets.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...dialects.graph import shapes
from ...errors import StepwellError
from ..promotion import FLOAT32, FLOAT64, INT64, UINT64, dtype_named
from ..recording import as_tensor
from ..tensor import Tensor, TensorLike
from ..traceable import creation
from .arguments import integers, normalized, single_axis
from .counting import iota
from .elementwise import less, log, maximum, minimum
from .joining import stack
from .manipulation import astype, moveaxis, reshape
from .mathematics import log1p
from .random import (
    UINT32,
    float_named,
    fraction,
    normally,
    random_words,
    threefry,
    words_of_seed,
)
from .reductions import argmax
from .scans import cumsum
from .selection import take
from .sorting import argsort, searchsorted, topk

_FOLDED, _SPLIT = 0xFFFFFFFE, 0xFFFFFFFF
"""Upper words of the counters that new keys are made of, which no element of an array has."""

ShapeLike = int | Sequence[int]


@creation
def key(seed: TensorLike, /) -> Tensor:
    """
    The key of a seed, an integer, traced or not: its lower and its upper 32 bits.

    The same key always gives the same numbers, traced or not.

    >>> sw.random.key(7)
    array([7, 0], dtype=uint32)
    """
    if isinstance(seed, Tensor):
        wide = astype(_scalar(seed, "seed"), INT64)
        return stack([astype(wide, UINT32), astype(wide >> np.int64(32), UINT32)])
    return as_tensor(np.array(words_of_seed(seed), np.uint32))


@creation
def split(key: TensorLike, num: int = 2) -> Tensor:
    """
    `num` new keys, (num, 2), whose numbers have nothing to do with each other's or with those of `key`. A traced value is
    indexed, not unpacked: `keys = split(key)`, `keys[0]`, `keys[1]`.

    >>> keys = sw.random.split(sw.random.key(7), 3)
    >>> keys.shape, keys.dtype
    ((3, 2), dtype('uint32'))
    """
    (count,) = integers(num, "num")
    numbers = iota((count,), 0, UINT32)
    return stack(list(threefry(_words(key), numbers, numbers * 0 + np.uint32(_SPLIT))), 1)


@creation
def fold_in(key: TensorLike, data: TensorLike) -> Tensor:
    """
    The new key that `key` and an integer, of which 32 bits count, make: of a step, or of a layer.

    >>> key = sw.random.key(7)
    >>> [int(sw.random.fold_in(key, step)[0]) for step in range(2)]
    [1830480766, 2912282887]
    """
    tensor = as_tensor(data % 2**32 if isinstance(data, int) else data)
    number = astype(_scalar(tensor, "data"), UINT32)
    return stack(list(threefry(_words(key), number, number * 0 + np.uint32(_FOLDED))))


@creation
def bits(key: TensorLike, shape: ShapeLike = (), dtype: Any = np.uint32) -> Tensor:
    """
    Integers of 32 random bits, uint32, or of 64, uint64.

    Raises StepwellError for another dtype.

    >>> sw.random.bits(sw.random.key(7), (2,))
    array([3901892970, 2964889903], dtype=uint32)
    """
    target = dtype_named(dtype)
    if target not in (UINT32, UINT64):
        raise StepwellError(f"found dtype {target} of bits, expected uint32 or uint64; name one")
    extents = integers(shape, "shape")
    return _long_words(key, extents) if target == UINT64 else random_words(_words(key), extents)[0]


@creation
def uniform(
    key: TensorLike,
    shape: ShapeLike = (),
    dtype: Any = np.float32,
    minval: TensorLike = 0.0,
    maxval: TensorLike = 1.0,
) -> Tensor:
    """
    Numbers spread evenly from `minval` up to `maxval`, which broadcast. From 0 to 1 all ways to run them give the same
    bits; else the last one may differ.

    >>> sw.random.uniform(sw.random.key(7), (3,), minval=-1.0)
    array([ 0.817 ,  0.3806, -0.8101], dtype=float32)
    """
    target = float_named(dtype)
    numbers = _fractions(key, integers(shape, "shape"), _wide(target))
    low, high = (_given(bound, numbers.dtype) for bound in (minval, maxval))
    return astype(numbers * (high - low) + low, target)


@creation
def normal(key: TensorLike, shape: ShapeLike = (), dtype: Any = np.float32) -> Tensor:
    """
    Normally distributed numbers of mean 0 and standard deviation 1, by the method of Box and Muller.

    >>> x = sw.random.normal(sw.random.key(7), (1000,))
    >>> bool(abs(x.mean()) < 0.1)
    True
    """
    target = float_named(dtype)
    words = random_words(_words(key), integers(shape, "shape"))
    return astype(normally(*words, _wide(target)), target)


@creation
def exponential(key: TensorLike, shape: ShapeLike = (), dtype: Any = np.float32) -> Tensor:
    """
    Exponentially distributed numbers of mean 1.

    >>> x = sw.random.exponential(sw.random.key(7), (1000,))
    >>> bool(abs(x.mean() - 1) < 0.1)
    True
    """
    target = float_named(dtype)
    return astype(-log1p(-_fractions(key, integers(shape, "shape"), _wide(target))), target)


@creation
def gumbel(key: TensorLike, shape: ShapeLike = (), dtype: Any = np.float32) -> Tensor:
    """
    Numbers of the standard Gumbel distribution, -log(-log(u)).

    >>> sw.random.gumbel(sw.random.key(7), (2,)).shape
    (2,)
    """
    target = float_named(dtype)
    return astype(-log(-log(_fractions(key, integers(shape, "shape"), _wide(target)))), target)


@creation
def randint(
    key: TensorLike,
    shape: ShapeLike,
    minval: TensorLike,
    maxval: TensorLike,
    dtype: Any = np.int64,
) -> Tensor:
    """
    Integers from `minval` up to, without, `maxval`, which broadcast; `minval` where there are none. The remainder of 64
    random bits, so that probabilities differ by (maxval - minval) / 2**64 at most.

    Raises StepwellError for a dtype that is no integer.

    >>> sw.random.randint(sw.random.key(7), (5,), 0, 10)
    array([0, 1, 7, 2, 4])
    """
    target = dtype_named(dtype)
    if target.kind not in "iu":
        raise StepwellError(f"found dtype {target} of randint, expected an integer; name one")
    words = _long_words(key, integers(shape, "shape"))
    low, high = (astype(as_tensor(bound), INT64) for bound in (minval, maxval))
    span = astype(maximum(high - low, np.int64(1)), UINT64)
    return astype(astype(words % span, INT64) + low, target)


@creation
def bernoulli(key: TensorLike, p: TensorLike = 0.5, shape: ShapeLike | None = None) -> Tensor:
    """
    True with the probability `p`, of the shape of `p` or of one that it broadcasts to.

    >>> sw.random.bernoulli(sw.random.key(7), 0.5, (4,))
    array([False, False,  True,  True])
    """
    chances = as_tensor(p)
    extents = chances.shape if shape is None else integers(shape, "shape")
    wide = _wide(chances.dtype)
    return less(_fractions(key, extents, wide), astype(chances, wide))


@creation
def permutation(key: TensorLike, x: TensorLike, axis: int = 0) -> Tensor:
    """
    The slices of `x` along an axis in random order, or the numbers below `x`, if it is an integer.

    >>> sw.random.permutation(sw.random.key(7), 5)
    array([2, 4, 1, 0, 3])
    """
    if isinstance(x, int):
        return _order(key, x)
    tensor = as_tensor(x)
    axis = normalized(single_axis(axis), tensor.ndim)
    return take(tensor, _order(key, tensor.shape[axis]), axis)


@creation
def choice(
    key: TensorLike,
    a: TensorLike,
    shape: ShapeLike = (),
    replace: bool = True,
    p: TensorLike | None = None,
    axis: int = 0,
) -> Tensor:
    """
    Slices of `a` along an axis, drawn at random in `shape`, or numbers below `a`, if it is an integer: each as often as
    it comes, or once at most unless `replace`; with equal probabilities or those that the vector `p` is in proportion to.

    Without replacement those of `p` are drawn one after another, as the greatest of log(p) with Gumbel's noise (Efraimidis
    and Spirakis, "Weighted random sampling with a reservoir", 2006). Raises StepwellError for more than there are.

    >>> sw.random.choice(sw.random.key(7), [10, 20, 30], (2,), replace=False)
    array([30, 20])
    """
    items = a if isinstance(a, int) else as_tensor(a)
    axis = 0 if isinstance(items, int) else normalized(single_axis(axis), items.ndim)
    count = items if isinstance(items, int) else items.shape[axis]
    extents = integers(shape, "shape")
    wanted = int(np.prod(extents))
    if wanted > 0 and (count <= 0 or (wanted > count and not replace)):
        raise StepwellError(
            f"found {wanted} elements to choose from {count}, expected that many at least; choose fewer, or replace"
        )
    if p is None:
        found = randint(key, (wanted,), 0, count) if replace else _order(key, count)[:wanted]
    else:
        found = _weighted(key, _weights(p, count), wanted, replace)
    places = reshape(found, extents)
    return places if isinstance(items, int) else take(items, places, axis)


@creation
def categorical(
    key: TensorLike, logits: TensorLike, axis: int = -1, shape: ShapeLike | None = None
) -> Tensor:
    """
    Indices along an axis of `logits` with the probabilities `softmax(logits)`, int64, of the shape of the other axes or
    one that it broadcasts to: the greatest logit with Gumbel's noise.

    Raises StepwellError for a shape that the other axes do not broadcast to.

    >>> sw.random.categorical(sw.random.key(7), [0.0, -np.inf, 0.0], shape=(4,))
    array([0, 2, 0, 2])
    """
    tensor = as_tensor(logits)
    last = moveaxis(tensor, normalized(single_axis(axis), tensor.ndim), -1)
    batch = last.shape[:-1]
    extents = tuple(batch) if shape is None else integers(shape, "shape")
    if not shapes.broadcasts_to(batch, extents):
        raise StepwellError(
            f"found shape {list(extents)} for logits of shape {list(batch)} beside the axis, expected one that it "
            "broadcasts to; add axes in front"
        )
    wide = _wide(tensor.dtype)
    noise = gumbel(key, (*extents, last.shape[-1]), wide)
    return argmax(astype(last, wide) + noise, -1)


def _words(key: TensorLike) -> list[Tensor]:
    tensor = as_tensor(key)
    if tensor.dtype != UINT32 or tuple(tensor.shape) != (2,):
        raise StepwellError(
            f"found a key of dtype {tensor.dtype} and shape {list(tensor.shape)}, expected uint32 and [2]; make it by "
            "random.key(seed), and take one of those that split gives"
        )
    return [tensor[0], tensor[1]]


def _scalar(x: Tensor, what: str) -> Tensor:
    if x.shape or x.dtype.kind not in "iu":
        raise StepwellError(
            f"found a {what} of dtype {x.dtype} and shape {list(x.shape)}, expected one integer; index it"
        )
    return x


def _wide(dtype: np.dtype) -> np.dtype:
    return FLOAT64 if dtype == FLOAT64 else FLOAT32


def _given(bound: TensorLike, dtype: np.dtype) -> Tensor:
    return astype(as_tensor(bound), dtype)


def _fractions(key: TensorLike, shape: Sequence[int], wide: np.dtype) -> Tensor:
    return fraction(*random_words(_words(key), shape), wide)


def _long_words(key: TensorLike, shape: Sequence[int]) -> Tensor:
    x, y = (astype(word, UINT64) for word in random_words(_words(key), shape))
    return (y << np.uint64(32)) | x


def _order(key: TensorLike, count: int) -> Tensor:
    """The numbers below `count` in random order: that of as many words of 64 bits."""
    return argsort(_long_words(key, (count,)))


def _weights(p: TensorLike, count: int) -> Tensor:
    weights = as_tensor(p)
    if tuple(weights.shape) != (count,):
        raise StepwellError(
            f"found p of shape {list(weights.shape)}, expected one number for each of {count}; mend it"
        )
    return astype(weights, _wide(weights.dtype))


def _weighted(key: TensorLike, weights: Tensor, wanted: int, replace: bool) -> Tensor:
    count = weights.shape[0]
    if not replace:
        return topk(log(weights) + gumbel(key, (count,), weights.dtype), wanted)[1]
    ends = cumsum(weights, 0)
    # Numbers up to the last end; one that rounds up to it is below.
    drawn = _fractions(key, (wanted,), weights.dtype) * ends[-1]
    return minimum(searchsorted(ends, drawn, "right"), np.int64(count - 1))


MEMBERS = {
    function.__name__: function
    for function in (
        *(key, split, fold_in, bits, uniform, normal, exponential, gumbel, randint),
        *(bernoulli, permutation, choice, categorical),
    )
}
