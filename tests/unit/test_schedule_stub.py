"""The stubs say of the methods that apply steps what the steps' classes and plans say.

`python tests/unit/test_schedule_stub.py` writes them anew.
"""

import inspect
from dataclasses import MISSING
from pathlib import Path

import pytest
import stepwell as sw
from stepwell.dialects.schedule import STEPS, TAILS, Step
from stepwell.dialects.schedule.parameters import meaning, parameters
from stepwell.transforms.step_support.step_methods import (
    documentation_of,
    made_by,
    parameter_type,
    type_text,
)

ROOT = Path(__file__).parents[2]
STUB = ROOT / "transforms" / "step_support" / "step_methods.pyi"
SCHEDULE_STUB = ROOT / "frontend" / "schedule_steps.pyi"

MADE = sorted({"Made", *(made.__name__ for cls in STEPS.values() for made in made_by(cls))})

HEADER = f'''"""Methods that apply steps. Written by `python tests/unit/test_schedule_stub.py`."""

import inspect
from collections.abc import Sequence
from typing import Any, Literal

from ...dialects.schedule import Named, Step
from .handles import Handle
from .made import (
    {
    """,
    """.join(MADE)
},
)

def parameter_type(step_class: type[Step], name: str) -> Any: ...
def type_text(type_: Any) -> str: ...
def made_by(step_class: type[Step]) -> tuple[type[Made[Any]], ...]: ...
def signature_of(step_class: type[Step]) -> inspect.Signature: ...
def documentation_of(step_class: type[Step]) -> str: ...
def add_methods(cls: type) -> None: ...

class StepMethods:
    def apply(self, step: Step) -> Made[Handle]: ...
'''

SCHEDULE_HEADER = f'''"""The methods of `Schedule` that apply steps. Written by `python tests/unit/test_schedule_stub.py`."""

from collections.abc import Sequence
from typing import Literal

from ..dialects.schedule import Named, Step
from ..transforms.step_support.handles import Handle
from ..transforms.step_support.made import (
    {
    """,
    """.join(MADE)
},
)
from .schedule import Applied

class ScheduleSteps:
    def apply(self, step: Step | str) -> Applied[Made[Handle]]: ...
'''


def parameter(step_class: type[Step], name: str, default: object) -> str:
    type_ = type_text(parameter_type(step_class, name))
    if name == "tail":
        type_ = "Literal[" + ", ".join(f'"{tail}"' for tail in TAILS) + "]"
    if default is MISSING:
        return f"{name}: {type_}"
    return f"{name}: {type_} = " + (f'"{default}"' if isinstance(default, str) else repr(default))


def method(step_class: type[Step], form: str) -> str:
    made = " | ".join(form.format(made.__name__) for made in made_by(step_class))
    entries = [parameter(step_class, f.name, f.default) for f in parameters(step_class)]
    head = f"    def {step_class.keyword}(self, {', '.join(entries)}) -> {made}:"
    if len(head) > 100:
        inner = "".join(f"        {entry},\n" for entry in ["self", *entries])
        head = f"    def {step_class.keyword}(\n{inner}    ) -> {made}:"
    lines = (inspect.getdoc(step_class) or "").splitlines()
    text = "\n".join(f"        {line}".rstrip() for line in lines)
    return f'{head}\n        """\n{text}\n        """\n'


def stubs() -> dict[Path, str]:
    own = "\n".join(method(step_class, "{}") for step_class in STEPS.values())
    schedules = "\n".join(method(step_class, "Applied[{}]") for step_class in STEPS.values())
    return {STUB: HEADER + own, SCHEDULE_STUB: SCHEDULE_HEADER + schedules}


def test_the_stubs_are_what_the_steps_say() -> None:
    for path, text in stubs().items():
        assert path.read_text() == text


@pytest.mark.parametrize("keyword", STEPS)
def test_every_step_is_a_method_with_documentation(keyword: str) -> None:
    step_class = STEPS[keyword]
    method = getattr(sw.Schedule, keyword)
    names = [f.name for f in parameters(step_class)]
    assert list(inspect.signature(method).parameters) == ["self", *names]
    text = inspect.getdoc(method) or ""
    assert text == documentation_of(step_class)
    assert "Before:" in text and "After" in text
    for name in names:
        assert f"\n{name} : " in text
        assert meaning(step_class, name).endswith("."), f"{keyword}.{name} has no meaning"


if __name__ == "__main__":
    for path, text in stubs().items():
        path.write_text(text)
