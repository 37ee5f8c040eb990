"""Copies of an image with its border that plans for reductions over windows read."""

from __future__ import annotations

from math import prod

from ...frozen import frozen
from ...lazy import cached_property
from ...targets.core import Core
from ..facts import WindowReduction
from .cost import round_up
from .windows_plan import WindowsPlan

SIDES = 2
"""Borders beside each row of an image, before and after it, which are stored by themselves."""


def copied_along(plan: WindowsPlan, r: WindowReduction) -> list[int]:
    """The axes of the loops of whose iterations each makes a copy of its part of the image, outermost first; none where one is made of all."""
    if not plan.halo:
        return []
    cut = dict(plan.tile)
    moved = (axis for axis in plan.order(r.parallel) if axis not in cut)
    along = [axis for axis in moved if r.image.moves_along(axis) and not r.taps(axis)]
    return [*along, plan.rows[0]] if plan.strips and plan.rows is not None else along


@frozen
class ImageCopies:
    """How many copies plans make, and how large these are."""

    r: WindowReduction
    core: Core
    width: int
    """lanes of a vector of the result's elements"""

    def count(self, plan: WindowsPlan) -> int:
        """How many planes or strips are copied: one for each iteration of the loops around them."""
        planes = self.r.extent(*self._around(plan))
        if not plan.strips or plan.rows is None:
            return planes
        axis, rows = plan.rows
        return planes * -(-self.r.extent(axis) // rows)

    def bytes(self, plan: WindowsPlan) -> float:
        """The size of a copy of the image with its border: of a plane, or of a strip of it."""
        rows, row = self._extents(plan)
        return rows * round_up(row, self.width) * self.r.facts.element_bytes(self.r.image)

    def stores(self, plan: WindowsPlan) -> int:
        """Stores by which a copy is made: each row in vectors, and the border on both sides of it."""
        rows, row = self._extents(plan)
        return rows * (-(-row // self.width) + SIDES * self.r.leaves(plan.lanes[0]))

    def is_near(self, plan: WindowsPlan) -> bool:
        """Whether a copy stays in L1 with the part of the image that it is made from."""
        return 2 * self.bytes(plan) <= self.core.cache(1).bytes

    def _around(self, plan: WindowsPlan) -> list[int]:
        """The axes of the loops around a copy, but for that of strips."""
        image, r = self.r.image, self.r
        tile = dict([plan.lanes] if plan.rows is None else [plan.rows, plan.lanes])
        around = [axis for axis in r.parallel if axis not in tile]
        while (
            around and not plan.strips and (not image.moves_along(around[-1]) or r.taps(around[-1]))
        ):
            around.pop()
        return around

    def _extents(self, plan: WindowsPlan) -> tuple[int, int]:
        """How many rows a copy has, and how many elements each of them."""
        key = (plan.tile, plan.rows, plan.strips, plan.lanes)
        if (known := self._known.get(key)) is None:
            known = self._known[key] = self._find_extents(plan)
        return known

    @cached_property
    def _known(self) -> dict[object, tuple[int, int]]:
        """What `_extents` has answered."""
        return {}

    def _find_extents(self, plan: WindowsPlan) -> tuple[int, int]:
        r, image = self.r, self.r.image
        sizes = {axis: r.extent(axis) for axis in r.parallel} | dict.fromkeys(self._around(plan), 1)
        if plan.strips and plan.rows is not None:
            sizes.update([plan.rows])
        shape = r.facts.buffers[image.buffer].shape
        found = [size if isinstance(size, int) else 1 for size in shape]
        for axis, size in sizes.items():
            dimension = image.dimension_of(axis)
            if dimension is not None and image.moves_along(axis):
                found[dimension] = r.reach(axis, size)
        last = image.dimension_of(plan.lanes[0])
        row = 1 if last is None else found.pop(last)
        return prod(found), row
