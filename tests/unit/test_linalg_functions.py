"""Functions of whole matrices against NumPy's."""

import numpy as np
import pytest
import stepwell as sw


@pytest.mark.parametrize("shape", [(5, 5), (3, 4, 4), (2, 1, 1)])
def test_det(shape):
    x = np.random.default_rng(0).normal(size=shape)
    x[..., 0, 0] = 0  # so that rows are exchanged
    expected = np.linalg.det(x)
    np.testing.assert_allclose(sw.linalg.det(x), expected)
    np.testing.assert_allclose(sw.jit(sw.linalg.det)(x), expected, rtol=1e-9, atol=1e-12)


def test_det_of_dependent_rows_is_zero():
    assert sw.jit(sw.linalg.det, opt="quick")(np.zeros((3, 3))) == 0


def test_det_refuses_other_matrices():
    with pytest.raises(sw.StepwellError, match=r"found shape 2x3, expected square matrices"):
        sw.linalg.det(np.zeros((2, 3)))
