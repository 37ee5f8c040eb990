"""The discrete Fourier transform against NumPy's."""

import numpy as np
import pytest
import stepwell as sw

RNG = np.random.default_rng(1)


def parts(z):
    return np.stack([z.real, z.imag], -1)


def agrees(found, expected):
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize("count", [1, 2, 7, 16])
@pytest.mark.parametrize("inverse", [False, True])
def test_complex_numbers(count, inverse):
    z = RNG.normal(size=(3, count)) + 1j * RNG.normal(size=(3, count))
    expected = parts((np.fft.ifft if inverse else np.fft.fft)(z))
    agrees(sw.dft(parts(z), inverse=inverse), expected)
    agrees(sw.jit(lambda x: sw.dft(x, inverse=inverse), opt="quick")(parts(z)), expected)


@pytest.mark.parametrize("length", [None, 5, 9])
def test_real_numbers_along_any_axis(length):
    x = RNG.normal(size=(7, 3))
    agrees(sw.dft(x[..., None], length, 0), parts(np.fft.fft(x, length, 0)))
    agrees(sw.dft(x[..., None], length, 0, onesided=True), parts(np.fft.rfft(x, length, 0)))


@pytest.mark.parametrize("length", [None, 6, 7])
def test_half_of_a_transform_gives_real_numbers(length):
    half = np.fft.rfft(RNG.normal(size=(3, length or 8)))
    expected = np.fft.irfft(half, length)[..., None]
    agrees(sw.dft(parts(half), length, inverse=True, onesided=True), expected)


def test_mistakes_are_one_line():
    with pytest.raises(sw.StepwellError, match="found int64 of shape"):
        sw.dft(np.ones((3, 1), int))
    with pytest.raises(sw.StepwellError, match="found rows of 5000 numbers"):
        sw.dft(np.ones((3, 1)), 5000)
