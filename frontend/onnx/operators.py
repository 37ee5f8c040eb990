"""Every family of operators: importing one enters its functions."""

from . import (
    contraction,
    control,
    elementwise,
    generation,
    movement,
    normalization,
    reductions,
)

FAMILIES = (contraction, control, elementwise, generation, movement, normalization, reductions)
"""The modules that operators stand in."""
