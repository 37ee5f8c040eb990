"""Subscripts of traced values against NumPy's; those with arrays are drawn in `test_indexing_properties`."""

import numpy as np
import pytest
import stepwell as sw
from hypothesis import given, settings
from hypothesis.extra import numpy as npst


def interpreted(function, *arrays):
    """What the function gives when it is traced and the IR is interpreted."""
    return sw.interpret(sw.jit(function).lower(*arrays).module("graph"), arrays)


@settings(max_examples=60, deadline=None)
@given(key=npst.basic_indices((4, 5, 6), allow_newaxis=True, max_dims=6))
def test_basic_indexing(key):
    x = np.arange(120, dtype=np.int32).reshape(4, 5, 6)
    (found,) = interpreted(lambda x: x[key], x)
    np.testing.assert_array_equal(found, x[key])


BAD_KEYS = {
    "found index 4 on axis 0 of extent 4": 4,
    "found index -6 on axis 1": (0, -6),
    "found 3 indices in a subscript of a tensor of 2 axes": (0, 0, 0),
    "found two Ellipses": (..., ...),
    "found True as an index": True,
    r"found a mask of shape \[3\] for axes of \[4, 5\]": np.ones(3, bool),
    "found a str as an index": "a",
    r"found arrays of indices of shapes \[2\] and \[3\]": ([0, 1], [0, 1, 2]),
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
        slice(-(2**70), 2**70, 2**70),
        (0, slice(2**63, -(2**64), -(2**63))),
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


def test_known_masks():
    x = np.arange(60).reshape(3, 4, 5)
    keys = [x > 30, (slice(None), x[0, :, 0] > 6), (..., x[0, 0] > 2), (x[:, 0, 0] > 5, [0, 1])]
    results = interpreted(lambda x: [x[key] for key in keys], x)
    for key, found in zip(keys, results, strict=True):
        np.testing.assert_array_equal(found, x[key])


UPDATES = [
    (0, 7.0),
    ((slice(1, 3), -1), [1.0, 2.0]),
    ((slice(None, None, 2), ...), 5.0),
    ((..., slice(1, None)), 2.0),
    ([0, 2], 3.0),
    (([0, 1, 2], [3, 3, 0]), [1.0, 2.0, 3.0]),
    (np.array([0, 0, 2]), 1.0),
    ((slice(None), None, 0), 4.0),
    ((slice(None, None, -1), 1), [1.0, 2.0, 3.0]),
    ((slice(2, None, -2), slice(1, None, 2)), 8.0),
    (slice(1, 1), 9.0),
]


@pytest.mark.parametrize("how", ["set", "add", "multiply", "min", "max", "subtract"])
def test_updates(how):
    x = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)
    at = {
        "add": np.add,
        "multiply": np.multiply,
        "min": np.minimum,
        "max": np.maximum,
        "subtract": np.subtract,
    }

    def function(x):
        return [getattr(x.at[key], how)(values) for key, values in UPDATES]

    for (key, values), found in zip(UPDATES, sw.jit(function, opt="quick")(x), strict=True):
        expected = x.copy()
        values = np.asarray(values, np.float32)
        if how == "set":
            expected[key] = values
        else:
            at[how].at(expected, key, values)
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_updates_by_a_condition():
    x = np.arange(12.0).reshape(3, 4)

    def function(x):
        return (
            x.at[x > 5].set(0),
            x.at[x[:, 0] > 3].add(np.arange(4.0)),
            x.at[x < 3].multiply(x[0, 1] * 2),
        )

    a, b, c = x.copy(), x.copy(), x.copy()
    a[x > 5] = 0
    b[x[:, 0] > 3] += np.arange(4.0)
    c[x < 3] *= 2
    for found, expected in zip(interpreted(function, x), (a, b, c), strict=True):
        np.testing.assert_array_equal(found, expected)


def program(x, i):
    y = np.zeros((3, 4), np.float32) + x * 2
    y[0] = 1
    y[1, 2:] += 5
    z = y
    y[i] = x[0]
    y[y > 6] = -1
    z *= 1  # of this name alone where traced
    return y


def test_assignments_are_rebinding():
    x, i = np.arange(12, dtype=np.float32).reshape(3, 4), np.int64(2)
    (found,) = interpreted(program, x, i)
    np.testing.assert_array_equal(found, program(x, i))


@pytest.mark.parametrize(
    "assign",
    [
        lambda x: x.__setitem__(0, 1),
        lambda x: (x * 2)[0].__setitem__(0, 1),
        lambda x: (x * 2).T.__setitem__(0, 1),
        lambda x: sw.reshape(x * 2, -1).__setitem__(0, 1),
    ],
)
def test_assignments_that_would_be_seen_elsewhere(assign):
    with pytest.raises(
        sw.StepwellError,
        match=r"found an assignment into .*; write x = x.at\[...\].set\(value\), or copy",
    ):
        sw.jit(lambda x: assign(x)).lower(np.zeros((3, 3)))


def test_assignments_from_inside_of_a_loop():
    def function(x):
        y = x * 2

        def step(i, state):
            y[0] = 1
            return state

        return sw.fori_loop(0, 3, step, x)

    with pytest.raises(
        sw.StepwellError, match="from outside of this loop or branch; hand it in as state"
    ):
        sw.jit(function).lower(np.zeros(3))


def test_copies_may_be_assigned_into():
    def function(x):
        y, z = x.copy(), sw.copy(x)
        y[0], z[1] = 5, 6
        return x, y, z, x.astype(np.float64) + y

    x = np.arange(3.0)
    for found, expected in zip(
        interpreted(function, x), ([0, 1, 2], [5, 1, 2], [0, 6, 2], [5, 2, 4]), strict=True
    ):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("key", [slice(2, 4, -1), (slice(1, 5, -3), 2), (slice(None), slice(3, 3))])
def test_updates_of_nothing(key):
    x = np.arange(30.0).reshape(5, 6)
    for found in interpreted(lambda x: (x.at[key].set(7), x.at[key].add(x[key])), x):
        np.testing.assert_array_equal(found, x)


def test_dynamic_slices():
    x = np.arange(30.0).reshape(5, 6)
    cut = sw.jit(
        lambda x, i: (
            sw.dynamic_slice(x, (i, 1), (2, 3)),
            sw.dynamic_update_slice(x, x[:2, :3] * 0, (i, 1)),
        )
    )
    for start, inside in ((0, 0), (3, 3), (9, 3), (-2, 3)):
        part, written = cut(x, np.int64(start))
        expected = x.copy()
        expected[inside : inside + 2, 1:4] = 0
        np.testing.assert_array_equal(part, x[inside : inside + 2, 1:4])
        np.testing.assert_array_equal(written, expected)


def test_traced_keys_that_have_no_shape():
    x = np.zeros((4, 4))
    with pytest.raises(
        sw.StepwellError, match=r"found the mask .*; use stepwell.where\(mask, x, y\)"
    ):
        sw.jit(lambda x: x[x > 0]).lower(x)
    with pytest.raises(sw.StepwellError, match=r"use stepwell.dynamic_slice\(x, starts, sizes\)"):
        sw.jit(lambda x, i: x[i : i + 2]).lower(x, np.int64(1))


@pytest.mark.parametrize("dtype", ["int8", "uint16", "uint32", "uint64"])
def test_indices_of_every_width(dtype):
    x, key = np.arange(200.0), np.array([0, 120, 3, 3], dtype)
    expected = x.copy()
    np.add.at(expected, key, 1)
    found = interpreted(lambda x, key: (x[key], sw.take(x, key), x.at[key].add(1)), x, key)
    for one, other in zip(found, (x[key], x[key], expected), strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(sw.take(x, key), x[key])
