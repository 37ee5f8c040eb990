"""benchmarks/plan_regret.py: its shapes, how it chooses what to measure, and what it says."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from random import Random
from types import ModuleType

import numpy as np
import pytest
from stepwell.errors import StepwellError
from stepwell.runtime.measure import Pace
from stepwell.targets.target import Target
from stepwell.tools.bench_case import prepare_case

FILE = Path(__file__).parents[2] / "benchmarks" / "plan_regret.py"


@pytest.fixture(scope="module")
def benchmark() -> ModuleType:
    spec = importlib.util.spec_from_file_location("plan_regret", FILE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where its dataclasses look for it
    sys.path.insert(0, str(FILE.parent))  # as for a script
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.pop(0)
    return module


def test_shapes_depend_on_the_seed_and_the_family_alone(benchmark: ModuleType):
    families = list(benchmark.SHAPES)
    drawn = [(family, case.name) for family, case in benchmark.draw(3, 40, families)]
    assert len(set(drawn)) == 40
    assert {family for family, _ in drawn} == set(families)
    softmax = [name for family, name in drawn if family == "softmax"]
    assert softmax == [case.name for _, case in benchmark.draw(3, len(softmax), ["softmax"])]
    assert drawn != [(family, case.name) for family, case in benchmark.draw(4, 40, families)]


def test_half_of_the_plans_are_the_nearest(benchmark: ModuleType):
    prepared = prepare_case(benchmark.suite.gemm(96, 80, 72, name="small"))
    target = Target.parse("zen4")
    (many,) = benchmark.plans_of(prepared, target, benchmark.PROPOSALS, Random(0))
    (few,) = benchmark.plans_of(prepared, target, 8, Random(0))
    texts = [str(choice) for choice in many]
    assert [str(choice) for choice in few[:4]] == texts[:4]
    assert len(few) == min(8, len(many))
    places = [texts.index(str(choice)) for choice in few]
    assert places == sorted(places)


def test_a_kernel_with_fewer_plans_keeps_its_last(benchmark: ModuleType):
    assert benchmark.candidates([[1, 2, 3], [4], []]) == [[1, 4, None], [2, 4, None], [3, 4, None]]
    assert benchmark.candidates([[], []]) == []


def test_a_product_is_measured(benchmark: ModuleType):
    case = benchmark.suite.gemm(64, 64, 64, name="small")
    found = benchmark.measure(
        "product", case, Target.host(), 2, 0.001, Random(0), Pace(lambda: [1.0])
    )
    assert found.plans in (1, 2) and not found.refused
    assert found.regret >= 1
    assert str(found).startswith("small: ")
    lines = benchmark.summary([found, benchmark.Regret("copy", "without", 0)])
    assert [line.split()[0] for line in lines] == ["family", "product", "all", "1"]
    assert str(benchmark.Regret("copy", "without", 0)) == "without: no family has plans for it"


def test_a_wrong_result_is_refused(benchmark: ModuleType):
    prepared = prepare_case(benchmark.suite.gemm(8, 8, 8, name="small"))
    wrong = {"tile 1x1": lambda a, b: np.zeros((8, 8), np.float32)}
    with pytest.raises(StepwellError, match=r"found small off by .* as tile 1x1, expected NumPy's"):
        benchmark.check(prepared, wrong)
