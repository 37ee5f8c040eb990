"""Transposed convolutions as one convolution of all phases, beside those whose phases stay apart."""

import numpy as np
import pytest
import stepwell as sw


@pytest.mark.parametrize(
    ("channels", "outputs", "sizes", "taps", "stride", "padding", "groups"),
    [
        (4, 3, (5, 6), 2, 2, 0, 1),
        (4, 6, (5, 6), 4, 2, 2, 2),
        (4, 3, (5, 6), 4, 2, 0, 1),
        (3, 5, (7,), 3, 3, 3, 1),
        (2, 3, (3, 4, 5), 2, 2, 0, 1),
        (4, 3, (7, 5), 6, 3, (3, 1), 1),
    ],
)
def test_phases_are_those_of_convolutions_by_themselves(
    channels, outputs, sizes, taps, stride, padding, groups
):
    """Weights that come as an argument are not stacked. A bias for each channel and what follows goes with the phases."""
    rng = np.random.default_rng(5)
    x = rng.standard_normal((2, channels, *sizes)).astype(np.float32)
    w = rng.standard_normal((channels, outputs // groups, *[taps] * len(sizes))).astype(np.float32)
    b = rng.standard_normal((outputs, *[1] * len(sizes))).astype(np.float32)
    pads = [padding] * len(sizes) if isinstance(padding, tuple) else padding

    def enlarged(x, w):
        y = sw.conv_transpose(x, w, stride=stride, padding=pads, groups=groups)
        return sw.tanh(y + b)

    low = sw.jit(lambda x: enlarged(x, w)).lower(x)
    assert low.as_text("te").count(" add [") == 1
    found = low.compile(threads=1)(x)
    np.testing.assert_allclose(found, sw.jit(enlarged)(x, w), rtol=1e-5, atol=1e-5)
