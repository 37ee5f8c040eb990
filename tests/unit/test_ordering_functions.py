"""What writes, sums up and orders elements: at once, interpreted and native, against NumPy."""

from itertools import pairwise

import numpy as np
import pytest
import stepwell as sw
from hypothesis import given, settings
from hypothesis import strategies as st
from stepwell.frontend.numpy.sorting_networks import comparators

RNG = np.random.default_rng(11)


def run(function, *arrays):
    """What the function gives natively, with schedules, which it gives at once and interpreted at te too."""
    jitted = sw.jit(function)
    found = jitted(*arrays)
    found = list(found) if isinstance(found, tuple | list) else [found]
    module = jitted.lower(*arrays).module("te")
    for other in (function(*arrays), sw.interpret(module, arrays)):
        parts = list(other) if isinstance(other, tuple | list) else [other]
        for one, same in zip(found, parts, strict=True):
            assert one.dtype == same.dtype
            np.testing.assert_array_equal(one, same)
    return found if len(found) > 1 else found[0]


def numbers(*shape, dtype="f4"):
    return RNG.integers(-4, 5, shape).astype(dtype)


@pytest.mark.parametrize("axis", [0, 1, -1, None])
@pytest.mark.parametrize("dtype", ["f4", "i1", "f8"])
def test_cumsum_and_cumprod(axis, dtype):
    x = numbers(3, 5, 7, dtype=dtype)
    np.testing.assert_array_equal(run(lambda x: sw.cumsum(x, axis), x), np.cumsum(x, axis))
    x[x == 0] = 1
    found = sw.cumprod(x, axis)
    np.testing.assert_array_equal(found, np.cumprod(x, axis))
    assert found.dtype == np.cumprod(x, axis).dtype


def test_cumsum_exclusive_and_reverse():
    x = np.array([1, 2, 3, 4], np.float32)
    assert run(lambda x: sw.cumsum(x, 0, exclusive=True), x).tolist() == [0, 1, 3, 6]
    assert run(lambda x: sw.cumsum(x, 0, reverse=True), x).tolist() == [10, 9, 7, 4]
    both = run(lambda x: sw.cumsum(x, 0, exclusive=True, reverse=True), x)
    assert both.tolist() == [9, 7, 4, 0]
    assert sw.cumsum(x, 0, np.int32).dtype == np.int32


JOINS = {"none": None, "add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}


@pytest.mark.parametrize("reduction", JOINS)
def test_scatter(reduction):
    x, updates = numbers(5, 3), numbers(4, 3)
    indices = np.array([[0, 4, 2], [0, -1, 9], [1, 4, -9], [1, 1, 1]])
    expected, join = x.copy(), JOINS[reduction]
    for i, j in np.ndindex(4, 3):
        row, update = indices[i, j], updates[i, j]
        if -5 <= row < 5:
            expected[row, j] = update if join is None else join(expected[row, j], update)
    found = run(lambda *xs: sw.scatter_elements(*xs, 0, reduction), x, indices, updates)
    np.testing.assert_array_equal(found, expected)
    slices = np.array([[1], [-1], [1], [7]], np.int32)
    expected = x.copy()
    for row, update in zip((1, 4, 1), updates, strict=False):
        expected[row] = update if join is None else join(expected[row], update)
    found = run(lambda *xs: sw.scatter_nd(*xs, reduction), x, slices, updates)
    np.testing.assert_array_equal(found, expected)


def test_scatter_updates_a_tensor_in_place_where_nothing_else_needs_it():
    def update(x, indices, updates):
        return -sw.scatter_nd(x * 2, indices, updates)

    x, indices, updates = numbers(9), np.array([[1], [4]]), numbers(2)
    text = sw.jit(update).lower(x, indices, updates).as_text("loop")
    assert "memref.copy" not in text
    assert text.count("loop.alloc arena") == 1
    run(update, x, indices, updates)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i1", "u1", "i8", "u8", "?"])
@pytest.mark.parametrize("shape", [(33,), (3, 17), (1,), (2, 0)])
def test_sort(dtype, shape):
    x = RNG.integers(-9, 9, shape).astype(dtype)
    if x.dtype.kind == "f" and x.size > 3:
        x.flat[[0, 3]] = np.nan, -np.inf
    np.testing.assert_array_equal(run(sw.sort, x), np.sort(x))
    np.testing.assert_array_equal(sw.argsort(x), np.argsort(x, kind="stable"))
    np.testing.assert_array_equal(sw.sort(x, None), np.sort(x, None))
    if not np.isnan(x).any():
        order = sw.argsort(x, 0, descending=True)
        keys = x.astype("i1") if dtype == "?" else x
        keys = ~keys if keys.dtype.kind in "iu" else -keys
        np.testing.assert_array_equal(order, np.argsort(keys, 0, kind="stable"))


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i1", "u4", "i8"])
def test_long_rows_are_sorted_by_digits(dtype):
    x = np.abs(RNG.normal(0, 50, (2, 301))) if dtype == "u4" else RNG.normal(0, 50, (2, 301))
    x = x.astype(dtype)
    if x.dtype.kind == "f":
        x[:, ::40] = np.nan, -np.nan, -np.inf, np.inf, 0.0, -0.0, 5e-8, -5e-8

    def up_and_down(x):
        return sw.sort(x), sw.argsort(x), sw.argsort(x, descending=True)

    values, order, down = sw.jit(up_and_down, opt="quick")(x)
    np.testing.assert_array_equal(order, np.argsort(x, kind="stable"))
    np.testing.assert_array_equal(values, np.take_along_axis(x, order, -1))
    turned = 300 - np.argsort(x[:, ::-1], kind="stable")[:, ::-1]
    np.testing.assert_array_equal(down, turned)


@pytest.mark.parametrize("dtype", ["f8", "i8"])
@pytest.mark.parametrize("extent", [1201, 12007])
def test_what_the_highest_digits_leave_is_inserted_or_sorted_by_the_lowest(dtype: str, extent: int):
    """Neighbours that differ in low bits alone: none of them, few, many, and many that are equal."""
    low = RNG.integers(0, 2**20, extent)
    high = RNG.integers(0, 2**62, extent)
    bits = [
        high,
        np.where(low % 16 == 0, low, high),
        (high >> 58 << 58) + low,
        2**62 + low,
        RNG.choice(high[:5], extent),
        np.repeat(high, 3)[:extent] // 2 * 2 + low % 2,
        low % 1000,
    ]

    def up_and_down(x: sw.Tensor) -> tuple[sw.Tensor, ...]:
        return sw.sort(x), sw.argsort(x), sw.argsort(x, descending=True)

    traced = sw.jit(up_and_down, opt="quick")
    for each in bits:
        x = each.view(dtype) if dtype == "i8" else (each & (2**62 - 1)).view(dtype)
        values, order, down = traced(x)
        np.testing.assert_array_equal(values, np.sort(x))
        np.testing.assert_array_equal(order, np.argsort(x, kind="stable"))
        turned = extent - 1 - np.argsort(x[::-1], kind="stable")[::-1]
        np.testing.assert_array_equal(down, turned)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "u4", "i8"])
@pytest.mark.parametrize("extent", [37, 1201])
def test_few_places_of_sorted_rows(dtype, extent):
    x = np.abs(RNG.normal(0, 9, (2, extent))).astype(dtype)
    if x.dtype.kind == "f":
        x[:, ::40] = np.nan
        x[1, 1:9] = -np.nan, -np.inf, np.inf, 0.0, -0.0, 5e-8, -5e-8, -0.0
    middle = extent // 2
    order = np.argsort(x, kind="stable")
    turned = extent - 1 - np.argsort(x[:, ::-1], kind="stable")[:, ::-1]

    def ends(x):
        return sw.argsort(x)[:, :3], sw.sort(x)[:, 2:0:-1]

    def descending_ends(x):
        down = sw.argsort(x, descending=True)
        return down[:, :1], down[:, -1:]

    lowered = [sw.jit(each, opt="quick").lower(x) for each in (ends, descending_ends)]
    assert all("best" in each.as_text("te") for each in lowered)
    (first, values), (top, bottom) = (each.compile()(x) for each in lowered)
    np.testing.assert_array_equal(first, order[:, :3])
    np.testing.assert_array_equal(values, np.take_along_axis(x, order, -1)[:, 2:0:-1])
    np.testing.assert_array_equal(top, turned[:, :1])
    np.testing.assert_array_equal(bottom, turned[:, -1:])
    found = sw.jit(lambda x: sw.argsort(x)[:, middle : middle + 2], opt="quick")(x)
    np.testing.assert_array_equal(found, order[:, middle : middle + 2])


def test_rows_of_equal_elements_keep_their_order():
    x = np.zeros(3001, "f4")
    found = sw.jit(lambda x: sw.argsort(x)[1500:1502], opt="quick")(x)
    np.testing.assert_array_equal(found, [1500, 1501])


@pytest.mark.parametrize("count", range(1, 17))
def test_networks_of_comparators_sort(count):
    """By the principle of zeros and ones (Knuth, 5.3.4, theorem Z)."""
    rows = (np.arange(1 << count)[:, None] >> np.arange(count)) & 1
    expected = np.sort(rows, 1)
    for low, high in comparators(count):
        pair = rows[:, [low, high]]
        rows[:, low], rows[:, high] = pair.min(1), pair.max(1)
    np.testing.assert_array_equal(rows, expected)


@pytest.mark.parametrize("count", [1, 2, 5, 8, 16, 17])
def test_median_of_short_rows(count):
    x = RNG.normal(size=(count, 7)).astype(np.float32)
    x[0, 3], x[-1, 5] = np.nan, np.inf
    found = sw.jit(lambda x: sw.median(x, 0), opt="quick")(x)
    np.testing.assert_allclose(found, np.median(x, 0), rtol=1e-6)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.sampled_from([0.0, -0.0, 1.0, 2.0, np.nan, np.inf, -np.inf]), max_size=40))
def test_sorting_is_stable(values):
    x = np.array(values, np.float32)
    for descending in (False, True):
        order = sw.argsort(x, 0, descending=descending)
        assert sorted(order) == list(range(len(x)))
        ordered = x[order]
        np.testing.assert_array_equal(sw.sort(x, 0, descending=descending), ordered)
        for a, b in pairwise(order):
            if x[a] == x[b] or (np.isnan(x[a]) and np.isnan(x[b])):
                assert a < b


@pytest.mark.parametrize("largest", [True, False])
def test_topk_of_ties_takes_the_lower_index(largest):
    x = np.array([[3, 1, 3, 0, 3], [1, 1, 1, 1, 1]], np.float32)
    values, indices = run(lambda x: sw.topk(x, 3, largest=largest), x)
    expected = [[0, 2, 4], [0, 1, 2]] if largest else [[3, 1, 0], [0, 1, 2]]
    assert indices.tolist() == expected
    np.testing.assert_array_equal(values, np.take_along_axis(x, indices, 1))


@pytest.mark.parametrize("shape", [(17,), (3, 5), (2, 3, 4), ()])
def test_non_zero(shape):
    x = RNG.integers(0, 2, shape).astype("f4")
    indices, count = run(sw.nonzero_and_count, x)
    expected = np.array(np.nonzero(np.atleast_1d(x)) if shape else np.zeros((0, int(x))))
    np.testing.assert_array_equal(
        indices[:, : int(count)], expected.reshape(len(shape), int(count))
    )
    assert count == np.count_nonzero(x)


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_compress(axis):
    x, condition = numbers(4, 5), np.array([True, False, True, True])
    found, count = run(lambda c, x: sw.compress_and_count(c, x, axis), condition, x)
    assert count == 3
    kept = found if axis is None else np.moveaxis(found, axis, 0)
    expected = np.compress(condition, x, axis)
    expected = expected if axis is None else np.moveaxis(expected, axis, 0)
    np.testing.assert_array_equal(kept[:3], expected)
    assert not kept[3:].any()


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(-3, 3), max_size=20))
def test_unique(values):
    x = np.array(values, np.int64)
    y, first, inverse, counts, number = sw.unique_and_counts(x)
    expected = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
    for found, wanted in zip((y, first, inverse, counts), expected, strict=True):
        size = len(x) if wanted is expected[2] else int(number)
        np.testing.assert_array_equal(found[:size], wanted)
    y, first, inverse, counts, number = sw.unique_and_counts(x, sorted=False)
    order = np.argsort(expected[1])
    np.testing.assert_array_equal(y[:number], expected[0][order])
    np.testing.assert_array_equal(first[:number], expected[1][order])
    np.testing.assert_array_equal(counts[:number], expected[3][order])
    np.testing.assert_array_equal(y[inverse], x)


def test_unique_natively():
    x = np.array([[2, 1, 2], [9, 1, 9]], np.float32)
    y, first, inverse, counts, number = run(sw.unique_and_counts, x)
    assert (y[:3].tolist(), first[:3].tolist(), counts[:3].tolist()) == (
        [1, 2, 9],
        [1, 0, 3],
        [2] * 3,
    )
    assert (inverse.tolist(), number) == ([1, 0, 1, 2, 0, 2], 3)
    run(lambda x: sw.unique_and_counts(x, sorted=False), x)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: sw.scatter_elements(x, np.zeros((2, 3), int), x), "found updates of shape 5x3"),
        (lambda x: sw.scatter_elements(x, x, x), "found indices of float32"),
        (lambda x: sw.scatter_nd(x, np.zeros((2, 1), int), x), "found updates of shape 5x3"),
        (lambda x: sw.scatter_nd(x, np.zeros((5, 1), int), x, "sub"), "found reduction 'sub'"),
        (lambda x: sw.topk(x, 4), "found k = 4 for an axis of 3 elements"),
        (lambda x: sw.sort(x, 2), "found axis 2"),
        (lambda x: sw.compress_and_count(np.ones(6, bool), x, 0), "found a condition of shape .6."),
    ],
)
def test_mistakes_are_one_line(call, message):
    with pytest.raises(sw.StepwellError, match=message) as error:
        call(numbers(5, 3))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("shape", [(100,), (3, 67)])
@pytest.mark.parametrize("q", [0.3, [25 / 99, 0.75, 1.0]])
@pytest.mark.parametrize("method", ["linear", "nearest", "midpoint"])
def test_a_few_quantiles_are_selected(shape, q, method):
    x = np.random.default_rng(0).normal(size=shape)
    x[..., 3] = x[..., 5]

    def program(x):
        return np.quantile(x, q, axis=-1, method=method)

    np.testing.assert_allclose(sw.jit(program, opt="quick")(x), program(x), rtol=1e-12)
    x.flat[7] = np.nan
    np.testing.assert_allclose(sw.jit(program, opt="quick")(x), program(x), rtol=1e-12)


def test_neighbours_of_a_quantile_are_found_together():
    low = sw.jit(lambda x: np.quantile(x, 0.3)).lower(np.zeros(10000))
    sorts = [line for line in low.as_text("graph").splitlines() if "graph.sort" in line]
    assert len(sorts) == 1 and "places" not in sorts[0]
    assert low.as_text("te").count('te.kernel "sort') == 2  # the neighbours, and the last one


@pytest.mark.parametrize(
    ("shape", "axis", "dtype"),
    [((17, 5), 1, "f4"), ((9, 33), 1, "f8"), ((40, 17), 0, "i4"), ((2, 3, 5, 18), 2, "u4")],
)
def test_rows_in_lanes(shape, axis, dtype):
    rng = np.random.default_rng(0)
    x = rng.integers(0, 40, shape).astype(dtype)
    if dtype[0] == "f":
        for number in (np.nan, np.inf, -np.inf, -0.0):
            x.flat[rng.integers(0, x.size, 3)] = number

    def program(x):
        falling = sw.sort(x, axis=axis, descending=True)
        return sw.sort(x, axis=axis), falling, sw.argsort(x, axis=axis), *sw.topk(x, 4, axis=axis)

    rising, falling, order, most, places = sw.jit(program, opt="quick")(x)
    expected = np.sort(x, axis)
    np.testing.assert_array_equal(rising, expected)
    np.testing.assert_array_equal(falling, np.flip(expected, axis))
    np.testing.assert_array_equal(order, np.argsort(x, axis, kind="stable"))
    np.testing.assert_array_equal(np.take_along_axis(x, places, axis), most)
    np.testing.assert_array_equal(most, np.take(np.flip(expected, axis), range(4), axis))


def test_rows_in_lanes_under_other_axes_have_loops_of_their_own_names():
    low = sw.jit(lambda x: sw.sort(x, axis=1), opt="quick").lower(np.ones((2, 3, 16), "f4"))
    assert '"outer0"' in low.as_text("loop")


def test_loops_inside_of_each_other_have_different_names():
    text = sw.jit(lambda x: sw.argsort(x, axis=1)).lower(np.zeros((20, 2000))).as_text("te")
    assert '"i_1"' in text
