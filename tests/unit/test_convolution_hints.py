"""What the hints in the tiles of convolutions ask for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import stepwell as sw
from stepwell.analysis.facts import facts_of_loops, find_convolutions
from stepwell.analysis.plans.convolution_plan import ConvolutionPlan
from stepwell.dialects import loop
from stepwell.driver.options import Options
from stepwell.frontend.lowered import Lowered
from stepwell.targets.target import Target
from stepwell.tuning.families import Contractions
from stepwell.tuning.rules import kernels, schedule_with


@pytest.mark.parametrize(
    ("channels", "window", "parts", "block", "passed"),
    [
        (24, 1, 0, 0, "floordiv 24"),  # the next pixels' first channels
        (96, 1, 0, 0, ""),
        (96, 1, 8, 0, "+ 13) floordiv 96"),  # a part of 8 terms as a whole, 9 + 8 / 2 ahead
        (24, 3, 0, 0, "floordiv 24"),  # the next pixel of the window
        (24, 3, 0, 12, "floordiv 12"),  # with the same block of channels
    ],
)
def test_hints_go_on_beyond_the_last_channel(
    channels: int, window: int, parts: int, block: int, passed: str
):
    rng, target = np.random.default_rng(5), Target.of("host")
    x = rng.standard_normal((1, channels, 12, 48), np.float32)
    weights = rng.standard_normal((40, channels, window, window), np.float32)
    low = sw.jit(lambda x: sw.conv(x, weights, stride=2)).lower(x)
    module = low.unscheduled()
    kernel = kernels(module)[-1]
    facts = facts_of_loops(kernel).facts
    (first,) = Contractions().propose(facts, target, 1)
    (found,) = find_convolutions(facts)
    pixels, outputs = found.m[-1], found.n[-1]
    *_, last = (axis for axis in found.k if axis not in found.window)
    plan = ConvolutionPlan(
        ((pixels, 6), (outputs, 2 * target.core.lanes(4))),
        (*found.window, last),
        (),
        packs=True,
        prefetch_terms=9,
        block=block,
        between_hints=parts,
        prefetch_result=parts > 0,
    )
    assert schedule_with(module, kernel, replace(first, plan=plan), target) is not None
    image = kernel.args[0]
    hints = [op for op in kernel.walk() if isinstance(op, loop.PrefetchOp) and op.buffer is image]
    assert hints
    for hint in hints:
        text = ", ".join(str(each) for each in hint.map.data.results)
        assert passed in text and ("floordiv" in text) == bool(passed), text
    options = Options(target=target, schedule=False)
    result = Lowered(module, name="conv", options=options).compile(threads=1)(x)
    np.testing.assert_allclose(result, low.compile(threads=1)(x), rtol=1e-5, atol=1e-4)
