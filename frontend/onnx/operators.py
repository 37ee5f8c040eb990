"""Every family of operators: importing one enters its functions."""

from . import (
    contraction,
    control,
    convolutions,
    detection,
    elementwise,
    generation,
    indexing,
    movement,
    normalization,
    ordering,
    quantization,
    reductions,
)

FAMILIES = (
    contraction,
    control,
    convolutions,
    detection,
    elementwise,
    generation,
    indexing,
    movement,
    normalization,
    ordering,
    quantization,
    reductions,
)
"""The modules that operators stand in."""
