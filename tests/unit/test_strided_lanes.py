"""Lanes whose elements are some way apart in memory."""

from __future__ import annotations

import numpy as np
import pytest
import stepwell as sw
from stepwell.interpreters.harness import interpret


@pytest.mark.parametrize("shape", [(31, 3, 1), (33, 8, 1), (17, 7, 1)])
def test_nothing_beyond_the_last_element_is_loaded(shape: tuple[int, ...]):
    """Of lanes far apart, few of which are done together, whole vectors would reach beyond the last one's element."""
    x = np.arange(shape[0] * shape[1], dtype=np.float32).reshape(shape)
    module = sw.jit(lambda x: sw.transpose(x, (1, 0, 2)), threads=1).lower(x).module("core")
    (found,) = interpret(module, [x])
    np.testing.assert_array_equal(found, x.transpose(1, 0, 2))
