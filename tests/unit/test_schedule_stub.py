"""`frontend/schedule_steps.pyi` says of the methods of `Schedule` what the steps' classes say.

`python tests/unit/test_schedule_stub.py` writes it anew.
"""

import inspect
from dataclasses import MISSING
from pathlib import Path

import pytest
import stepwell as sw
from stepwell.dialects.schedule import STEPS, TAILS, Step
from stepwell.dialects.schedule.parameters import meaning, parameters
from stepwell.frontend.schedule_steps import documentation_of, parameter_type, type_text

STUB = Path(__file__).parents[2] / "frontend" / "schedule_steps.pyi"

HEADER = '''"""The methods of `Schedule` that apply steps. Written by `python tests/unit/test_schedule_stub.py`."""

import inspect
from collections.abc import Sequence
from typing import Any, Literal, Self

from ..dialects.schedule import Step

def parameter_type(step_class: type[Step], name: str) -> Any: ...
def type_text(type_: Any) -> str: ...
def signature_of(step_class: type[Step]) -> inspect.Signature: ...
def documentation_of(step_class: type[Step]) -> str: ...

class StepMethods:
    def apply(self, step: Step | str) -> Self: ...
'''


def parameter(step_class: type[Step], name: str, default: object) -> str:
    type_ = type_text(parameter_type(step_class, name))
    if name == "tail":
        type_ = "Literal[" + ", ".join(f'"{tail}"' for tail in TAILS) + "]"
    if default is MISSING:
        return f"{name}: {type_}"
    return f"{name}: {type_} = " + (f'"{default}"' if isinstance(default, str) else repr(default))


def method(step_class: type[Step]) -> str:
    entries = [parameter(step_class, f.name, f.default) for f in parameters(step_class)]
    head = f"    def {step_class.keyword}(self, {', '.join(entries)}) -> Self:"
    if len(head) > 100:
        inner = "".join(f"        {entry},\n" for entry in ["self", *entries])
        head = f"    def {step_class.keyword}(\n{inner}    ) -> Self:"
    lines = (inspect.getdoc(step_class) or "").splitlines()
    text = "\n".join(f"        {line}".rstrip() for line in lines)
    return f'{head}\n        """\n{text}\n        """\n'


def stub() -> str:
    return HEADER + "\n".join(method(step_class) for step_class in STEPS.values())


def test_the_stub_is_what_the_steps_say() -> None:
    assert STUB.read_text() == stub()


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
    STUB.write_text(stub())
