"""The default way down: what its passes are told about the target."""

from dataclasses import replace

import numpy as np
import pytest
import stepwell as sw
from stepwell.analysis.levels import Level
from stepwell.driver.pipelines import lower_to
from stepwell.errors import StepwellError
from stepwell.targets.machine import Cache
from stepwell.targets.target import Target
from stepwell.tuning.rules import kernels

ROWS = np.ones((64, 3000), np.float32)  # 12 kB a row, and a softmax has two of them


def kernels_with(caches: tuple[Cache, ...], monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many kernels a softmax is, by `lower` and without a schedule, on a machine of these caches."""
    machine = replace(Target.host(), caches=caches)
    monkeypatch.setattr(Target, "parse", staticmethod(lambda name: machine))
    low = sw.jit(lambda x: sw.softmax(x, axis=-1)).lower(ROWS)
    return [len(kernels(module)) for module in (low.module("loop"), low.unscheduled())]


def test_kernels_are_formed_for_the_targets_caches(monkeypatch: pytest.MonkeyPatch):
    large = (Cache(1, 32 << 10), Cache(2, 512 << 10), Cache(3, 8 << 20))
    assert kernels_with(large, monkeypatch) == [1, 1]
    small = (Cache(1, 4 << 10), Cache(2, 8 << 10), Cache(3, 8 << 20))
    assert min(kernels_with(small, monkeypatch)) > 1
    # Without a second level the first is what a block of rows may take.
    assert min(kernels_with((Cache(1, 8 << 10), Cache(3, 8 << 20)), monkeypatch)) > 1


def test_an_unknown_target():
    module = sw.jit(lambda x: x + x).lower(ROWS).module("graph")
    with pytest.raises(StepwellError, match="found target 'abacus', expected host or one of"):
        lower_to(module, Level.LOOP, target="abacus")
