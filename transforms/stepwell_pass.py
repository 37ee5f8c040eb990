"""The base of every pass of ours: a module pass that states its levels and its numerical effect."""

from __future__ import annotations

from typing import ClassVar

from xdsl.passes import ModulePass

from ..analysis.levels import Level
from .numerics import NumericalEffect


class StepwellPass(ModulePass):
    """
    A pass of Stepwell.

    The first line of a pass's docstring is what `stepwell-opt --list-passes` prints.
    """

    level_in: ClassVar[Level]
    level_out: ClassVar[Level]
    numerics: ClassVar[NumericalEffect] = "exact"
