"""Whether constants hold numbers alone: no infinity, and nothing that is no number."""

from __future__ import annotations

from math import isfinite
from typing import cast

import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, DenseResourceAttr, FloatAttr
from xdsl.ir import Attribute

from .resources import ElementsAttr, elements_to_numpy, found_once

_PART = 1 << 20
"""Elements that are looked at together, so that what is found of them stays in cache."""


def is_constant_finite(value: Attribute) -> bool | None:
    """Whether all elements of a constant are finite; None where they are not known. Of a resource it is found once."""
    if isinstance(value, DenseIntOrFPElementsAttr):
        return _is_finite(elements_to_numpy(cast(ElementsAttr, value)))
    if not isinstance(value, DenseResourceAttr):
        return isinstance(value, FloatAttr) and isfinite(value.value.data)
    return found_once(value, "is_finite", lambda: _is_finite(elements_to_numpy(value)))


def _is_finite(array: np.ndarray) -> bool:
    flat = array.reshape(-1)
    parts = (flat[start : start + _PART] for start in range(0, flat.size, _PART))
    return all(bool(np.isfinite(part).all()) for part in parts)
