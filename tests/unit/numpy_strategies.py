"""
Strategies for the arguments of NumPy's functions: Hypothesis draws shapes (without axes, empty, of extent 1, odd), dtypes,
axes, keywords and elements, special values among them. `numpy_drawn_calls.py` says which function takes which.
"""

from __future__ import annotations

import math

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

SIGNED = [np.dtype(name) for name in ("int8", "int16", "int32", "int64")]
UNSIGNED = [np.dtype(name) for name in ("uint8", "uint16", "uint32", "uint64")]
INTEGERS = SIGNED + UNSIGNED
FLOATS = [np.dtype("float32"), np.dtype("float64")]
BOOL = [np.dtype(bool)]
NUMBERS = FLOATS + INTEGERS
ALL = NUMBERS + BOOL

SHAPES = npst.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5)
FULL = npst.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=5)
ROWS = npst.array_shapes(min_dims=1, max_dims=1, min_side=0, max_side=9)
FILLED = npst.array_shapes(min_dims=1, max_dims=1, min_side=1, max_side=7)
TWO = npst.array_shapes(min_dims=2, max_dims=3, min_side=0, max_side=5)

SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, 2.0, math.inf, -math.inf, math.nan, 1e-30, -1e30)


def elements(dtype, *, special=True, low=None, high=None):
    """Numbers of a dtype: small ones and, unless they are not wanted, its extremes, infinities, NaN and zeros of both signs."""
    if dtype.kind == "b":
        return st.booleans()
    if dtype.kind == "f":
        small = st.integers(-64 if low is None else low * 8, 64 if high is None else high * 8).map(
            lambda number: number / 8
        )
        return small | st.sampled_from(SPECIAL) if special else small
    limits = np.iinfo(dtype)
    small = st.integers(
        max(limits.min, -9 if low is None else low), min(limits.max, 9 if high is None else high)
    )
    return small | st.sampled_from([int(limits.min), int(limits.max)]) if special else small


@st.composite
def array(draw, dtypes=ALL, shape=SHAPES, **kind):
    dtype = draw(st.sampled_from(dtypes))
    if not isinstance(shape, tuple):
        shape = draw(shape)
    return draw(npst.arrays(dtype, shape, elements=elements(dtype, **kind)))


def call(*args, **kwargs):
    """The strategy of calls whose arguments are drawn from these strategies, or are these values."""

    def each(value):
        return value if isinstance(value, st.SearchStrategy) else st.just(value)

    given = {name: each(value) for name, value in kwargs.items()}
    return st.tuples(st.tuples(*map(each, args)), optional(given))


def optional(strategies):
    """Dictionaries with some of these keys."""
    return st.fixed_dictionaries({}, optional=strategies)


@st.composite
def together(draw, count=2, dtypes=ALL, mixed=True, **kind):
    """Operands that broadcast, of dtypes that promote, or Python numbers."""
    shapes = draw(
        npst.mutually_broadcastable_shapes(num_shapes=count, max_dims=3, min_side=0, max_side=4)
    ).input_shapes
    first = draw(st.sampled_from(dtypes))
    operands = []
    for number, shape in enumerate(shapes):
        dtype = draw(st.sampled_from(dtypes)) if mixed else first
        if number and draw(st.integers(0, 4)) == 0:
            operands.append(draw(elements(dtype, **kind)))
        else:
            operands.append(draw(npst.arrays(dtype, shape, elements=elements(dtype, **kind))))
    return tuple(operands), {}


@st.composite
def along(draw, operand, *, several=True, none=True, required=False, keywords=None, name="axis"):
    """An array and an axis, or several, or none; now and then one that there is not."""
    x = draw(operand)
    one = st.integers(-x.ndim, x.ndim - 1) if x.ndim else st.none()
    choices = [one]
    if several and x.ndim:
        choices.append(npst.valid_tuple_axes(x.ndim, min_size=1))
    if none:
        choices.append(st.none())
    kwargs = draw(optional(keywords or {}))
    if x.ndim and (required or draw(st.integers(0, 4))):
        kwargs[name] = draw(st.one_of(choices))
    return (x,), kwargs


KEEP = {"keepdims": st.booleans()}
MILD = {"special": False}


@st.composite
def reduced(draw, operand, where=True, initial=True, dtype=False, **keywords):
    """A reduction, of some elements, from a number on."""
    (x,), kwargs = draw(along(operand, keywords={**KEEP, **keywords}))
    if where and draw(st.integers(0, 2)) == 0:
        shape = [draw(st.sampled_from([1, extent])) for extent in x.shape]
        kwargs["where"] = draw(npst.arrays(bool, tuple(shape[draw(st.integers(0, x.ndim)) :])))
    if initial and draw(st.integers(0, 2)) == 0:
        kwargs["initial"] = draw(st.integers(0, 5))
    if dtype and draw(st.integers(0, 3)) == 0:
        kwargs["dtype"] = draw(st.sampled_from(FLOATS + INTEGERS[2:4]))
    return (x,), kwargs


@st.composite
def joined(draw, axis=True, shape=FULL, least=1):
    """Arrays to join that differ, if at all, along the axis."""
    extents = list(draw(shape))
    along = draw(st.integers(0, len(extents) - 1))
    parts = []
    for _ in range(draw(st.integers(least, 3))):
        if axis:
            extents[along] = draw(st.integers(0, 3))
        parts.append(draw(array(shape=tuple(extents))))
    return parts, along - draw(st.sampled_from([0, len(extents)]))


@st.composite
def concatenated(draw):
    parts, axis = draw(joined())
    return (parts,), draw(st.sampled_from([{}, {"axis": None}])) if axis == 0 else {"axis": axis}


@st.composite
def stacked(draw):
    parts, axis = draw(joined(axis=False))
    return (parts,), draw(st.sampled_from([{}, {"axis": axis}, {"axis": -1}]))


@st.composite
def piled(draw):
    """Arrays for the functions that stack by a fixed axis."""
    parts, _ = draw(joined(axis=False))
    return (parts,), {}


@st.composite
def reshaped(draw):
    x = draw(array())
    shape = [extent for extent in x.shape if extent != 1]
    shape = draw(st.permutations(shape)) + [1] * draw(st.integers(0, 2))
    if x.size and shape and draw(st.booleans()):
        shape[draw(st.integers(0, len(shape) - 1))] = -1
    return (x, tuple(shape)), {}


@st.composite
def permuted(draw):
    x = draw(array())
    axes = draw(st.permutations(range(x.ndim)))
    return (x, tuple(draw(st.sampled_from([axe, axe - x.ndim])) for axe in axes)), {}


@st.composite
def two_axes(draw, operand=None, count=2):
    x = draw(operand if operand is not None else array(shape=FULL))
    axes = [draw(st.integers(-x.ndim, x.ndim - 1)) for _ in range(count)]
    return (x, *axes), {}


@st.composite
def rolled(draw):
    x = draw(array())
    shift = st.integers(-7, 7)
    if not x.ndim or draw(st.booleans()):
        return (x, draw(shift)), {}
    axes = draw(npst.valid_tuple_axes(x.ndim, min_size=1))
    return (x, tuple(draw(shift) for _ in axes)), {"axis": axes}


@st.composite
def taken(draw, along_axis=False):
    x = draw(array(shape=FULL))
    axis = draw(st.integers(-x.ndim, x.ndim - 1) | st.none())
    extent = x.size if axis is None else x.shape[axis]
    if along_axis:
        shape = list(x.shape) if axis is not None else [x.size]
        shape[axis or 0] = draw(st.integers(0, 4))
        shape = tuple(shape)
    else:
        shape = draw(npst.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=3))
    dtype = draw(st.sampled_from([np.int8, np.int32, np.int64, np.uint8]))
    low = 0 if np.dtype(dtype).kind == "u" else -extent
    indices = draw(npst.arrays(dtype, shape, elements=st.integers(low, extent - 1)))
    return (x, indices), {"axis": axis}


@st.composite
def repeated(draw):
    x = draw(array())
    axis = draw(st.none() | st.integers(-x.ndim, x.ndim - 1)) if x.ndim else None
    extent = x.size if axis is None else x.shape[axis]
    counts = st.integers(0, 3)
    repeats = draw(counts | st.lists(counts, min_size=extent, max_size=extent))
    return (x, repeats), {"axis": axis}


@st.composite
def padded(draw):
    x = draw(array(shape=FULL))
    width = st.integers(0, 4)
    pairs = [(draw(width), draw(width)) for _ in range(x.ndim)]
    mode = draw(st.sampled_from(["constant", "edge", "reflect", "symmetric", "wrap"]))
    return (x, draw(width | st.just(pairs)), mode), {}


@st.composite
def products(draw, dtypes=NUMBERS, **kind):
    """Operands of matmul: vectors, matrices, batches that broadcast."""
    kind = kind or MILD
    n, m, k = (draw(st.integers(0, 4)) for _ in range(3))
    batch = draw(st.sampled_from([((), ()), ((2,), ()), ((3, 1), (2,)), ((1,), (2,))]))
    left = draw(st.sampled_from([(k,), (*batch[0], n, k)]))
    right = draw(st.sampled_from([(k,), (*batch[1], k, m)]))
    return (draw(array(dtypes, left, **kind)), draw(array(dtypes, right, **kind))), {}


@st.composite
def tensor_products(draw):
    shape = draw(npst.array_shapes(min_dims=2, max_dims=3, min_side=1, max_side=3))
    count = draw(st.integers(0, 2))
    other = (*shape[len(shape) - count :], draw(st.integers(1, 3)))
    return (draw(array(FLOATS, shape, **MILD)), draw(array(FLOATS, other, **MILD))), {"axes": count}


@st.composite
def same_rows(draw, dtypes=NUMBERS, count=2, shape=FULL, **kind):
    extents = draw(shape)
    return tuple(draw(array(dtypes, extents, **(kind or MILD))) for _ in range(count)), {}


@st.composite
def searched(draw):
    row = np.sort(draw(array(NUMBERS, ROWS)))
    return (row, draw(array([row.dtype]))), {"side": draw(st.sampled_from(["left", "right"]))}


@st.composite
def quantiles(draw, scale=1.0):
    (x,), kwargs = draw(along(array(NUMBERS, FULL, **MILD), keywords=KEEP))
    q = draw(st.sampled_from([0, 0.25, 0.5, 0.9, 1])) * scale
    return (x, draw(st.sampled_from([q, np.array([q, 0.5 * scale])]))), kwargs


@st.composite
def clipped(draw):
    (x, low, high), _ = draw(together(3, NUMBERS, mixed=False))
    drop = draw(st.sampled_from([None, "low", "high"]))
    return (x, None if drop == "low" else low, None if drop == "high" else high), {}


def shapes_and_dtype(**keywords):
    return call(SHAPES, dtype=st.sampled_from(ALL), **keywords)
