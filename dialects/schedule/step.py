"""What all schedule steps have in common: a keyword, and parameters that say what it is about."""

from __future__ import annotations

import operator
from contextlib import suppress
from dataclasses import fields
from functools import cache
from typing import Any, ClassVar, TypeVar, cast, dataclass_transform

from ...frozen import defaults_of, frozen

Scalar = str | int | bool
Parameter = Scalar | tuple[str, ...] | tuple[int, ...]

TAILS = ("guard", "peel", "pad", "perfect")
"""
What to do when a factor does not divide a loop: test each iteration (`guard`), run the rest in a loop of its own
(`peel`), let it run over into padding (`pad`), or refuse unless it divides (`perfect`).
"""


class Named:
    """What a parameter takes in the place of a name: a handle, which knows the name as it is now."""

    @property
    def name(self) -> str:
        """The name of the loop or buffer."""
        raise NotImplementedError

    @property
    def target(self) -> str:
        """`"function/name"`, as the first parameter of a step has it."""
        raise NotImplementedError


_PLAIN = frozenset((int, str, bool))


def spelled(value: Any, *, is_target: bool) -> Any:
    """
    A parameter as scripts have it: names in the place of handles, tuples in the place of lists, Python's
    integers in the place of NumPy's.
    """
    if type(value) in _PLAIN:  # asked at once, as most are
        return value
    if type(value) is tuple:
        several = cast("tuple[Any, ...]", value)
        if not several or _PLAIN.issuperset(map(type, several)):
            return several
    if isinstance(value, Named):
        return value.target if is_target else value.name
    if isinstance(value, list | tuple):
        return tuple(spelled(each, is_target=False) for each in cast("list[Any]", value))
    if isinstance(value, int | str):
        return value
    with suppress(TypeError):
        return operator.index(value)
    return value


@cache
def names_of(step_class: type[Step]) -> tuple[str, ...]:
    """The names of the parameters of a class of steps, in order."""
    return tuple(defaults_of(step_class))


class Step:
    """One named transformation with its parameters. A handle given as one stands for its name."""

    keyword: ClassVar[str]
    """The word for it in schedules, e.g. `unroll_and_jam`; with dashes, after `loop-`, the pass."""

    def __post_init__(self) -> None:
        own, first = self.__dict__, self.first_parameter()
        for name, given in own.items():
            if type(given) not in _PLAIN:  # asked at once, as most are plain
                own[name] = spelled(given, is_target=name == first)

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters that differ from their defaults, in order."""
        return {
            f.name: getattr(self, f.name)
            for f in fields(self)  # pyright: ignore[reportArgumentType]
            if getattr(self, f.name) != f.default
        }

    @classmethod
    def first_parameter(cls) -> str:
        """The name of the parameter that says what it is about: `loop`, `buffer`, or `function` for all of one."""
        return names_of(cls)[0]

    @property
    def target(self) -> str:
        """What it is about, as it is written: `"function/name"`, `"name"`, or the name of a function."""
        return getattr(self, self.first_parameter())

    def with_target(self, target: str) -> Step:
        """The same about something else."""
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__, **{self.first_parameter(): target})
        return made


StepT = TypeVar("StepT", bound=Step)


@dataclass_transform(frozen_default=True)
def step(cls: type[StepT]) -> type[StepT]:
    """Class decorator: a frozen dataclass with its keyword (`UnrollAndJam` → `unroll_and_jam`)."""
    name = cls.__name__
    cls.keyword = "".join(f"_{c.lower()}" if c.isupper() else c for c in name).lstrip("_")
    return frozen(cls)
