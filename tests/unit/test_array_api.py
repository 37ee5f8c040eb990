"""
`stepwell.array_api`: the standard's names and signatures, in traced functions and outside of them. What the functions
compute is compared with NumPy here by samples, and by the standard's own suite: see `tests/array_api_suite.py`.
"""

from __future__ import annotations

import inspect

import numpy as np
import pytest
import stepwell as sw
from stepwell.frontend.array_api.namespace import MISSING

xp = sw.array_api

NAMES = {
    "elementwise": (
        "abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_left_shift bitwise_invert bitwise_or "
        "bitwise_right_shift bitwise_xor ceil clip conj copysign cos cosh divide equal exp expm1 floor floor_divide "
        "greater greater_equal hypot imag isfinite isinf isnan less less_equal log log1p log2 log10 logaddexp "
        "logical_and logical_not logical_or logical_xor maximum minimum multiply negative nextafter not_equal "
        "positive pow real reciprocal remainder round sign signbit sin sinh square sqrt subtract tan tanh trunc"
    ),
    "creation": (
        "arange asarray empty empty_like eye from_dlpack full full_like linspace meshgrid ones ones_like tril triu "
        "zeros zeros_like"
    ),
    "manipulation": (
        "broadcast_arrays broadcast_to concat expand_dims flip moveaxis permute_dims repeat reshape roll squeeze stack "
        "tile unstack take take_along_axis"
    ),
    "searching": (
        "argmax argmin count_nonzero nonzero searchsorted where argsort sort unique_all unique_counts unique_inverse "
        "unique_values"
    ),
    "reductions": "cumulative_prod cumulative_sum max mean min prod std sum var all any diff",
    "linalg": "matmul matrix_transpose tensordot vecdot",
    "dtypes": (
        "astype can_cast finfo iinfo isdtype result_type bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 "
        "float64 complex64 complex128 e inf nan pi newaxis __array_namespace_info__ __array_api_version__"
    ),
}


@pytest.mark.parametrize("room", NAMES)
def test_names_of_the_standard(room):
    for name in NAMES[room].split():
        if name in MISSING:
            with pytest.raises(AttributeError, match="there is no"):
                getattr(xp, name)
        else:
            assert getattr(xp, name) is not NotImplemented


@pytest.mark.parametrize(
    ("name", "signature"),
    [
        ("add", "(x1, x2, /)"),
        ("exp", "(x, /)"),
        ("sum", "(x, /, *, axis=None, dtype=None, keepdims=False)"),
        ("std", "(x, /, *, axis=None, correction=0.0, keepdims=False)"),
        ("concat", "(arrays, /, *, axis=0)"),
        ("eye", "(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None)"),
        ("sort", "(x, /, *, axis=-1, descending=False, stable=True)"),
        ("zeros", "(shape, *, dtype=None, device=None)"),
    ],
)
def test_signatures(name, signature):
    found = inspect.signature(getattr(xp, name))
    bare = [one.replace(annotation=inspect.Parameter.empty) for one in found.parameters.values()]
    assert (
        str(found.replace(parameters=bare, return_annotation=inspect.Signature.empty)) == signature
    )


def program(x):
    """As a library writes it that does not know which arrays it is given."""
    xp = x.__array_namespace__()
    centered = x - xp.mean(x, axis=0, keepdims=True)
    return xp.matmul(xp.matrix_transpose(centered), centered) / (x.shape[0] - 1)


def test_a_program_of_the_standard_is_traced_as_a_whole():
    x = np.random.default_rng(0).normal(size=(7, 3))
    expected = program(x)
    jitted = sw.jit(program, opt="quick")
    np.testing.assert_allclose(jitted(x), expected, rtol=1e-12)
    np.testing.assert_allclose(jitted(xp.asarray(x)), expected, rtol=1e-12)
    outside = program(xp.asarray(x))
    assert isinstance(outside, xp.Array) and outside.dtype == xp.float64
    np.testing.assert_allclose(np.asarray(outside), expected, rtol=1e-12)


def test_functions_are_compiled_once_for_numbers():
    from stepwell.frontend.array_api.elementwise import FUNCTIONS

    x = xp.asarray([1.5, -2.0], dtype=xp.float32)
    for number in (2, 0.5, 7.25):
        found = FUNCTIONS["multiply"](x, number)
        assert found.dtype == xp.float32
        assert np.asarray(found).tolist() == [1.5 * number, -2 * number]
    assert xp.asarray(3.0, dtype=xp.float32) * 2 == 6 and np.asarray(2 - x).tolist() == [0.5, 4]


def test_elements_are_read_and_written():
    x = xp.asarray([[1, 2, 3], [4, 5, 6]])
    assert int(x[1, 2]) == 6 and x[:, ::-1].shape == (2, 3)
    assert np.asarray(x[xp.asarray([1, 0]), xp.asarray([0, 2])]).tolist() == [4, 3]
    assert np.asarray(x[xp.asarray([1]), 1:]).tolist() == [[5, 6]]
    x[x > 4] = 0
    x[0, 0] = xp.asarray(9)
    assert np.asarray(x).tolist() == [[9, 2, 3], [4, 0, 0]]
    assert np.asarray(xp.asarray(np.arange(3), copy=False)).tolist() == [0, 1, 2]
    with pytest.raises(TypeError, match="found bool of an array of shape"):
        bool(x)
    with pytest.raises(ValueError, match=r"found extent 2 on axis 0 .*, expected 1"):
        xp.squeeze(x, 0)
    with pytest.raises(IndexError, match=r"found axis 3 for a tensor of rank 3, expected -3 to 2"):
        xp.expand_dims(x, axis=3)


def test_results_whose_shapes_the_elements_say():
    x = xp.asarray([3, 1, 3, 0])
    found = xp.unique_all(x)
    assert found._fields == ("values", "indices", "inverse_indices", "counts")
    assert np.asarray(found.counts).tolist() == [1, 1, 2]
    assert np.asarray(xp.nonzero(x)[0]).tolist() == [0, 1, 2]
    assert np.asarray(x[x > 1]).tolist() == [3, 3]
    assert np.asarray(xp.repeat(x, xp.asarray([0, 2, 1, 0]))).tolist() == [1, 1, 3]


def test_what_the_namespace_says_about_itself():
    info = xp.__array_namespace_info__()
    assert info.devices() == [info.default_device()] == [xp.ones(1).device]
    assert info.default_dtypes()["real floating"] == xp.float64
    assert set(info.dtypes(kind=("signed integer", "bool"))) == {
        *("bool", "int8", "int16", "int32", "int64")
    }
    assert xp.isdtype(xp.float32, "real floating") and not xp.isdtype(xp.uint8, "signed integer")
    assert xp.finfo(xp.float32).eps == 2.0**-23 and xp.iinfo(xp.int8).max == 127
    assert xp.result_type(xp.float32, xp.int8, 1) == xp.float32
    assert xp.ones(2).__array_namespace__(api_version="2023.12") is xp


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: xp.zeros(3, device="gpu"), "found device 'gpu', expected 'cpu'"),
        (lambda: xp.ones(1).__array_namespace__(api_version="2010.01"), "found version '2010.01'"),
        (lambda: xp.ones(3).T, "found .T of an array of 1 axes, expected 2"),
        (lambda: xp.finfo(xp.int8), "found finfo of int8, expected a floating-point dtype"),
        (lambda: xp.__array_namespace_info__().dtypes(kind="odd"), "found the kind 'odd'"),
        (
            lambda: sw.jit(lambda x: x.__array_namespace__().unique_values(x))(np.arange(3)),
            "found unique without size= in a traced function",
        ),
    ],
)
def test_messages(call, message):
    with pytest.raises(sw.StepwellError, match=message):
        call()
