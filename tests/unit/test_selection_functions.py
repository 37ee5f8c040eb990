"""What picks, repeats and marks elements by index, and einsum: at once, interpreted and native, against NumPy."""

import numpy as np
import pytest
import stepwell as sw
from hypothesis import given, settings
from hypothesis import strategies as st

RNG = np.random.default_rng(7)


def numbers(*shape, dtype=np.float32):
    """Small whole numbers, whose sums of products are exact."""
    return RNG.integers(-4, 5, shape).astype(dtype)


def check(function, expected, *arrays):
    """The function at once, natively, and interpreted at te, gives what is expected."""
    expected = np.asarray(expected)
    jitted = sw.jit(function, opt="quick")
    module = jitted.lower(*arrays).module("te")
    for found in (function(*arrays), jitted(*arrays), sw.interpret(module, arrays)):
        (found,) = found if isinstance(found, tuple | list) else (found,)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


def test_take_along_axis():
    x, order = numbers(3, 17), RNG.integers(-17, 17, (3, 5))
    check(sw.take_along_axis, np.take_along_axis(x, order, -1), x, order)
    flat = RNG.integers(0, 51, 4)
    found = sw.take_along_axis(x, flat, None)
    np.testing.assert_array_equal(found, np.take_along_axis(x, flat, None))
    broadcast = RNG.integers(0, 17, (1, 2))
    np.testing.assert_array_equal(
        sw.take_along_axis(x, broadcast), np.take_along_axis(x, broadcast, -1)
    )


def test_gather_elements_may_be_shorter_on_other_axes():
    x, index = numbers(5, 4), np.array([[4, 0], [1, -1]])
    check(sw.gather_elements, [[x[4, 0], x[0, 1]], [x[1, 0], x[4, 1]]], x, index)


def test_gather_nd():
    x = numbers(3, 4, 5)
    check(sw.gather_nd, x[[2, 0], [1, 3]], x, np.array([[2, 1], [0, 3]]))
    batched = np.array([[1], [3], [0]], np.int32)
    check(lambda x, i: sw.gather_nd(x, i, 1), x[np.arange(3), batched[:, 0]], x, batched)


@pytest.mark.parametrize("reps", [2, (2,), (3, 2), (2, 1, 3), (0, 2)])
def test_tile(reps):
    x = numbers(3, 5)
    check(lambda x: sw.tile(x, reps), np.tile(x, reps), x)


def test_repeat():
    x = numbers(3, 5)
    check(lambda x: sw.repeat(x, 3, axis=1), np.repeat(x, 3, axis=1), x)
    np.testing.assert_array_equal(sw.repeat(x, 2), np.repeat(x, 2))


def test_one_hot():
    indices = np.array([0, 2, -1, 5, -6])
    expected = np.zeros((5, 3), np.int64)
    expected[[0, 1, 2], [0, 2, 2]] = 1
    check(lambda i: sw.one_hot(i, 3), expected, indices)
    check(lambda i: sw.one_hot(i, 3, axis=0, dtype=np.float32), expected.T.astype("f4"), indices)
    check(
        lambda i: sw.one_hot(i, 3, np.float32(2), np.float32(-1)),
        (expected * 3 - 1).astype("f4"),
        indices,
    )


@pytest.mark.parametrize("k", [-3, -1, 0, 2, 9])
def test_triangles(k):
    x = numbers(2, 3, 5)
    check(lambda x: sw.tril(x, k), np.tril(x, k), x)
    check(lambda x: sw.triu(x, k), np.triu(x, k), x)


@pytest.mark.parametrize("offset", [-4, -2, 0, 1, 3])
def test_diagonal(offset):
    x = numbers(3, 5, 2)
    check(lambda x: sw.diagonal(x, offset), np.diagonal(x, offset), x)
    np.testing.assert_array_equal(sw.diagonal(x, offset, 2, 1), np.diagonal(x, offset, 2, 1))


def test_reverse_sequence():
    x, lengths = numbers(4, 3, 2), np.array([2, 4, 1])
    expected = x.copy()
    for batch, length in enumerate(lengths):
        expected[:length, batch] = x[:length, batch][::-1]
    check(sw.reverse_sequence, expected, x, lengths)
    by_rows = lambda x, n: sw.reverse_sequence(x, n, time_axis=1, batch_axis=0)  # noqa: E731
    check(by_rows, expected.swapaxes(0, 1), x.swapaxes(0, 1).copy(), lengths)


@pytest.mark.parametrize("dtype", ["i1", "u1", "i4", "u8"])
def test_shifts(dtype):
    x = np.array([-128, -1, 0, 1, 77, 127]).astype(dtype)[:, None]
    by = np.array([0, 1, 7, 8, 31, 32, 64, 100]).astype(dtype)
    check(sw.left_shift, np.left_shift(x, by), x, by)
    check(sw.right_shift, np.right_shift(x, by), x, by)
    check(lambda x, by: (x << by) >> by, (x << by) >> by, x, by)
    check(lambda by: (1 << by) + (64 >> by), (1 << by) + (64 >> by), by)
    np.testing.assert_array_equal(sw.bitwise_left_shift(x, by), sw.left_shift(x, by))
    np.testing.assert_array_equal(sw.bitwise_right_shift(x, by), sw.right_shift(x, by))


EQUATIONS = {
    "ij,jk->ik": ((3, 5), (5, 7)),
    "ij,jk": ((3, 5), (5, 7)),
    "ii": ((5, 5),),
    "iij->ji": ((3, 3, 5),),
    "...ij,...jk->...ik": ((2, 1, 3, 5), (4, 5, 3)),
    "i,j->ij": ((3,), (17,)),
    "bhqd,bhkd->bhqk": ((2, 3, 5, 7), (2, 3, 4, 7)),
    "ij,jk,kl->il": ((3, 4), (4, 5), (5, 7)),
    "ij,k->i": ((3, 4), (2,)),
    "...,...": ((3, 4), (4,)),
    "ij,ij->i": ((3, 1), (3, 4)),
    ",->": ((), ()),
}


@pytest.mark.parametrize("equation", EQUATIONS)
def test_einsum(equation):
    arrays = [numbers(*shape) for shape in EQUATIONS[equation]]
    check(lambda *xs: sw.einsum(equation, *xs), np.einsum(equation, *arrays), *arrays)


@st.composite
def equations(draw):
    """Any einsum of one to three operands over at most four letters, and its shapes."""
    extents = draw(st.lists(st.sampled_from([1, 2, 3]), min_size=4, max_size=4))
    letters = st.sampled_from("abcd")
    parts = draw(st.lists(st.lists(letters, max_size=3), min_size=1, max_size=3))
    used = sorted({letter for part in parts for letter in part})
    output = draw(st.permutations(used))[: draw(st.integers(0, len(used)))]
    shapes = [tuple(extents["abcd".index(letter)] for letter in part) for part in parts]
    return ",".join(map("".join, parts)) + "->" + "".join(output), shapes


@settings(max_examples=150, deadline=None)
@given(equations())
def test_any_einsum(case):
    equation, shapes = case
    arrays = [numbers(*shape) for shape in shapes]
    np.testing.assert_array_equal(sw.einsum(equation, *arrays), np.einsum(equation, *arrays))


def test_a_product_of_matrices_is_a_matmul():
    text = (
        sw.jit(lambda a, b: sw.einsum("bij,bkj->bik", a, b))
        .lower(numbers(2, 3, 5), numbers(2, 7, 5))
        .as_text("graph")
    )
    assert text.count("graph.matmul") == 1
    assert "graph.mul" not in text
    assert "graph.sum" not in text


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: sw.einsum("ij,jk->ik", x), "found 1 operands for the 2 in"),
        (lambda x: sw.einsum("ijk->i", x), "found 'ijk' in 'ijk->i' for a tensor of 2 axes"),
        (lambda x: sw.einsum("ij->k", x), "found 'k' for the result"),
        (lambda x: sw.einsum("ij,jk", x, x), "found extents 5 and 3 for 'j'"),
        (lambda x: sw.einsum("ii", x), "found extents 3 and 5 for 'i' in one operand"),
        (lambda x: sw.tile(x, -1), "found reps"),
        (lambda x: sw.repeat(x, -1), "found -1 repeats"),
        (lambda x: sw.one_hot(x, -1), "found depth -1"),
        (lambda x: sw.tril(x[0]), "found a tensor of 1 axes"),
        (lambda x: sw.diagonal(x, 0, 1, 1), "found axis 1 twice"),
        (lambda x: sw.reverse_sequence(x, np.array([1])), "found lengths of shape"),
        (lambda x: sw.gather_nd(x, np.zeros((2, 3), int)), "found tuples of 3 indices"),
        (lambda x: sw.gather_nd(x, x), "found indices of float32"),
        (lambda x: sw.gather_elements(x, np.zeros((2, 9), int)), "found indices of shape 2x9"),
        (lambda x: sw.take_along_axis(x, np.zeros((2, 5), int)), "found shapes"),
    ],
)
def test_mistakes_are_one_line(call, message):
    with pytest.raises(sw.StepwellError, match=message) as error:
        call(numbers(3, 5))
    assert "\n" not in str(error.value)
