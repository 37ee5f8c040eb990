"""The base of every pass of ours: a module pass that states its levels and its numerical effect."""

from __future__ import annotations

import dataclasses
from collections.abc import Set
from functools import cache
from typing import ClassVar

from xdsl.passes import ModulePass

from ..analysis.levels import Level
from ..errors import StepwellError
from ..targets.target import Target
from .numerics import NumericalEffect, fp_contract


class StepwellPass(ModulePass):
    """
    A pass of Stepwell.

    The first line of a pass's docstring is what `stepwell-opt --list-passes` prints. Its options are the fields of
    the dataclass; making it raises StepwellError where one that is an integer is not positive, where `fp` is no contract,
    and where `target` is no core, also for programs that it would find nothing in.
    """

    level_in: ClassVar[Level]
    level_out: ClassVar[Level]
    numerics: ClassVar[NumericalEffect] = "exact"
    zero_has_meaning: ClassVar[Set[str]] = frozenset()
    """The integer options that may be zero, which then means something of its own."""

    def __post_init__(self) -> None:
        for name in _options_of(type(self)):
            value, least = getattr(self, name), int(name not in self.zero_has_meaning)
            if name == "fp":
                fp_contract(value)
            if name == "target" and value != "host":  # which is looked at when it is needed
                Target.of(value)
            if isinstance(value, int) and not isinstance(value, bool) and value < least:
                raise StepwellError(
                    f"found {name.replace('_', '-')}={value} for pass '{self.name}', expected at least {least}; mend it"
                )


@cache
def _options_of(pass_class: type[StepwellPass]) -> tuple[str, ...]:
    return tuple(option.name for option in dataclasses.fields(pass_class))
