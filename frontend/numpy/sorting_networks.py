"""Tensors put in order element by element, by comparators whose places are known: no branches, and any number at once."""

from __future__ import annotations

from collections.abc import Sequence

from ...dialects.graph.comparators import comparators
from ..tensor import Tensor
from .elementwise import maximum, minimum

MOST_IN_NETWORK = 16
"""How many tensors are put in order so: 63 comparators. A network grows faster than a sort of long rows."""


def in_order(tensors: Sequence[Tensor]) -> list[Tensor]:
    """The least elements of all tensors at each place, then the next, and so on; NaN at a place makes all of them NaN."""
    parts = list(tensors)
    for low, high in comparators(len(parts)):
        pair = parts[low], parts[high]
        parts[low], parts[high] = minimum(*pair), maximum(*pair)
    return parts
