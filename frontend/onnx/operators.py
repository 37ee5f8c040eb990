"""Every family of operators: importing one enters its functions."""

from . import (
    contraction,
    control,
    convolutions,
    elementwise,
    generation,
    movement,
    normalization,
    reductions,
)

FAMILIES = (
    contraction,
    control,
    convolutions,
    elementwise,
    generation,
    movement,
    normalization,
    reductions,
)
"""The modules that operators stand in."""
