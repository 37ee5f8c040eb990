"""
Whether two runs of a program agree, and by how much they differ.

Integers and booleans must be equal. Floats may differ by what another order of summation makes: rewriting
a program may reassociate (DESIGN.md, rule 8), and the interpreter of a higher level adds in another order
than a loop does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import bf16, f16, f32, f64
from xdsl.ir import Attribute

from ..dialects.dtypes import element_type, is_float_dtype
from ..frozen import frozen

Array = npt.NDArray[Any]

RELATIVE_TOLERANCE: dict[Attribute, float] = {f32: 1e-5, f64: 1e-12, f16: 2.0**-9, bf16: 2.0**-6}
"""
Of the largest finite magnitude in the expected output. What is stored in f16 or bf16 may have been rounded once more
on one of the ways, and then be a neighbour: 4 units of the last of 11 or 8 bits.
"""


@frozen
class Difference:
    """The worst element of one output. `error` is absolute; it is infinite where no number is close."""

    output: int
    error: float
    tolerance: float
    index: tuple[int, ...]
    found: object
    expected: object

    @property
    def is_acceptable(self) -> bool:
        return self.error <= self.tolerance

    def __str__(self) -> str:
        place = "[" + ", ".join(map(str, self.index)) + "]" if self.index else ""
        return (
            f"output {self.output}{place} is {self.found}, expected {self.expected} "
            f"(difference {self.error:.3g}, tolerance {self.tolerance:.3g})"
        )


def largest_differences(found: Sequence[Array], expected: Sequence[Array]) -> list[Difference]:
    """
    The worst element of each output, in order; outputs without elements are left out.

    Raises ValueError when the numbers of outputs, or the shape or dtype of one, are not the same.
    """
    if len(found) != len(expected):
        raise ValueError(f"found {len(found)} outputs, expected {len(expected)}")
    return [
        difference
        for number, (one, other) in enumerate(zip(found, expected, strict=True))
        if (difference := _difference(number, np.asarray(one), np.asarray(other)))
    ]


def _difference(number: int, found: Array, expected: Array) -> Difference | None:
    if found.shape != expected.shape or found.dtype != expected.dtype:
        raise ValueError(
            f"output {number} is {found.dtype}{list(found.shape)}, "
            f"expected {expected.dtype}{list(expected.shape)}"
        )
    if expected.size == 0:
        return None
    errors = _errors(found.reshape(-1), expected.reshape(-1))
    worst = int(np.argmax(errors))
    index = tuple(int(i) for i in np.unravel_index(worst, expected.shape))
    return Difference(
        number,
        float(errors[worst]),
        tolerance_for(expected),
        index,
        found[index],
        expected[index],
    )


def tolerance_for(expected: Array) -> float:
    """The largest absolute difference that is allowed from these values."""
    relative = _tolerance_of(expected.dtype)
    if relative is None:
        return 0.0
    finite = expected[np.isfinite(expected)]
    return relative * max(1.0, float(np.max(np.abs(finite), initial=0.0)))


def _tolerance_of(dtype: np.dtype) -> float | None:
    return RELATIVE_TOLERANCE.get(element_type(dtype)) if is_float_dtype(dtype) else None


def _errors(found: Array, expected: Array) -> Array:
    """Absolute differences; equal infinities and NaN beside NaN count as 0, other such pairs as inf."""
    if not is_float_dtype(expected.dtype):
        # Exact, also where int64 differences do not fit in a double.
        unequal = found != expected
        distance = np.abs(found.astype(np.float64) - expected.astype(np.float64))
        return np.where(unequal, np.maximum(distance, 1.0), 0.0)
    same = (found == expected) | (np.isnan(found) & np.isnan(expected))
    with np.errstate(invalid="ignore", over="ignore"):
        distance = np.abs(found.astype(np.float64) - expected.astype(np.float64))
    distance[np.isnan(distance)] = np.inf
    distance[same] = 0.0
    return distance
