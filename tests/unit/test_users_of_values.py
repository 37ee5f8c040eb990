"""Passes leave no operation behind that uses a program's values and is in no program: others count and visit users."""

from typing import Any

import numpy as np
import pytest
import stepwell as sw
from stepwell.analysis.verify import verify
from stepwell.driver import pass_manager
from xdsl.dialects.builtin import ModuleOp

RNG = np.random.default_rng(3)


def numbers(dtype: Any, *shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(dtype)


def network(dtype: Any):
    """Convolutions of 1 x 1 with strides, of which some take their pixels first and some do not; windows; a product."""
    w = [numbers(dtype, *shape) for shape in ((8, 3, 3, 3), (17, 8, 1, 1), (17, 17, 3, 3))]
    w += [numbers(dtype, 512, 17, 1, 1), numbers(dtype, 512, 10)]

    def function(x):
        y = sw.relu(sw.nn.conv(x, w[0], padding=1))
        z = sw.nn.conv(sw.relu(sw.nn.conv(y, w[1])), w[2], stride=2, padding=1)
        y = sw.relu(sw.nn.conv(y, w[1], stride=2) + z)
        y = sw.nn.silu(sw.nn.conv(y, w[3], stride=2))
        return sw.softmax(sw.mean(y, axis=(2, 3)) @ w[4])

    return function, numbers(dtype, 1, 3, 28, 28)


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_all_users_are_in_the_program(dtype: Any, monkeypatch: pytest.MonkeyPatch):
    apply_pass, seen = pass_manager.apply_pass, set[str]()

    def checked(pass_: Any, ctx: Any, module: ModuleOp) -> None:
        apply_pass(pass_, ctx, module)
        verify(module)
        seen.add(pass_.name)

    monkeypatch.setattr(pass_manager, "apply_pass", checked)
    function, x = network(dtype)
    low = sw.jit(function, cache=False, target="zen3", threads=1).lower(x)
    low.module("core")
    assert {"graph-take-pixels", "te-fuse"} <= seen


@pytest.mark.parametrize("stride", [2, 3])
def test_half_precision_strided_products_of_pixels(stride: int):
    """They are computed in f32, so that the image comes from a cast: what was only looked at used this, too."""
    x, w = numbers(np.float16, 2, 8, 5, 7), numbers(np.float16, 17, 8, 1, 1)
    found = sw.jit(lambda x: sw.nn.conv(x, w, stride=stride), cache=False)(x)
    pixels = x[:, :, ::stride, ::stride].astype(np.float32)
    expected = np.einsum("fc,nchw->nfhw", w[:, :, 0, 0].astype(np.float32), pixels)
    np.testing.assert_allclose(found.astype(np.float32), expected, rtol=2e-3, atol=2e-3)
