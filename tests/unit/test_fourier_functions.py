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
    with pytest.raises(sw.StepwellError, match="found a length of 0, expected at least 1"):
        sw.dft(np.ones((3, 1)), 0)


@pytest.mark.parametrize(("length", "width"), [(8, 8), (7, 5), (None, 6)])
def test_transforms_of_the_frames_of_a_signal(length, width):
    x, window = RNG.normal(size=(2, 20)), RNG.uniform(size=width)
    count = length or width
    weights = np.pad(window, (0, count - width))
    frames = np.stack([x[:, n : n + count] * weights for n in range(0, 20 - count + 1, 3)], 1)
    agrees(sw.stft(x, 3, window, length), parts(np.fft.rfft(frames)))
    agrees(
        sw.stft(parts(x * 1j), 3, window, length, onesided=False), parts(np.fft.fft(frames * 1j))
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: sw.stft(x, 2), "found neither a window nor a frame length"),
        (lambda x: sw.stft(x, 0, None, 4), "found frames of 4 at steps of 0"),
        (lambda x: sw.stft(x, 1, None, 40), "found frames of 40 at steps of 1 for a signal of 20"),
        (lambda x: sw.stft(x, 1, np.ones(9), 4), "found a window of 9 for frames of 4"),
        (lambda x: sw.stft(x[0], 1, None, 4), "expected floats"),
    ],
)
def test_frames_that_are_refused(call, message):
    with pytest.raises(sw.StepwellError, match=message):
        call(np.zeros((2, 20)))
