"""
The methods of `Schedule` that apply steps, one for each class in `dialects.schedule.steps`.

They are made from these classes; `schedule_steps.pyi` says to editors and type checkers what they are.
`python tests/unit/test_schedule_stub.py` writes it anew.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import MISSING
from textwrap import fill
from typing import Any, Self, get_args, get_origin, get_type_hints

from ..dialects.schedule import STEPS, Step
from ..dialects.schedule.call_syntax import make_step
from ..dialects.schedule.parameters import meaning, parameters


class StepMethods:
    """A method for each step, all of which go through `apply`."""

    def apply(self, step: Step | str) -> Any:
        raise NotImplementedError


def parameter_type(step_class: type[Step], name: str) -> Any:
    """The type of a parameter as a method takes it."""
    hint = get_type_hints(step_class)[name]
    return Sequence[get_args(hint)[0]] if get_origin(hint) is tuple else hint


def type_text(type_: Any) -> str:
    """The type as documentation and stubs have it."""
    return inspect.formatannotation(type_).replace("collections.abc.", "")


def signature_of(step_class: type[Step]) -> inspect.Signature:
    """The signature of a step's method."""
    names = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    for f in parameters(step_class):
        names.append(
            inspect.Parameter(
                f.name,
                inspect.Parameter.POSITIONAL_OR_KEYWORD,
                default=inspect.Parameter.empty if f.default is MISSING else f.default,
                annotation=parameter_type(step_class, f.name),
            )
        )
    return inspect.Signature(names, return_annotation=Self)


def documentation_of(step_class: type[Step]) -> str:
    """The docstring of a step's method, in NumPy's style."""
    lines = [inspect.getdoc(step_class) or "", "", "Parameters", "----------"]
    for f in parameters(step_class):
        default = "" if f.default is MISSING else f", default {f.default!r}"
        lines.append(f"{f.name} : {type_text(parameter_type(step_class, f.name))}{default}")
        text = meaning(step_class, f.name)
        lines.append(fill(text, 90, initial_indent="    ", subsequent_indent="    "))
    lines += ["", "Returns", "-------", "Schedule", "    This schedule, for the next step."]
    lines += ["", "Raises", "------", "StepwellError"]
    lines.append("    When the step is refused or makes no sense; nothing has been changed then.")
    return "\n".join(lines)


def _method(step_class: type[Step]) -> Callable[..., Any]:
    keyword = step_class.keyword

    def method(self: StepMethods, *arguments: Any, **named: Any) -> Any:
        return self.apply(make_step(keyword, list(arguments), named))

    method.__name__ = keyword
    method.__qualname__ = f"Schedule.{keyword}"
    method.__doc__ = documentation_of(step_class)
    method.__signature__ = signature_of(step_class)  # pyright: ignore[reportFunctionMemberAccess]
    return method


for _step_class in STEPS.values():
    setattr(StepMethods, _step_class.keyword, _method(_step_class))
