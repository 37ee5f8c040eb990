"""Reductions over all axes, as chains of rows would do them: each row first, and then what these give."""

from __future__ import annotations

from dataclasses import replace

from xdsl.dialects.builtin import AnyFloat

from ...dialects.combiner import Combiner
from ...dialects.dtypes import bit_width
from ...dialects.shaped import tensor_type
from .nests import Nest, Space

LEAST_BITS = 32
"""Narrower floats are added up in wider ones, which what is stored of a row would not be."""


def can_factor(nest: Nest, reassociates: bool) -> bool:
    """Whether a nest reduces several axes to one element, in any order; `reassociates` says whether sums of floats may."""
    *outer, last = nest.space.reduction or (1,)
    if nest.space.parallel or not outer or last == 1:
        return False
    if any(combiner.is_arg for combiner in nest.combiners):
        return False
    floats = [
        t for v in nest.results if isinstance(t := tensor_type(v).get_element_type(), AnyFloat)
    ]
    is_exact = all(combiner in (Combiner.MAX, Combiner.MIN) for combiner in nest.combiners)
    return (
        not floats
        or is_exact
        or (reassociates and all(bit_width(type_) >= LEAST_BITS for type_ in floats))
    )


def factored(nest: Nest) -> Nest:
    """The nest that reduces the last axis alone, with a result for each row."""
    *outer, last = nest.space.reduction
    return replace(nest, space=Space(tuple(outer), (last,)), anchor=None, passed_on=())
