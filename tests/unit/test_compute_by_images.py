"""Networks of which a few images of a batch are computed at a time give what they give for all at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import stepwell as sw
from stepwell.analysis.plans.images import ImagesPlan, LayerBytes, plan_images
from stepwell.driver.options import Options
from stepwell.interpreters.harness import interpret
from stepwell.targets.target import Target
from stepwell.transforms.graph.compute_by_images import GraphComputeByImagesPass
from stepwell.universe import make_context

SMALL = "zen4:l1=1K,l2=2K,l3=2560"
"""Its last cache has room for the layers of one image of the tests, and of no two."""

rng = np.random.default_rng(7)


def weights(*shape: int) -> np.ndarray:
    return rng.standard_normal(shape, np.float32) / np.float32(np.sqrt(np.prod(shape[1:])))


W, V, ONE = weights(5, 3, 3, 3), weights(5, 5, 3, 3), weights(7, 5, 1, 1)
OTHER, EACH = weights(5, 3, 1, 1), weights(5, 1, 3, 3)
SCALE = weights(5, 1, 1)


def chain(x: Any) -> Any:
    return sw.conv(sw.relu(sw.conv(x, W, padding=1)), V, stride=2)


def residual(x: Any) -> Any:
    first = sw.conv(x, W, padding=1) * SCALE
    last = sw.relu(sw.conv(first, V, padding=1) + sw.conv(x, OTHER))
    return sw.mean(sw.conv(last, ONE), axis=(2, 3))


def pooled(x: Any) -> Any:
    y = sw.conv(x, W)
    y = sw.conv(sw.max_pool(y, (2, 2), stride=1), EACH, groups=5, padding=1)
    return y, sw.sum(y, axis=0)


def mixed(x: Any) -> Any:
    """Between layers stands what needs all images, and what it gives is needed by each."""
    y = sw.conv(x, W)
    return sw.conv(y - sw.mean(y, axis=0), V), sw.conv(y, V)


@pytest.mark.sampled(2, by="network")
@pytest.mark.parametrize("images", [2, 3, 6])
@pytest.mark.parametrize("size", [(9, 7), (13, 5)])
@pytest.mark.parametrize("network", [chain, residual, pooled, mixed])
def test_results_are_those_of_all_images_at_once(
    network: Callable[[Any], Any], size: tuple[int, int], images: int
):
    x = rng.standard_normal((images, 3, *size), np.float32)
    low = sw.jit(network).lower(x)
    module = low.module("graph")
    GraphComputeByImagesPass(target=SMALL, threads=1).apply(make_context(), module)
    module.verify()
    assert "graph.scan" in str(module)
    expected = interpret(low.module("graph"), [x])
    native = sw.Lowered(module, name="images", options=Options(threads=1)).compile()(x)
    several = native if isinstance(native, tuple) else (native,)
    for found in (interpret(module, [x]), several):
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


LAYERS = [LayerBytes(4e7, 1e5), LayerBytes(4e7, 1e5), LayerBytes(1e6, 3e7)]
"""For sixteen images: two layers whose images leave a cache of 32 MB together, and one of many weights."""


def test_blocks_follow_from_the_last_cache():
    for size, block in (("64M", 0), ("32M", 8), ("8M", 2), ("4M", 1)):
        plan = plan_images(LAYERS[:2], 16, Target.of(f"zen4:l3={size}"), 1)
        assert (plan.block if isinstance(plan, ImagesPlan) else 0) == block


def test_weights_that_would_come_again_for_each_image_keep_images_together():
    target = Target.of("zen4")
    assert isinstance(plan_images(LAYERS[:2], 16, target, 1), ImagesPlan)
    heavy = [*LAYERS[:2], LayerBytes(1e6, 3e9)]
    reason = plan_images(heavy, 16, target, 1)
    assert isinstance(reason, str) and "wait no longer for memory" in reason


def test_threads_share_the_images_of_a_block():
    target = Target.of("zen4:l3=16M")
    plan = plan_images(LAYERS[:2], 6, target, 2)
    assert isinstance(plan, ImagesPlan) and plan.block == 2
    assert "is shared by 4 threads" in str(plan_images(LAYERS[:2], 6, target, 4))
