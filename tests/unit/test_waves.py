"""Matrices of cosines and sines are found, and others are not; products with them are transforms."""

import numpy as np
import pytest
import stepwell as sw
from hypothesis import given, settings
from hypothesis import strategies as st
from stepwell.transforms.graph.waves import waves_of

RNG = np.random.default_rng(0)
LENGTHS = (8, 15, 16, 33, 100, 256)


def matrices(n):
    """Matrices as programs write them, whose columns are waves, and of how many numbers the period is."""
    j, half = np.arange(n), np.arange(n // 2 + 1)
    angles, whole = 2 * np.pi / n * np.outer(j, half), 2 * np.pi * np.outer(j, j) / n
    yield n, np.cos(angles)
    yield n, -np.sin(angles)
    yield n, np.cos(whole)
    yield n, np.exp(-2j * np.pi * np.outer(j, j) / n).imag / np.sqrt(n)
    yield n, np.cos(whole) + np.sin(whole)
    yield n, np.hstack([np.cos(angles), np.sin(angles)])
    yield 2 * n, np.cos(np.pi / n * np.outer(j + 0.5, j))


def rebuilt(waves, rows):
    angles = (
        2 * np.pi * (np.outer(np.arange(rows), waves.frequencies) % waves.period) / waves.period
    )
    return np.cos(angles) * waves.cosines + np.sin(angles) * waves.sines


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("n", LENGTHS)
def test_matrices_that_programs_write(n, dtype):
    for period, matrix in matrices(n):
        waves = waves_of(matrix.astype(dtype))
        assert waves is not None and waves.period == period
        assert np.abs(rebuilt(waves, n) - matrix).max() < (1e-12 if dtype == "f8" else 2e-7)


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_any_waves(data):
    n = data.draw(st.sampled_from(LENGTHS))
    frequencies = data.draw(st.lists(st.integers(0, n // 2), min_size=1, max_size=9))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    angles = 2 * np.pi * np.outer(np.arange(n), frequencies) / n
    matrix = np.cos(angles) * rng.normal(size=len(frequencies))
    matrix += np.sin(angles) * rng.normal(size=len(frequencies))
    waves = waves_of(matrix)
    assert waves is not None
    assert np.abs(rebuilt(waves, n) - matrix).max() < 1e-11


def test_what_is_a_little_off_is_none():
    for dtype, off in (("f4", 1e-6), ("f8", 1e-11)):
        for _, matrix in matrices(16):
            matrix = matrix.astype(dtype)
            matrix[5, 3] += off
            assert waves_of(matrix) is None
    assert waves_of(RNG.normal(size=(16, 9))) is None
    assert waves_of(np.zeros((16, 9))) is None
    assert waves_of(np.full((16, 9), np.nan)) is None


def test_products_on_both_sides():
    n = 100
    x, y = RNG.normal(size=(17, n)), RNG.normal(size=(2, n, 9))

    def program(x, y):
        # The matrices are constants here: a traced program has computed them by NumPy.
        return [(x @ m, m.T @ y) for _, m in matrices(n)]

    found = sw.jit(lambda x, y: [each for pair in program(x, y) for each in pair], opt="quick")(
        x, y
    )
    expected = [each for pair in program(x, y) for each in pair]
    for one, other in zip(found, expected, strict=True):
        assert np.abs(one - other).max() <= 1e-13 * n * np.abs(other).max()
