"""docs/schedules.md is what its generator writes, and says something about every step.

`python docs/generate_schedules.py` writes it anew.
"""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest
from stepwell.analysis.signature import entry_function
from stepwell.dialects.schedule import STEPS
from stepwell.frontend.text import parse_file
from stepwell.interpreters.harness import interpret
from stepwell.tools.differences import largest_differences
from stepwell.tools.execute import random_inputs
from stepwell.transforms.loop.apply_schedule import ApplySchedulePass
from xdsl.context import Context

DOCS = Path(__file__).parents[2] / "docs"
EXAMPLES = sorted((DOCS / "schedules").glob("*.mlir"))


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "generate_schedules", DOCS / "generate_schedules.py"
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_what_the_generator_writes(generator: ModuleType) -> None:
    assert (DOCS / "schedules.md").read_text() == generator.page()


def test_every_step_has_an_example() -> None:
    assert {path.stem for path in EXAMPLES} == set(STEPS)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_computes_the_same_before_and_after(path: Path) -> None:
    module = parse_file(path)
    inputs = random_inputs(entry_function(module), 0)
    before = interpret(module, inputs)
    ApplySchedulePass().apply(Context(), module)
    differences = largest_differences(interpret(module, inputs), before)
    assert all(difference.is_acceptable for difference in differences)
