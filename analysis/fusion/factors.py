"""Reductions over all axes, as chains of rows would do them: each row first, and then what these give."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.dialects.builtin import AnyFloat
from xdsl.ir import SSAValue

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
    return is_in_any_order(nest.results, nest.combiners, reassociates)


def is_in_any_order(
    results: Sequence[SSAValue], combiners: Sequence[Combiner], reassociates: bool
) -> bool:
    """
    Whether results may be reduced over some axes, stored, and then over the others; `reassociates` says whether sums of
    floats may be in another order.
    """
    if any(combiner.is_arg for combiner in combiners):
        return False
    elements = (tensor_type(value).get_element_type() for value in results)
    floats = [element for element in elements if isinstance(element, AnyFloat)]
    is_exact = all(combiner.is_extreme for combiner in combiners)
    return (
        not floats
        or is_exact
        or (reassociates and all(bit_width(type_) >= LEAST_BITS for type_ in floats))
    )


def factored(nest: Nest) -> Nest:
    """The nest that reduces the last axis alone, with a result for each row."""
    *outer, last = nest.space.reduction
    return replace(nest, space=Space(tuple(outer), (last,)), anchor=None, passed_on=())
