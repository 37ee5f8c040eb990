"""Subscripts of traced values against NumPy's."""

import numpy as np
import pytest
import stepwell as sw
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst


def interpreted(function, *arrays):
    """What the function gives when it is traced and the IR is interpreted."""
    return sw.interpret(sw.jit(function).lower(*arrays).module("graph"), arrays)


@settings(max_examples=150, deadline=None)
@given(key=npst.basic_indices((4, 5, 6), allow_newaxis=True, max_dims=6))
def test_basic_indexing(key):
    x = np.arange(120, dtype=np.int32).reshape(4, 5, 6)
    (found,) = interpreted(lambda x: x[key], x)
    np.testing.assert_array_equal(found, x[key])


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_indexing_with_an_array(data):
    x = np.arange(120, dtype=np.int32).reshape(4, 5, 6)
    axis = data.draw(st.integers(0, 2))
    shape = data.draw(st.sampled_from([(), (1,), (3,), (2, 2), (0,)]))
    indices = data.draw(npst.arrays(np.int64, shape, elements=st.integers(-4, 3)))
    parts = st.sampled_from([0, -1, slice(None), slice(1, None, 2), slice(None, None, -1)])
    key = [data.draw(parts) for _ in range(3)]
    key[axis] = indices
    if data.draw(st.booleans()):
        key.insert(data.draw(st.integers(0, 3)), None)
    (found,) = interpreted(lambda x: x[tuple(key)], x)
    np.testing.assert_array_equal(found, x[tuple(key)])
    (found,) = interpreted(lambda x, i: x[tuple(i if k is indices else k for k in key)], x, indices)
    np.testing.assert_array_equal(found, x[tuple(key)])


BAD_KEYS = {
    "found index 4 on axis 0 of extent 4": 4,
    "found index -6 on axis 1": (0, -6),
    "found 3 indices in a subscript of a tensor of 2 axes": (0, 0, 0),
    "found two Ellipses": (..., ...),
    "found True as an index": True,
    "found indices of bool": np.ones(4, bool),
    "found a str as an index": "a",
    "found two arrays of indices": ([0, 1], [0, 1]),
    "found slice": slice(0.5, 2),
    "found a slice of step 0": slice(None, None, 0),
    "found index 7 for an axis": [0, 7],
}


@pytest.mark.parametrize("message", BAD_KEYS)
def test_wrong_subscripts(message):
    with pytest.raises(sw.StepwellError, match=message) as caught:
        sw.jit(lambda x: x[BAD_KEYS[message]]).lower(np.zeros((4, 5)))
    assert str(caught.value).startswith(__file__)


def test_compiled_subscripts():
    x = np.arange(60, dtype=np.float32).reshape(3, 4, 5)
    rows = np.array([2, 0, -1])
    keys = [0, -1, (slice(None), 1), (..., 2), (None, 1, ..., None), (slice(None, None, -2), 0)]
    keys += [
        rows,
        (slice(1), rows),
        (0, slice(None), rows),
        (slice(5, 2), 1),
        ([[0, 1], [2, 0]], 1),
    ]
    compiled = sw.jit(lambda x: [x[key] for key in keys])
    for key, found in zip(keys, compiled(x), strict=True):
        np.testing.assert_array_equal(found, x[key])


def test_a_traced_index():
    x = np.arange(12, dtype=np.int32).reshape(3, 4)
    pick = sw.jit(lambda x, i: x[i])
    for i in (0, 2, -1):
        np.testing.assert_array_equal(pick(x, np.int64(i)), x[i])
