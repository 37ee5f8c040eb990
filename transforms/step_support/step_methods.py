"""
Methods that apply steps, one for each class in `dialects.schedule.steps`.

They are made from these classes; `step_methods.pyi` says to editors and type checkers what they are.
`python tests/unit/test_schedule_stub.py` writes it anew.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import MISSING
from textwrap import fill
from types import MethodType
from typing import Any, get_args, get_origin, get_type_hints

from ...dialects.schedule import STEPS, Named, Step
from ...dialects.schedule.call_syntax import make_step
from ...dialects.schedule.other_words import other_word
from ...dialects.schedule.parameters import meaning, parameters, takes_handles
from .made import Made
from .planning import planner_of


class StepMethods:
    """A method for each step, all of which go through `apply`. Where they take a name they take a handle."""

    def apply(self, step: Step) -> Any:
        raise NotImplementedError

    def __getattr__(self, name: str) -> Any:
        """Answers a step under the name that another system has for it."""
        answer = other_word(name)
        if answer is None:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        raise AttributeError(f"found step '{name}', expected one that there is; {answer}")


def parameter_type(step_class: type[Step], name: str) -> Any:
    """The type of a parameter as a method takes it."""
    hint = get_type_hints(step_class)[name]
    is_tuple = get_origin(hint) is tuple
    one = get_args(hint)[0] if is_tuple else hint
    if takes_handles(step_class, name):
        one = one | Named
    return Sequence[one] if is_tuple else one


def type_text(type_: Any) -> str:
    """The type as documentation and stubs have it."""
    text = inspect.formatannotation(type_).replace("collections.abc.", "")
    return text.replace(f"{Named.__module__}.", "")


def made_by(step_class: type[Step]) -> tuple[type[Made[Any]], ...]:
    """What applying a step returns, as the plan says; several where it depends on the parameters."""
    found: dict[type[Made[Any]], None] = {}
    for plan in _options(get_type_hints(planner_of(step_class))["return"]):
        for made in _options(get_type_hints(plan.apply)["return"]):
            found[made] = None
    return tuple(found)


def _options(type_: Any) -> tuple[Any, ...]:
    """The members of a union; a single type is one of one."""
    return get_args(type_) or (type_,)


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
    return inspect.Signature(names)


def documentation_of(step_class: type[Step]) -> str:
    """The docstring of a step's method, in NumPy's style."""
    lines = [inspect.getdoc(step_class) or "", "", "Parameters", "----------"]
    for f in parameters(step_class):
        default = "" if f.default is MISSING else f", default {f.default!r}"
        lines.append(f"{f.name} : {type_text(parameter_type(step_class, f.name))}{default}")
        text = meaning(step_class, f.name)
        lines.append(fill(text, 90, initial_indent="    ", subsequent_indent="    "))
    lines += ["", "Returns", "-------", "Made"]
    lines.append(
        "    What the step made, which unpacks into handles; from a `Schedule` also the schedule,"
    )
    lines.append("    for the next step.")
    lines += ["", "Raises", "------", "StepwellError"]
    lines.append("    When the step is refused or makes no sense; nothing has been changed then.")
    return "\n".join(lines)


def add_methods(cls: type) -> None:
    """Give a class with `apply` a method for each step."""
    for step_class in STEPS.values():
        setattr(cls, step_class.keyword, StepMethod(cls, step_class))


class StepMethod:
    # A method of a class that applies steps of one kind. Its documentation and its signature take most of a
    # millisecond to write, and are written when somebody reads them: it has no other docstring therefore.

    def __init__(self, cls: type, step_class: type[Step]):
        self.step_class = step_class
        self.__name__ = step_class.keyword
        self.__qualname__ = f"{cls.__name__}.{step_class.keyword}"
        self.__module__ = cls.__module__

    def __call__(self, methods: StepMethods, *arguments: Any, **named: Any) -> Any:
        return methods.apply(make_step(self.step_class.keyword, list(arguments), named))

    def __get__(self, instance: object, owner: type) -> Any:
        return self if instance is None else MethodType(self, instance)

    @property
    def __signature__(self) -> inspect.Signature:
        return signature_of(self.step_class)

    @property
    def __doc__(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        return documentation_of(self.step_class)


add_methods(StepMethods)
