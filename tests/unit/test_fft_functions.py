"""`sw.fft` against NumPy's, at lengths of each kind and along any axis."""

import numpy as np
import pytest
import stepwell as sw

RNG = np.random.default_rng(0)
LENGTHS = (1, 2, 3, 4, 5, 7, 8, 9, 12, 13, 16, 17, 22, 34, 60, 64, 77, 128, 143, 243, 360, 1024)


def numbers(shape, dtype="c16"):
    x = RNG.normal(size=shape) + 1j * RNG.normal(size=shape)
    return x.astype(dtype)


def assert_close(found, expected):
    """Within a few roundings of the greatest: more than NumPy's own error, which grows with the logarithm of the length."""
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype
    tolerance = 20 * np.finfo(found.dtype).eps * np.abs(expected).max(initial=1e-30)
    assert np.abs(found - expected).max(initial=0) <= tolerance


@pytest.mark.parametrize(
    "length", [12, *(pytest.param(length, marks=pytest.mark.slow) for length in LENGTHS)]
)
@pytest.mark.parametrize("dtype", ["c8", "c16"])
def test_lengths(length, dtype):
    z = numbers((3, length), dtype)
    half = z[:, : length // 2 + 1]

    def every(f, z, half):
        return f.fft(z), f.ifft(z), f.rfft(z.real), f.irfft(half, length)

    results = sw.jit(lambda z, half: every(sw.fft, z, half), opt="quick")(z, half)
    for found, expected in zip(results, every(np.fft, z, half), strict=True):
        assert_close(found, expected)


def test_a_great_prime_factor():
    z = numbers((2, 34))
    assert_close(sw.fft.fft(z), np.fft.fft(z))
    assert_close(sw.jit(lambda z: sw.fft.ifft(z), opt="quick")(z), np.fft.ifft(z))


def test_scheduled():
    z = numbers((2, 3 * 8 * 4), "c8")
    assert_close(sw.jit(sw.fft.fft)(z), np.fft.fft(z))


@pytest.mark.parametrize("dtype", ["c8", "c16"])
@pytest.mark.parametrize("shape", [(17, 12, 1), (19, 9, 1), (16, 33, 1), (2, 16, 18), (3, 5, 33)])
def test_blocks_of_transforms_in_lanes(shape, dtype):
    z = numbers(shape, dtype)

    def every(f, z):
        return f.fft(z, axis=1), f.rfft(z.real, axis=1)

    results = sw.jit(lambda z: every(sw.fft, z), opt="quick")(z)
    for found, expected in zip(results, every(np.fft, z), strict=True):
        assert_close(found, expected)


def test_a_row_that_is_not_finite_leaves_its_neighbours():
    x = RNG.normal(size=(18, 8))
    x[3, 5], x[7, 0] = np.nan, np.inf
    found, expected = sw.jit(sw.fft.rfft, opt="quick")(x), np.fft.rfft(x)
    rest = np.isfinite(x).all(axis=1)
    assert_close(found[rest], expected[rest])
    assert not np.isfinite(found[~rest]).any()


def test_arguments():
    z, x = numbers((4, 6, 5)), RNG.normal(size=(4, 6, 5))

    def every(m):
        f = m.fft
        return (
            *(
                f.fft(z, 7),
                f.fft(z, 3, 0),
                f.fft(z, axis=1, norm="ortho"),
                f.ifft(z, norm="forward"),
            ),
            *(
                f.fft2(z),
                f.ifft2(z, axes=(0, 1)),
                f.fftn(z),
                f.ifftn(z, (3, 8), (1, 2)),
                f.fftn(z, axes=(2, 0)),
            ),
            *(f.rfft2(x), f.irfft2(z), f.rfftn(x, norm="ortho"), f.irfftn(z), f.irfft(z, 4, 1)),
            *(f.hfft(z), f.hfft(z, 7, norm="ortho"), f.ihfft(x), f.ihfft(x, norm="forward")),
            *(f.rfft(x, norm="forward"), f.irfft(z, norm="forward"), f.fft(np.arange(6))),
            *(f.fftshift(z), f.ifftshift(z, 1), f.fftfreq(5, 0.1), f.rfftfreq(5)),
        )

    for found, expected in zip(every(sw), every(np), strict=True):
        assert_close(found, expected)


def test_mistakes_are_one_line():
    with pytest.raises(sw.StepwellError, match=r"found norm 'no', expected 'backward'"):
        sw.fft.fft(np.ones(3), norm="no")
    with pytest.raises(sw.StepwellError, match=r"found a length of 0, expected at least 1"):
        sw.fft.fft(np.ones(3), 0)
    with pytest.raises(sw.StepwellError, match=r"in a transform of real numbers, expected real"):
        sw.jit(lambda z: sw.fft.rfft(z))(np.ones(3, complex))
    with pytest.raises(sw.StepwellError, match=r"found 2 lengths for 1 axes"):
        sw.fft.fftn(np.ones((3, 3)), (2, 2), (0,))
