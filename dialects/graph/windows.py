"""Windows that move over tensors: how many places they have, and which elements lie under them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir.affine import AffineExpr
from xdsl.utils.exceptions import VerifyException

from ...frozen import frozen
from ..interfaces import Array
from .shapes import Shape, shape_text

MOST_PADDING = 1 << 22
"""
How many elements of padding an axis may have that is shorter: what a window meets is worked out for each place, and a number
in a file must not decide how long that takes.
"""


@frozen
class Window:
    """
    A window with one extent for each axis, 1 for an axis that it does not reach along.

    At place `o` its element `k` lies at `o * stride + k * dilation - low` of the operand, or outside of it. With `ceil` it
    also moves to a last place where a part of it lies beyond the `high` elements of padding, if it starts before them.
    """

    extents: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    low: tuple[int, ...]
    high: tuple[int, ...]
    ceil: bool = False

    def __post_init__(self) -> None:
        lists = (self.extents, self.strides, self.dilations, self.low, self.high)
        if len({len(values) for values in lists}) != 1:
            raise VerifyException(
                f"found a window of {' and '.join(str(len(values)) for values in lists)} extents, strides, dilations, "
                "low and high pads, expected as many of each; give one for each axis"
            )
        if any(value < 1 for values in lists[:3] for value in values):
            raise VerifyException(
                f"found window {list(self.extents)}, strides {list(self.strides)} and dilations "
                f"{list(self.dilations)}, expected numbers of at least 1; mend them"
            )
        if any(value < 0 for values in lists[3:] for value in values):
            raise VerifyException(
                f"found pads {list(self.low)} and {list(self.high)}, expected none below 0; slice the operand"
            )

    @property
    def rank(self) -> int:
        return len(self.extents)

    @property
    def axes(self) -> tuple[int, ...]:
        """The axes that the window reaches along."""
        return tuple(axis for axis, extent in enumerate(self.extents) if extent > 1)

    @property
    def reach(self) -> tuple[int, ...]:
        """How many elements the window spans on each axis, with the holes of its dilation."""
        return tuple((k - 1) * d + 1 for k, d in zip(self.extents, self.dilations, strict=True))

    def places(self, shape: Sequence[int]) -> Shape:
        """
        How many places the window has on each axis of an operand of this shape.

        Raises VerifyException where it does not fit, or may lie in the padding as a whole.
        """
        if len(shape) != self.rank:
            raise VerifyException(
                f"found a window over {self.rank} axes for shape {shape_text(shape)}, expected one extent for "
                "each axis; give 1 for those it does not reach along"
            )
        return tuple(self.places_on(axis, extent) for axis, extent in enumerate(shape))

    def places_on(self, axis: int, extent: int) -> int:
        """How many places the window has on an axis of this extent. See `places`."""
        if extent == DYNAMIC_INDEX:
            return DYNAMIC_INDEX
        low, stride, reach = self.low[axis], self.strides[axis], self.reach[axis]
        if max(low, self.high[axis]) > max(extent, MOST_PADDING):
            raise VerifyException(
                f"found {low} and {self.high[axis]} elements of padding on axis {axis}, expected at most "
                f"{max(extent, MOST_PADDING)}; pad less"
            )
        room = low + extent + self.high[axis] - reach
        if room < 0 and (extent or reach > 1):
            raise VerifyException(
                f"found a window that spans {reach} elements on axis {axis}, which has {extent} and "
                f"{low} + {self.high[axis]} of padding, expected a window that fits; make it smaller"
            )
        count = max(room // stride + 1, 0)
        beyond = self.ceil and room % stride and count * stride < low + extent
        return count + 1 if beyond else count

    def require_elements(self, shape: Sequence[int]) -> None:
        """Raise VerifyException where the window has a place at which it holds no element of the operand."""
        for axis, (extent, places) in enumerate(zip(shape, self.places(shape), strict=True)):
            if extent == DYNAMIC_INDEX:
                continue
            counts = self.counts(axis, 0, extent, places)
            if not counts.all():
                raise VerifyException(
                    f"found a window that lies in the padding at place {counts.tolist().index(0)} of axis {axis}, "
                    "expected elements under it; pad less than the window's extent"
                )

    def counts(self, axis: int, first: int, end: int, places: int) -> Array:
        """How many of the window's elements lie in `first` up to, without, `end`, at each of so many places."""
        extent, dilation = self.extents[axis], self.dilations[axis]
        start = np.arange(places) * self.strides[axis] - self.low[axis]
        # Element k is at start + k · dilation: the first one that is not before a bound has the number of the ceiling.
        before = np.clip(-((start - first) // dilation), 0, extent)
        return np.clip(-((start - end) // dilation), 0, extent) - before

    def indices(
        self, places: Sequence[AffineExpr], within: Mapping[int, AffineExpr]
    ) -> list[AffineExpr]:
        """Where in the operand an element of the window is, at these places; `within` the window by axes it reaches along."""
        result: list[AffineExpr] = []
        for axis, place in enumerate(places):
            index = place * self.strides[axis]
            if axis in within:
                index = index + within[axis] * self.dilations[axis]
            result.append(index - self.low[axis])
        return result

    def leaves(self, shape: Sequence[int]) -> bool:
        """Whether the window reaches outside of an operand of this static shape."""
        last = zip(shape, self.places(shape), self.strides, self.reach, self.low, strict=True)
        return any(self.low) or any(
            (count - 1) * stride + reach - low > extent
            for extent, count, stride, reach, low in last
        )

    def slid(self, x: Array, fill: Any) -> Array:
        """The elements under the window: axes of places, then as many of positions within it; `fill` outside of `x`."""
        places = self.places(x.shape)
        if 0 in places:
            return np.empty((*places, *self.extents), x.dtype)
        ends = [(n - 1) * s + r for n, s, r in zip(places, self.strides, self.reach, strict=True)]
        amounts = [
            (low, max(end - low - extent, 0))
            for low, end, extent in zip(self.low, ends, x.shape, strict=True)
        ]
        padded = np.pad(x, amounts, constant_values=fill)[tuple(slice(end) for end in ends)]
        views = np.lib.stride_tricks.sliding_window_view(padded, self.reach)
        return views[tuple(slice(None, None, s) for s in (*self.strides, *self.dilations))]


def same_pads(extent: int, reach: int, stride: int, *, upper: bool) -> tuple[int, int]:
    """
    The pads with which a window has ceil(extent / stride) places (ONNX's auto_pad SAME_UPPER and SAME_LOWER): an odd
    number of elements has its last one behind the operand if `upper`, else before it.
    """
    total = max((-(-extent // stride) - 1) * stride + reach - extent, 0)
    less = total // 2
    return (less, total - less) if upper else (total - less, less)
