"""Functions of whole matrices against NumPy's: their values where the problem is well posed, and residuals everywhere."""

import numpy as np
import pytest
import stepwell as sw

SIZES = (1, 2, 3, 5, 7, 17, 31)
QUICK = [
    *((size, "f8", 1.0) for size in (1, 5)),
    (7, "f4", 1.0),
    (7, "f8", 1e10),
]
SLOW = [(size, dtype, ratio) for size in SIZES for dtype in ("f4", "f8") for ratio in (1.0, 1e5)]
PROBLEMS = pytest.mark.parametrize(
    ("size", "dtype", "ratio"),
    [*QUICK, *(pytest.param(*problem, marks=pytest.mark.slow) for problem in SLOW)],
)


def matrices(size, dtype, ratio, batch=(2,), rows=None):
    """Random ones, whose columns differ in size up to `ratio`."""
    x = np.random.default_rng(size).normal(size=(*batch, rows or size, size))
    return (x * np.geomspace(1, 1 / ratio, size)).astype(dtype)


def compiled(function, *args):
    return sw.jit(function, opt="quick")(*args)


def assert_small(residual, *magnitudes):
    """Below 50 roundings of the sizes that were added: a backward stable algorithm's, whatever the condition."""
    bound = 50 * np.finfo(residual.dtype).eps * residual.shape[-1]
    norms = np.prod([np.linalg.norm(x, axis=(-2, -1)) for x in magnitudes], 0)
    assert (np.linalg.norm(residual, axis=(-2, -1)) <= bound * norms).all()


@PROBLEMS
def test_solve_inv_and_determinants(size, dtype, ratio):
    a, b = matrices(size, dtype, ratio), matrices(3, dtype, 1, (2,), size)

    def functions(a, b):
        sign, logarithm = sw.linalg.slogdet(a)
        return sw.linalg.solve(a, b), sw.linalg.inv(a), sw.linalg.det(a), sign, logarithm

    x, inverse, det, sign, logarithm = compiled(functions, a, b)
    assert x.dtype == inverse.dtype == det.dtype == sign.dtype == logarithm.dtype == dtype
    assert_small(a @ x - b, a, x)
    assert_small(a @ inverse - np.eye(size, dtype=dtype), a, inverse)
    tolerance = {"rtol": 1e3 * size * np.finfo(dtype).eps, "atol": 0}
    expected = np.linalg.slogdet(a.astype("f8"))
    np.testing.assert_array_equal(sign, expected.sign)
    np.testing.assert_allclose(logarithm, expected.logabsdet, rtol=1e-2, atol=1e-3)
    np.testing.assert_allclose(np.sign(det) * sign, np.where(det == 0, 0, 1))
    if ratio == 1:
        np.testing.assert_allclose(det, np.linalg.det(a.astype("f8")), **tolerance)


@PROBLEMS
def test_cholesky(size, dtype, ratio):
    x = matrices(size, "f8", min(ratio, 100), (2,), 2 * size)
    x = (np.swapaxes(x, -1, -2) @ x).astype(dtype)
    lower, upper = compiled(lambda x: (sw.linalg.cholesky(x), sw.linalg.cholesky(x, upper=True)), x)
    assert_small(lower @ np.swapaxes(lower, -1, -2) - x, lower, lower)
    np.testing.assert_array_equal(upper, np.swapaxes(lower, -1, -2))
    np.testing.assert_array_equal(np.triu(lower, 1), 0)
    assert (np.diagonal(lower, 0, -2, -1) > 0).all()


@PROBLEMS
@pytest.mark.parametrize("mode", ["reduced", "complete"])
def test_qr(size, dtype, ratio, mode):
    for rows in (size, 2 * size + 1, max(size // 2, 1)):
        x = matrices(size, dtype, ratio, (2,), rows)
        q, r = compiled(lambda x: sw.linalg.qr(x, mode), x)
        expected = np.linalg.qr(x, mode)
        assert (q.shape, r.shape) == (expected.Q.shape, expected.R.shape)
        assert_small(q @ r - x, x)
        assert_small(np.swapaxes(q, -1, -2) @ q - np.eye(q.shape[-1], dtype=dtype), q)
        np.testing.assert_array_equal(np.tril(r, -1), 0)
        if ratio == 1:
            np.testing.assert_allclose(r, expected.R, atol=1e3 * np.finfo(dtype).eps * size)


def test_qr_of_the_largest_and_least_numbers():
    for scale in (1e200, 1e-200):
        x = np.random.default_rng(0).normal(size=(4, 3)) * scale
        q, r = compiled(sw.linalg.qr, x)
        np.testing.assert_allclose(q @ (r / scale), x / scale, atol=1e-14)


def test_one_vector_and_batches_that_broadcast():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 1, 3, 3)), rng.normal(size=(4, 3, 2))
    for function in (sw.linalg.solve, sw.jit(sw.linalg.solve, opt="quick")):
        np.testing.assert_allclose(function(a, b), np.linalg.solve(a, b), rtol=1e-9)
        np.testing.assert_allclose(function(a, b[0, :, 0]), np.linalg.solve(a, b[0, :, 0]))


def test_integers_narrow_floats_and_tensors():
    a = np.array([[2, 1], [7, 4]])
    np.testing.assert_allclose(sw.linalg.inv(a), [[4, -1], [-7, 2]])
    np.testing.assert_allclose(sw.linalg.matrix_power(a, -2), np.linalg.matrix_power(a, -2))
    assert sw.linalg.det(a.astype("f2")) == 1
    assert sw.linalg.det(a.astype("f2")).dtype == np.float16
    x = np.random.default_rng(0).normal(size=(2, 3, 6))
    np.testing.assert_allclose(sw.linalg.tensorinv(x), np.linalg.tensorinv(x))
    b = np.ones((2, 3))
    np.testing.assert_allclose(sw.linalg.tensorsolve(x, b), np.linalg.tensorsolve(x, b))
    y = x.reshape(2, 6, 3)
    expected = np.linalg.tensorsolve(y, b.ravel(), axes=(0,))
    np.testing.assert_allclose(sw.linalg.tensorsolve(y, b.ravel(), axes=(0,)), expected)


def test_rows_are_exchanged():
    a = np.array([[0.0, 2.0, 1.0], [3.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
    np.testing.assert_allclose(compiled(sw.linalg.det, a), np.linalg.det(a))
    np.testing.assert_allclose(compiled(sw.linalg.inv, a), np.linalg.inv(a), atol=1e-15)


def test_singular_matrices_raise_nothing():
    zeros = np.zeros((3, 3))
    for function in (lambda x: x, lambda x: sw.jit(x, opt="quick")):
        assert function(sw.linalg.det)(zeros) == 0
        assert function(lambda x: sw.linalg.slogdet(x))(zeros) == (0, -np.inf)
        assert not np.isfinite(function(sw.linalg.inv)(zeros)).any()
        found = function(sw.linalg.cholesky)(np.diag([1.0, -1.0, 1.0]))
        np.testing.assert_array_equal(np.isnan(found), [[0, 0, 0], [0, 1, 0], [0, 1, 1]])


def test_mistakes_are_one_line():
    with pytest.raises(sw.StepwellError, match=r"found shape 2x3, expected square matrices"):
        sw.linalg.det(np.zeros((2, 3)))
    with pytest.raises(sw.StepwellError, match=r"found matrices of shape \[3, 3\]"):
        sw.linalg.solve(np.zeros((3, 3)), np.zeros((2, 2)))
    with pytest.raises(sw.StepwellError, match=r"found mode 'raw' of qr"):
        sw.linalg.qr(np.zeros((3, 3)), "raw")
    with pytest.raises(sw.StepwellError, match=r"found shapes \[2, 3\] and \[2\] in tensorsolve"):
        sw.linalg.tensorsolve(np.zeros((2, 3)), np.zeros(2))
    with pytest.raises(sw.StepwellError, match=r"found shape \[2, 3\] and ind 1 in tensorinv"):
        sw.linalg.tensorinv(np.zeros((2, 3)), 1)


@pytest.mark.parametrize("size", [19, 20, 21, 33])
def test_rows_taken_several_at_a_time(size: int):
    """Whole blocks of rows and what is left of them, in a batch."""
    rng = np.random.default_rng(size)
    a, b = rng.normal(size=(2, size, size)), rng.normal(size=(2, size, 3))
    s = a @ np.swapaxes(a, -1, -2) + size * np.eye(size)
    factor, solved, det = sw.jit(
        lambda s, a, b: (sw.linalg.cholesky(s), sw.linalg.solve(a, b), sw.linalg.det(a))
    )(s, a, b)
    np.testing.assert_allclose(factor, np.linalg.cholesky(s), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(a @ solved, b, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(det, np.linalg.det(a), rtol=1e-9)
