"""Arrays of bool may have any bytes: what is not 0 is true."""

import numpy as np
import pytest
import stepwell as sw


@pytest.mark.parametrize("opt", ["quick", "full"])
def test_any_byte_but_0_is_true(opt):
    """As in NumPy: a mask of 0 and 255 becomes one of bool by `view`."""
    mask = np.array([0, 1, 2, 128, 254, 255, 0, 4] * 5, np.uint8).view(np.bool_)
    x = np.arange(40.0)
    run = sw.jit(
        lambda m, x: (sw.where(m, x, -x), ~m, m.sum(), m.astype(np.int8)), opt=opt, cache=False
    )
    expected = np.where(mask, x, -x), ~mask, mask.sum(), mask.astype(np.int8)
    for found, wanted in zip(run(mask, x), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)
