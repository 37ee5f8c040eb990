"""Subscripts of every kind, read and written, against NumPy's on keys that Hypothesis draws."""

from __future__ import annotations

import numpy as np
import pytest
import stepwell as sw
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

SHAPE = (4, 1, 5)
BOUND = st.none() | st.integers(-7, 7)
SLICES = st.builds(slice, BOUND, BOUND, st.sampled_from([None, 1, 2, -1, -3]))


@st.composite
def keys(draw, masks=True):
    """Integers, slices of both directions, arrays that broadcast, known masks, None and an Ellipsis, together."""
    spread = draw(st.sampled_from([(), (1,), (3,), (2, 1), (2, 3), (0,)]))
    parts, axis = [], 0
    while axis < draw(st.integers(1, 3)):
        extent = SHAPE[axis]
        kind = draw(
            st.sampled_from(
                ["integer", "slice", "array", "mask"] if masks else ["integer", "slice", "array"]
            )
        )
        if kind == "integer":
            parts.append(draw(st.integers(-extent, extent - 1)))
        elif kind == "slice":
            parts.append(draw(SLICES))
        elif kind == "mask" and not any(isinstance(part, np.ndarray) for part in parts):
            rank = draw(st.integers(1, 3 - axis))
            parts.append(draw(npst.arrays(bool, SHAPE[axis : axis + rank])))
            axis += rank - 1
        else:
            shape = tuple(draw(st.sampled_from([extent, 1])) for extent in spread)[
                draw(st.integers(0, len(spread))) :
            ]
            dtype = draw(st.sampled_from([np.int64, np.int32, np.int8]))
            parts.append(draw(npst.arrays(dtype, shape, elements=st.integers(-extent, extent - 1))))
        axis += 1
    for extra in (None, ..., None):
        if draw(st.integers(0, 2)) == 0:
            parts.insert(draw(st.integers(0, len(parts))), extra)
    return tuple(parts)


def expected(x, key):
    """What NumPy reads; None for a key that it refuses."""
    try:
        return x[key]
    except IndexError:
        return None


def traced(function, x, key, *more):
    """What the function gives when it is traced, with the arrays of indices in the key as arguments too."""

    def with_key(x, indices, more):
        rest = iter(indices)
        return function(x, tuple(next(rest) if is_indices(part) else part for part in key), *more)

    indices = [part for part in key if is_indices(part)]
    module = sw.jit(with_key).lower(x, indices, more).module("graph")
    (found,) = sw.interpret(module, [x, *indices, *more])
    return found


def is_indices(part):
    return isinstance(part, np.ndarray) and part.dtype != bool


def check(property, *strategies, examples):
    settings(max_examples=examples, deadline=None, derandomize=True)(given(*strategies)(property))()


def reading(key):
    x = np.arange(20, dtype=np.int32).reshape(SHAPE)
    right = expected(x, key)
    if right is not None:
        found = traced(lambda x, key: x[key], x, key)
        np.testing.assert_array_equal(found, right, err_msg=str(key))
        assert found.shape == right.shape
        np.testing.assert_array_equal(traced(lambda x, key: x.at[key].get(), x, key), right)


WAYS = {
    "add": np.add.at,
    "subtract": np.subtract.at,
    "multiply": np.multiply.at,
    "min": np.minimum.at,
    "max": np.maximum.at,
}


def writing(key, data):
    x = np.arange(1, 21, dtype=np.int64).reshape(SHAPE)
    place = expected(x, key)
    if place is None:
        return
    shape = tuple(data.draw(st.sampled_from([extent, 1])) for extent in place.shape)
    shape = shape[data.draw(st.integers(0, len(shape))) :]
    values = np.array(data.draw(npst.arrays(np.int64, shape, elements=st.integers(-3, 3))))
    for way, numpys in WAYS.items():
        right = x.copy()
        numpys(right, key, values)
        found = traced(
            lambda x, key, values, way=way: getattr(x.at[key], way)(values), x, key, values
        )
        np.testing.assert_array_equal(found, right, err_msg=f"{way} {key}")
    number = np.arange(x.size).reshape(x.shape)[key]
    if np.unique(number).size != number.size:
        return  # which of two values stays is not defined
    right = x.copy()
    right[key] = values

    def assigned(x, key, values):
        y = x.copy()
        y[key] = values
        return y

    np.testing.assert_array_equal(traced(assigned, x, key, values), right, err_msg=str(key))
    found = traced(lambda x, key, values: x.at[key].set(values), x, key, values)
    np.testing.assert_array_equal(found, right)


def test_reading():
    check(reading, keys(), examples=15)


def test_writing():
    check(writing, keys(), st.data(), examples=5)


@pytest.mark.slow
def test_reading_and_writing_at_length():
    check(reading, keys(), examples=1000)
    check(writing, keys(), st.data(), examples=200)
