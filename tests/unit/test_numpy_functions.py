"""NumPy's functions against NumPy, by the table of `numpy_calls`: at once on several dtypes, and compiled."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import stepwell as sw
from unit.numpy_calls import ROOMS, SIZED

FLOATS = ["x", "y", "p", "m", "v", "r", "z", "c"]


def arrays(dtype):
    """The arrays of the table; of integers those of floats, times four."""
    generator = np.random.default_rng(7)
    shapes = {
        "x": (3, 5),
        "y": (5,),
        "p": (3, 5),
        "m": (5, 5),
        "v": (7,),
        "r": (7,),
        "c": (3, 4, 5),
    }
    found = {name: generator.uniform(-2, 2, shape) for name, shape in shapes.items()}
    found["p"] = np.abs(found["p"]) + 0.25
    found["r"] = np.sort(found["r"])
    found["z"] = np.where(generator.uniform(size=(3, 5)) < 0.3, np.nan, found["x"])
    dtype = np.dtype(dtype)
    if dtype.kind != "f":
        found["z"] = found["x"]
        found = {name: np.round(array * 4) for name, array in found.items()}
        found["p"] += 1
    if dtype.kind == "u":
        found = {name: np.abs(array) for name, array in found.items()}
        found["r"] = np.sort(found["r"])
    found = {name: array.astype(dtype) for name, array in found.items()}
    found["i"] = np.array([2, 0, 1, 2])
    found["k"] = generator.integers(-9, 9, (3, 5))
    found["j"] = generator.integers(-9, 9, 5)
    found["u"] = generator.integers(0, 50, (3, 5)).astype(np.uint8)
    found["b"] = found["x"] > 0 if dtype.kind != "u" else found["x"] > 3
    return found


def leaves(value):
    if isinstance(value, tuple | list):
        return [leaf for part in value for leaf in leaves(part)]
    return [value]


def calls(text, namespace, given):
    """What each of the calls gives, flat."""
    found = []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for call in text.split(";"):
            code = " ".join(call.split())
            found += leaves(eval(code, {"np": namespace, **given}))
    return found


def compare(text, found, expected, given):
    assert len(found) == len(expected), text
    single = given["x"].dtype == np.float32
    for one, other in zip(found, expected, strict=True):
        one, other = np.asarray(one), np.asarray(other)
        assert one.shape == other.shape, text
        assert one.dtype == other.dtype or narrow(other.dtype) == one.dtype, (
            text,
            one.dtype,
            other.dtype,
        )
        tolerance = 2e-3 if other.dtype == np.float16 else 2e-5 if single else 1e-9
        np.testing.assert_allclose(
            one.astype(float), other.astype(float), rtol=tolerance, atol=tolerance, err_msg=text
        )


def narrow(dtype):
    """Where NumPy computes in float16 Stepwell takes float32."""
    return np.dtype(np.float32) if dtype == np.float16 else dtype


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "u1"])
def test_at_once(dtype):
    given = arrays(dtype)
    for table in ROOMS.values():
        for text in table.values():
            try:
                expected = calls(text, np, given)
            except TypeError:
                assert dtype == "u1", text  # -x of unsigned integers, for instance
                continue
            compare(text, calls(text, sw, given), expected, given)


def compiled_and_expected(texts, given):
    """What each text gives in one function, compiled, and what NumPy gives."""

    def function(given):
        return [calls(text, sw, given) for text in texts]

    return sw.jit(function, opt="quick")(given), [calls(text, np, given) for text in texts]


@pytest.mark.slow
@pytest.mark.sampled(2)
@pytest.mark.parametrize("room", ROOMS)
def test_compiled(room):
    given = arrays("f4")
    texts = list(ROOMS[room].values())
    found = compiled_and_expected(texts, given)
    for text, one, expected in zip(texts, *found, strict=True):
        compare(text, one, expected, given)


def test_sizes_that_the_data_says():
    given = arrays("f4")
    exact = [text.format(size="") for text in SIZED.values()]
    sized = [text.format(size=", size=9") for text in SIZED.values()]
    expected = [calls(text, np, given) for text in exact]
    for text, one in zip(exact, expected, strict=True):
        compare(text, calls(text, sw, given), one, given)

    def function(given):
        return [calls(text, sw, given) for text in sized]

    module = sw.jit(function).lower(given).module("graph")
    found = iter(sw.interpret(module, list(given.values())))
    for text, parts in zip(sized, expected, strict=True):
        for other in map(np.asarray, parts):
            one = next(found)
            along = [axis for axis, extent in enumerate(one.shape) if extent == 9]
            count = min(9, other.shape[along[0]]) if along else 0
            cut = tuple(slice(count) if axis in along else slice(None) for axis in range(one.ndim))
            np.testing.assert_array_equal(one[cut], other[cut], err_msg=text)


def test_every_call_is_of_a_public_name():
    names = {name for table in (*ROOMS.values(), SIZED) for name in table}
    assert not [name for name in names if name not in dir(sw)]


# What NumPy has no function for, or one that writes into its argument.


def test_copies_with_elements_written():
    x, indices = np.arange(12.0).reshape(3, 4), np.array([[1], [0], [3]])
    written, filled, placed = x.copy(), x.copy(), x.copy()
    np.put_along_axis(written, indices, 9, 1)
    np.testing.assert_array_equal(sw.put_along_axis(x, indices, 9, 1), written)
    np.fill_diagonal(filled, [7, 8, 9])
    np.testing.assert_array_equal(sw.fill_diagonal(x, [7, 8, 9]), filled)
    np.put(placed, [0, -1, 5], [1, 2])
    np.testing.assert_array_equal(sw.put(x, [0, -1, 5], [1, 2]), placed)


def test_what_numpy_writes_where_a_mask_holds_is_a_copy():
    x = np.arange(12.0).reshape(3, 4)
    calls = {
        "putmask": ((x > 4, np.array([1, 2, 3])), {}),
        "place": ((x > 4, np.array([1, 2, 3])), {}),
        "copyto": ((np.arange(4),), {"where": x > 3}),
    }
    for name, (args, kwargs) in calls.items():
        written = x.copy()
        getattr(np, name)(written, *args, **kwargs)
        np.testing.assert_array_equal(getattr(sw, name)(x, *args, **kwargs), written)
    np.testing.assert_array_equal(sw.place([1, 2, 3], [True, False, True], [8, 9]), [8, 2, 9])
    for wrong in (lambda: sw.putmask(x, x[0] > 1, 0), lambda: sw.copyto(np.arange(4), x[0])):
        with pytest.raises(sw.StepwellError, match="expected"):
            wrong()


def test_functions_are_applied_along_axes():
    x = np.arange(12.0).reshape(3, 4)

    def products(v):
        return v[:2, None] * v[None, :3]

    for axis in (0, -1):
        expected = np.apply_along_axis(products, axis, x)
        np.testing.assert_array_equal(sw.apply_along_axis(products, axis, x), expected)
    compiled = sw.jit(lambda x: np.apply_along_axis(lambda v: v - v.mean(), 1, x), opt="quick")
    np.testing.assert_allclose(compiled(x), x - x.mean(1, keepdims=True))
    over = np.apply_over_axes(np.sum, x, [0, 1])
    np.testing.assert_array_equal(sw.apply_over_axes(np.sum, x, [0, 1]), over)
    np.testing.assert_array_equal(sw.mask_indices(3, np.triu), np.mask_indices(3, np.triu))
    with pytest.raises(sw.StepwellError, match=r"found 2000 slices .* expected 1 to 1000"):
        sw.apply_along_axis(np.sum, 1, np.zeros((2000, 2)))


def test_arrays_in_brackets_are_joined():
    x = np.arange(12.0).reshape(3, 4)
    np.testing.assert_array_equal(sw.r_[x[0], 0, 1:5], np.r_[x[0], 0, 1:5])
    np.testing.assert_array_equal(sw.r_[0:1:5j], np.r_[0:1:5j])
    compiled = sw.jit(lambda x: (sw.c_[x[0], x[1]], sw.r_[x, x], sw.mgrid[0:2, 0:3]), opt="quick")
    for found, expected in zip(
        compiled(x), (np.c_[x[0], x[1]], np.r_[x, x], np.mgrid[0:2, 0:3]), strict=True
    ):
        np.testing.assert_array_equal(found, expected)
    with pytest.raises(sw.StepwellError, match="found 'r' in r_"):
        sw.r_["r", x]


def test_running_extremes():
    x = np.random.default_rng(3).normal(size=(3, 7)).astype(np.float32)
    np.testing.assert_array_equal(sw.cummax(x, 1), np.maximum.accumulate(x, 1))
    np.testing.assert_array_equal(sw.cummin(x), np.minimum.accumulate(x.reshape(-1)))
    backwards = np.maximum.accumulate(x[:, ::-1], 1)[:, ::-1]
    np.testing.assert_array_equal(sw.cummax(x, 1, reverse=True), backwards)
    x[1, 2], x[0, 0] = np.nan, -np.inf
    for y in (x, (4 * np.nan_to_num(x, neginf=0)).astype(np.int8), x > 0):
        for axis in (0, 1):
            np.testing.assert_array_equal(sw.cummin(y, axis), np.minimum.accumulate(y, axis))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("low", "high", "bins"), [(0.0, 1.0, 50), (-1.3, 2.7, 7), (5.0, 5.0, 3)])
def test_histogram_decides_at_its_edges(dtype: str, low: float, high: float, bins: int):
    """The numbers are the edges, those next to them, and more than two blocks of others, which are computed ahead."""
    edges = np.histogram_bin_edges(np.zeros(0, dtype), bins, (low, high))
    others = np.random.default_rng(0).uniform(low - 0.1, high + 0.1, 2200).astype(dtype)
    near = [np.nextafter(edges, np.array(to, dtype)) for to in (-np.inf, np.inf)]
    x = np.concatenate([others, edges, *near, np.array([np.nan, np.inf, -np.inf], dtype)])
    found = sw.jit(lambda x: sw.histogram(x, bins, (low, high)))(x)
    for one, other in zip(found, np.histogram(x, bins, (low, high)), strict=True):
        np.testing.assert_array_equal(one, other)


def test_bincount():
    x, weights = np.array([3, 0, 3, 1]), np.array([0.5, 1, 2, 4], np.float32)
    for found, expected in (
        (sw.bincount(x), np.bincount(x)),
        (sw.bincount(x, minlength=6), np.bincount(x, minlength=6)),
        (sw.jit(lambda x, w: sw.bincount(x, w, length=4))(x, weights), np.bincount(x, weights)),
    ):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
    assert sw.bincount(np.array([-1, 5, 1]), length=3).tolist() == [0, 1, 0]


def test_unique_values_are_in_order():
    x = np.array([3, -1, 3, 7])
    assert sw.unique_values(x).tolist() == [-1, 3, 7]
    assert sw.jit(lambda x: sw.unique_values(x, size=5))(x).tolist() == [-1, 3, 7, -1, -1]


def test_pad_with_the_mean():
    x = np.random.default_rng(0).normal(size=(3, 4))
    np.testing.assert_allclose(
        sw.pad(x, ((1, 0), (0, 2)), "mean"), np.pad(x, ((1, 0), (0, 2)), "mean")
    )
    whole = np.array([1, 2, 4, 9])
    np.testing.assert_array_equal(sw.pad(whole, 2, "mean"), np.pad(whole, 2, "mean"))


@pytest.mark.parametrize("name", ["nonzero", "unique", "bincount"])
def test_sizes_are_asked_for(name):
    what = "length=" if name == "bincount" else "size="
    with pytest.raises(sw.StepwellError, match=f"found {name} without {what} in a traced function"):
        sw.jit(lambda x: getattr(sw, name)(x))(np.arange(3))


def test_namespaces():
    x = np.random.default_rng(1).normal(size=(4, 4))
    for ord in (None, 1, -1, np.inf, -np.inf, "fro"):
        np.testing.assert_allclose(sw.linalg.norm(x, ord), np.linalg.norm(x, ord))
    for ord in (None, 0, 1, 2, 3, np.inf, -np.inf):
        np.testing.assert_allclose(sw.linalg.norm(x[0], ord), np.linalg.norm(x[0], ord))
    np.testing.assert_allclose(
        sw.linalg.norm(x, axis=1, keepdims=True), np.linalg.norm(x, axis=1, keepdims=True)
    )
    np.testing.assert_allclose(sw.linalg.matrix_power(x, 5), np.linalg.matrix_power(x, 5))
    np.testing.assert_allclose(sw.linalg.matrix_power(x, 0), np.eye(4))
    parts = [x[:2], x, x[:, :3], x[0, :3]]
    np.testing.assert_allclose(sw.linalg.multi_dot(parts), np.linalg.multi_dot(parts))
    np.testing.assert_array_equal(sw.fft.fftfreq(5, 0.5), np.fft.fftfreq(5, 0.5))
    np.testing.assert_array_equal(sw.fft.rfftfreq(5), np.fft.rfftfreq(5))
    np.testing.assert_array_equal(sw.fft.fftshift(x[:3]), np.fft.fftshift(x[:3]))
    np.testing.assert_array_equal(sw.fft.ifftshift(x[:3], 0), np.fft.ifftshift(x[:3], 0))
    assert sw.nn.relu is sw.relu and sw.linalg.cross is sw.cross


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("mediam", "did you mean 'median' or 'nanmedian'"),
        ("zxqwv", r"dir\(stepwell\) lists what there is"),
        ("vectorize", "it calls Python for each element"),
        ("sort_complex", "there is no order of complex numbers"),
    ],
)
def test_names_that_are_not_there(name, message):
    with pytest.raises(AttributeError, match=message):
        getattr(sw, name)


def test_names_that_namespaces_do_not_have():
    with pytest.raises(
        AttributeError, match=r"'stepwell.linalg' has no attribute 'eig': there is no operation"
    ):
        sw.linalg.eig  # noqa: B018
    with pytest.raises(
        AttributeError, match=r"'stepwell.linalg' has no attribute 'nrom'; did you mean 'norm'"
    ):
        sw.linalg.nrom  # noqa: B018


def test_questions_about_arrays_are_answered_while_tracing():
    def function(x):
        assert np.ndim(x) == sw.ndim(x) == 2 and np.shape(x) == sw.shape(x) == (2, 3)
        assert (
            np.size(x) == 6 and sw.size(x, 1) == 3 and np.result_type(np.float32, 1) == np.float32
        )
        assert sw.result_type(x, np.float64, 1) == np.float64 and not sw.iscomplexobj(x)
        return x * sw.pi + sw.float32(1)

    x = np.ones((2, 3), np.float32)
    np.testing.assert_allclose(sw.jit(function)(x), x * np.float32(np.pi) + 1, rtol=1e-6)
