"""Products of many rows with a few numbers, and pictures as lists of pixels, agree with NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import stepwell as sw


def projected(points: Any, m: Any) -> Any:
    """Homogeneous coordinates: the last column is divided by."""
    q = points @ m.T
    return q[..., :-1] / q[..., -1:]


def in_lists(picture: Any, m: Any) -> Any:
    """Of each pixel of a list another one's weights, and the list as a picture again."""
    pixels = picture.reshape(-1, picture.shape[-1])
    return ((pixels * 2 + pixels[:, :1]) @ m).reshape(*picture.shape[:2], -1)


@pytest.mark.parametrize(("rows", "terms", "columns"), [(257, 4, 4), (300, 3, 2), (263, 8, 8)])
def test_projections(rows: int, terms: int, columns: int):
    rng = np.random.default_rng(rows)
    points, m = rng.random((rows, terms)) + 1, rng.random((columns, terms)) + 1
    found = sw.jit(projected)(points, m)
    np.testing.assert_allclose(found, projected(points, m), rtol=1e-13)


@pytest.mark.parametrize("dtype", ["float32", "int16"])
@pytest.mark.parametrize("shape", [(17, 31, 3), (33, 100, 2)])
def test_pictures_as_lists(shape: tuple[int, ...], dtype: str):
    rng = np.random.default_rng(3)
    picture = rng.integers(-9, 9, shape).astype(dtype)
    m = rng.integers(-9, 9, (shape[-1], 3)).astype(dtype)
    np.testing.assert_array_equal(sw.jit(in_lists)(picture, m), in_lists(picture, m))


def nearest(np: Any, points: Any, centres: Any) -> Any:
    """The nearest of a few centres, how far it is, and which; along a direction."""
    far = (centres**2).sum(axis=1) - 2 * (points @ centres.T)
    first = far.argmin(axis=1)
    return far.min(axis=1), first, (points - centres[first]) @ np.array([0.6, -0.6, 0.5])


@pytest.mark.parametrize("rows", [257, 300])
def test_products_that_are_reduced(rows: int):
    rng = np.random.default_rng(rows)
    points, centres = rng.normal(size=(rows, 3)), rng.normal(size=(10, 3))
    step = sw.jit(lambda a, b: nearest(sw, a, b))
    for found, expected in zip(step(points, centres), nearest(np, points, centres), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    assert step.lower(points, centres).as_text("te").count("te.kernel") == 2


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
@pytest.mark.parametrize(("m", "k", "n"), [(1, 3, 3), (2, 2, 2), (3, 3, 3), (5, 7, 1), (8, 8, 8)])
def test_many_pairs_of_small_matrices(m: int, k: int, n: int, dtype: str):
    rng = np.random.default_rng(k)
    a, b = (rng.integers(-9, 9, (300, *sizes)).astype(dtype) for sizes in ((m, k), (k, n)))
    found = sw.jit(lambda a, b: (a @ b, a @ b[..., 0:1] + 1))(a, b)
    np.testing.assert_array_equal(found[0], a @ b)
    np.testing.assert_array_equal(found[1], a @ b[..., 0:1] + 1)


def normal_equations(x: Any, y: Any, weights: Any) -> Any:
    """A few columns by each other, by another column, and by themselves, weighted."""
    return x.T @ x, x.T @ y, (x * weights[:, None]).T @ x


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
@pytest.mark.parametrize(("rows", "columns"), [(256, 2), (257, 3), (300, 5), (263, 8)])
def test_few_long_sums(rows: int, columns: int, dtype: str):
    rng = np.random.default_rng(rows)
    x, y, weights = (
        rng.integers(-9, 9, shape).astype(dtype) for shape in ((rows, columns), rows, rows)
    )
    found = sw.jit(normal_equations)(x, y, weights)
    for one, expected in zip(found, normal_equations(x, y, weights), strict=True):
        np.testing.assert_array_equal(one, expected)
        assert one.dtype == expected.dtype
