"""
No step of the plan that rules take is refused, for the kernels of the suites: another plan would be taken without anybody noticing.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import stepwell as sw
from stepwell.targets.target import Target
from stepwell.tools.bench_case import SUITE, load_suite, prepare_case
from stepwell.transforms.remarks import Remark, listening
from stepwell.tuning.families import FAMILIES
from stepwell.tuning.rules import schedule_kernels

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
from layers import LAYERS, Layer

TARGETS = ("x86-64-v3", "zen3", "zen4", "skylake-avx512")

CASES = {case.name: case for case in load_suite(SUITE)}


def check(lowered: sw.Lowered, target: str) -> None:
    found: list[Remark] = []
    module = lowered.unscheduled()
    with listening(found.append):
        schedule_kernels(module, Target.of(target).alone)
    said = tuple(f"{family.name}: " for family in FAMILIES)
    refused = [one.message for one in found if one.missed and one.message.startswith(said)]
    assert not refused
    assert not [one.message for one in found if one.message.startswith("no rule has")]


@pytest.mark.sampled(8, by=("target",))
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", CASES)
def test_kernels_of_the_suite(name: str, target: str) -> None:
    check(prepare_case(CASES[name], target=target).lowered, target)


@pytest.mark.sampled(3, by=("target",))
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("layer", LAYERS, ids=str)
def test_layers(layer: Layer, target: str) -> None:
    image, weights = layer.arrays()
    function = sw.jit(
        lambda x: sw.conv(
            x,
            weights,
            stride=layer.stride,
            padding=layer.border,
            dilation=layer.dilation,
            groups=layer.groups,
        ),
        target=target,
        cache=False,
    )
    check(function.lower(image), target)
