"""What the plans of a convolution take at least, from what their register tiles count: before any plan is made."""

from __future__ import annotations

from collections.abc import Sequence
from math import log2, prod

from .convolution_cost import Model
from .cost import ending_cycles


class Bound:
    """
    What plans take at least whose tiles have so many elements along the axis in lanes, and any sizes along some others:
    the arithmetic, from what a tile counts, and what every plan takes besides.
    """

    def __init__(
        self,
        model: Model,
        lanes: tuple[int, int],
        others: Sequence[int],
        packs: bool,
        halo: Sequence[int],
    ):
        axis, wide = lanes
        self.besides = model.besides(halo)
        core, c = model.core, model.c
        self.core, self.terms = core, model.terms
        wide = min(wide, model.extents[axis])
        self.left, self.right = (
            model.loads_of_one(access, (axis, wide), packs) for access in (c.left, c.right)
        )
        self.moved = [(model.left[a] != 0, model.right[a] != 0) for a in others]
        self.vectors = -(-wide // model.lanes)
        self.tiles = prod(model.extents[a] for a in c.parallel) / wide / model.clock
        self.kept = 0.0 if model.is_window_alone else 1.0
        """the part of loads that terms written out do not share, at least"""
        self.latency = 0.0 if model.is_window_alone else core.fma_latency + 1
        self.leaving = 0.0 if model.is_along[axis] else log2(max(model.lanes, 2))
        """cycles in which a vector is transposed, at least"""

    def counts(self, sizes: Sequence[int]) -> tuple[int, int, int]:
        """The rows of vectors of a tile, and what it loads of either operand for one term."""
        rows = left = right = 1
        for size, (moves_left, moves_right) in zip(sizes, self.moved, strict=True):
            rows *= size
            if moves_left:
                left *= size
            if moves_right:
                right *= size
        return rows, left * self.left.vectors, right * self.right.vectors

    def seconds(self, rows: int, left: int, right: int) -> float:
        """Of a tile that counts these."""
        one, other, core = self.left, self.right, self.core
        left, right = left // one.vectors, right // other.vectors
        loads = self.kept * (left * one.loads + right * other.loads)
        shuffles = self.kept * (left * one.shuffles + right * other.shuffles)
        multiplying = (rows * self.vectors + shuffles) / core.fma_ports
        step = max(multiplying, loads / core.load_ports, self.latency)
        ending = ending_cycles(core, rows, self.vectors) + rows * self.vectors * self.leaving
        return self.besides + self.tiles / rows * (self.terms * step + ending)
