"""Eigenvalues, singular values and what is solved by them, against NumPy's values and by residuals."""

import numpy as np
import pytest
import stepwell as sw

SIZES = (1, 2, 3, 5, 17, 33, 100)
KINDS = ("random", "singular", "graded", "equal", "zero")
SLOW = [
    pytest.param(size, dtype, kind, marks=pytest.mark.slow)
    for size in SIZES
    for dtype in ("f4", "f8")
    for kind in KINDS
]


def problems(*quick):
    """The sizes, dtypes and kinds of matrices of a test."""
    return pytest.mark.parametrize(("size", "dtype", "kind"), [*quick, *SLOW])


def matrices(rows, columns, dtype, kind):
    """Two matrices: of rank 1, with columns of very different sizes, of equal values, of zeros, or of any."""
    x = np.random.default_rng(rows).normal(size=(2, rows, columns))
    if kind == "singular":
        x = x[:, :, :1] * x[:, :1, :]
    elif kind == "graded":
        x = x * np.geomspace(1e20, 1e8, columns)
    elif kind != "random":
        x[:] = np.eye(rows, columns) * 3 * (kind == "equal")
    return x.astype(dtype)


def compiled(function, *args):
    return sw.jit(function, opt="quick")(*args)


def assert_small(residual, scale=1.0):
    """Below the roundings of as many additions as there are rows, with room."""
    bound = 20 * np.finfo(residual.dtype).eps * max(residual.shape[-2:])
    assert np.abs(residual).max(initial=0) <= bound * scale


def transposed(x):
    return np.swapaxes(x, -1, -2)


@problems((5, "f4", "graded"), (17, "f8", "random"))
def test_eigh(size, dtype, kind):
    x = matrices(size, size, dtype, kind)
    x = x + transposed(x)
    scale = np.abs(x).max(initial=1e-30)

    def both(x):
        return sw.linalg.eigh(x), sw.linalg.eigvalsh(np.float32(2) * x, "U")

    (values, vectors), twice = compiled(both, x)
    assert values.dtype == vectors.dtype == dtype
    expected = np.linalg.eigvalsh(x.astype("f8"))
    assert_small((values - expected).astype(dtype), scale)
    assert_small((twice - 2 * expected).astype(dtype), 2 * scale)
    assert_small(x @ vectors - vectors * values[:, None], scale)
    assert_small(transposed(vectors) @ vectors - np.eye(size, dtype=dtype))


@problems((3, "f4", "random"), (5, "f8", "singular"))
def test_svd(size, dtype, kind):
    oblong = (size + 3, size) if dtype == "f4" else (size, size + 3)
    for rows, columns in [oblong, (size, size)][: 1 + (size > 5)]:
        x = matrices(rows, columns, dtype, kind)
        scale = np.abs(x).max(initial=1e-30)
        u, s, vh = compiled(sw.linalg.svd, x)
        assert u.dtype == s.dtype == vh.dtype == dtype
        assert_small((s - np.linalg.svdvals(x.astype("f8"))).astype(dtype), scale)
        assert (s[:, :-1] >= s[:, 1:]).all()
        assert_small((u[..., :size] * s[:, None]) @ vh[:, :size] - x, scale)
        for one in (u, vh):
            assert_small(transposed(one) @ one - np.eye(one.shape[-1], dtype=dtype))


def assert_same(found, expected):
    for one, other in zip(found, expected, strict=True):
        assert np.shape(one) == np.shape(other)
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


X, B = np.random.default_rng(0).normal(size=(2, 6, 4))


def solutions(numpy, x, b):
    """Of matrices of full rank and of rank 3."""
    deficient = x * np.array([1, 1, 1, 0.0])
    return (
        *numpy.lstsq(x, b)[:4],
        numpy.lstsq(deficient, b)[0],
        numpy.lstsq(deficient, b)[2],
        numpy.pinv(deficient, 1e-10),
        numpy.matrix_rank(deficient),
        numpy.cond(x),
        numpy.norm(x, "nuc"),
    )


def test_what_is_solved_by_singular_values():
    expected = solutions(np.linalg, X, B)
    assert_same(solutions(sw.linalg, X, B), expected)
    assert_same(compiled(lambda x, b: solutions(sw.linalg, x, b), X, B), expected)


def test_arguments_of_what_is_solved():
    def functions(numpy):
        square, stacked = X.T @ X, np.stack([X, 0 * X])
        return (
            *numpy.lstsq(X.T, B[:4, 0])[:4],
            numpy.svd(X, compute_uv=False),
            numpy.pinv(stacked, rtol=None),
            numpy.pinv(stacked, np.array([0.5, 0.1])),
            numpy.matrix_rank(stacked),
            numpy.matrix_rank(X[0]),
            numpy.matrix_rank(X, 2.0),
            *(numpy.cond(square, p) for p in (1, -1, 2, -2, "fro", np.inf)),
            numpy.cond(np.ones((2, 2)), 1),
            *(numpy.norm(X, order) for order in (2, -2, "fro", 1, -np.inf)),
            numpy.norm(np.stack([X, 2 * X], -1), 2, axis=(0, 2), keepdims=True),
            numpy.matrix_norm(stacked, ord=-2),
        )

    assert_same(functions(sw.linalg), functions(np.linalg))
    assert [part.shape for part in sw.linalg.svd(X, False)] == [(6, 4), (4,), (4, 4)]


def test_results_have_names_and_matrices_no_extent():
    assert sw.linalg.eigh(np.eye(2)).eigenvalues.tolist() == [1, 1]
    assert compiled(lambda x: sw.linalg.eigh(x), np.eye(2)).eigenvalues.tolist() == [1, 1]
    assert sw.linalg.svd(np.eye(2)).S.tolist() == [1, 1]
    assert sw.linalg.slogdet(np.eye(2)).logabsdet == 0
    empty = np.zeros((3, 0))
    found, expected = sw.linalg.svd(empty), np.linalg.svd(empty)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)
    assert sw.linalg.matrix_rank(empty) == 0
    assert sw.linalg.pinv(empty).shape == (0, 3)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_no_number_stays_none(bad):
    x = np.eye(3)
    x[1, 1] = bad
    values = compiled(lambda x: (sw.linalg.eigvalsh(x), sw.linalg.svdvals(x)), x)
    for found in (*values, sw.linalg.eigvalsh(x), sw.linalg.svdvals(x)):
        assert np.isnan(found).any()


def test_mistakes_are_one_line():
    with pytest.raises(sw.StepwellError, match=r"found UPLO 'X', expected 'L' or 'U'"):
        sw.linalg.eigh(np.eye(2), "X")
    with pytest.raises(sw.StepwellError, match=r"found shape 2x3, expected square matrices"):
        sw.linalg.eigvalsh(np.zeros((2, 3)))
    with pytest.raises(sw.StepwellError, match=r"found a of shape \[2, 3\] and b of shape \[3\]"):
        sw.linalg.lstsq(np.zeros((2, 3)), np.zeros(3))
    with pytest.raises(sw.StepwellError, match=r"found ord 3 of a matrix"):
        sw.linalg.norm(np.eye(2), 3)
