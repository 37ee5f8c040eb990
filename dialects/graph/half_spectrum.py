"""How the first half of the transform of real numbers is written: what `graph.real_fft` is at te."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute, SSAValue

from ...frozen import frozen
from ..te.loop_builder import Form, LoopBuilder
from .fft_stages import (
    InLanes,
    OneRow,
    Parts,
    Space,
    Stage,
    complex_length,
    minus,
    plus,
    times,
    write_stages,
)
from .lane_blocks import Block


@frozen
class HalfSpectrum:
    """The transforms of `length` real numbers each."""

    element: Attribute
    length: int
    stages: Sequence[Stage]
    """of the transform of complex numbers: half as many, or as many where they are odd"""
    roots: int
    """where exp(-2πi·k / length) / 2 begins in the table, by k from 0 on"""

    @property
    def count(self) -> int:
        return self.length // 2 + 1

    @property
    def is_odd(self) -> bool:
        return self.length % 2 == 1

    def of_block(
        self, block: Block, x: SSAValue, table: SSAValue, results: tuple[SSAValue, SSAValue]
    ) -> None:
        """Write the transforms of a block."""
        space, count = InLanes(block), 2 * (self.length if self.is_odd else self.count)
        one, other = block.buffers(self.element, count)
        block.read(x, one, 0, self.length)
        if self.is_odd:
            numbers, others = (Parts.one_behind_other(each, self.length) for each in (one, other))
            self._clear(space, numbers)
            found = self._transformed(space, table, numbers, (others, numbers))
            places = 0, self.length
        else:
            half = self.length // 2
            pairs = Parts((one, one), step=2, offsets=((), ((1, 1),)))
            numbers, others = (Parts.one_behind_other(each, half) for each in (one, other))
            between = self._transformed(space, table, pairs, (others, numbers))
            free = one if between is others else other
            found = Parts.one_behind_other(free, self.count)
            self._take_apart(space, table, between, found)
            places = 0, self.count
        for place, result in zip(places, results, strict=True):
            block.write(found.buffers[0], place, self.count, result)

    def of_row(self, w: LoopBuilder, x: Parts, table: SSAValue, results: Parts) -> None:
        """Write one transform, of the real parts of `x`."""
        space, zero, size = OneRow(w), w.index.constant(0), complex_length(self.length)
        scratch = [w.scratch(self.element, (1, 2 * size), hint) for hint in ("numbers", "others")]
        one, other = (Parts((each, each), zero, offsets=((), ((1, size),))) for each in scratch)
        if self.is_odd:
            with w.loop("i", 0, self.length) as i:
                space.store(space.load(x, 0, [(1, i)], None), one, 0, [(1, i)], None)
            self._clear(space, one)
            found = self._transformed(space, table, one, (other, one))
            with w.loop("k", 0, self.count) as k:
                for part in (0, 1):
                    space.store(
                        space.load(found, part, [(1, k)], None), results, part, [(1, k)], None
                    )
            return
        behind: Form = [*x.offsets[0], (x.step, 1)]
        pairs = Parts(x.buffers, x.row, 2 * x.step, (x.offsets[0], behind))
        found = self._transformed(space, table, pairs, (one, other))
        self._take_apart(space, table, found, results)

    def _clear(self, space: Space, numbers: Parts) -> None:
        """Set the imaginary parts to 0."""
        zero = space.w.scalar(self.element).constant(0)
        with space.w.loop("i", 0, self.length) as i, space.lanes() as lane:
            space.store(zero, numbers, 1, [(1, i)], lane)

    def _transformed(
        self, space: Space, table: SSAValue, read: Parts, targets: Sequence[Parts]
    ) -> Parts:
        return write_stages(space, self.element, self.stages, table, read, targets)

    def _take_apart(self, space: Space, table: SSAValue, z: Parts, x: Parts) -> None:
        """
        The transform of the even and odd elements from that of complex numbers z made of them, and the whole from both:
        `x[k] = e + r · o` and `x[half - k] = conj(e - r · o)` with `2 e = z[k] + conj(z[half - k])`,
        `2 o = -i · (z[k] - conj(z[half - k]))` and r the root.
        """
        w, half = space.w, self.length // 2
        b = w.scalar(self.element)
        with space.lanes() as lane:
            real, imag = (space.load(z, part, (), lane) for part in (0, 1))
            # 0, but NaN where a number is not finite.
            zero = b.add(b.sub(real, real), b.sub(imag, imag))
            for place, value in ((0, b.add(real, imag)), (half, b.sub(real, imag))):
                space.store(value, x, 0, [(place, 1)], lane)
                space.store(zero, x, 1, [(place, 1)], lane)
        with w.loop("k", 1, half // 2 + 1) as k:
            at, across = [(1, k)], [(-1, k), (half, 1)]
            form: Form = [(1, k), (1, self.roots)]
            root = space.root(table, 0, form), space.root(table, 1, form)
            with space.lanes() as lane:
                p, q = (space.load(z, part, at, lane) for part in (0, 1))
                r, s = (space.load(z, part, across, lane) for part in (0, 1))
                point_five = b.constant(0.5)
                even = b.mul(b.add(p, r), point_five), b.mul(b.sub(q, s), point_five)
                odd = times(b, (b.add(q, s), b.sub(r, p)), root)
                lower, upper = plus(b, even, odd), minus(b, even, odd)
                mirrored = upper[0], b.neg(upper[1])
                for part in (0, 1):
                    space.store(lower[part], x, part, at, lane)
                    space.store(mirrored[part], x, part, across, lane)
