"""How a convolution is tiled and ordered: the parameters of its family of plans, and what a tile loads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

from ...frozen import frozen
from ...lazy import cached_property

SizedAxes: TypeAlias = tuple[tuple[int, int], ...]
"""Axes, with how many elements there are of each."""


@frozen
class ConvolutionPlan:
    """
    Direct convolution in register tiles, which may extend along several axes of the result.

        for batch, outside, n, m (tiles):   # a block of weights stays near while all of the image goes by
          acc[tile] = 0                 # in registers
          for summed (blocks of channels, window, channels):
            acc[tile] += image[m + window] * weights[n, summed]
          result = finished(acc)

    Where an image is too large for what is next to it to stay near, the channels may go by in blocks around all of these loops: the sums
    of all tiles are kept in a buffer from block to block, and finished after the last one.

    One axis of the tile is in vector lanes: output channels, with the image's elements broadcast and the weights
    in panels, or neighbouring elements of the result, with the weights broadcast. (Georganas et al., "Anatomy of
    High-Performance Deep Learning Convolutions on SIMD Architectures", SC 2018, have the former on blocked channels.)
    """

    tile: SizedAxes
    """axes of the contraction, with how many elements of each a register tile has; the last one is in lanes"""
    summed: tuple[int, ...]
    """the axes that are summed over, outermost first"""
    halo: tuple[int, ...]
    """the image's dimensions in the order of its padded copy; empty where the image is read as it is"""
    packs: bool
    """the weights are packed into panels that have as many outputs as the tile"""
    written_out: bool = False
    """all terms of the sum are written out, so that those that read the same elements of the image share them"""
    prefetch_result: bool = False
    """while a tile is computed, the next one's part of what it goes to and is finished with is asked for"""
    prefetch_weights: bool = False
    """weights that come from beyond L2 are asked for a page ahead, where the hardware's prefetchers end"""
    outside: tuple[int, ...] = ()
    """
    axes of m, from the outermost on, that are outside of n: of the images of a batch, each of which stays near while all
    weights go by, or all of them, where all blocks of weights stay in L2 and go by while a tile of the image stays near
    """
    at_a_time: int = 0
    """
    so many iterations of the last of the axes outside go by for each block of weights, where as many stay near; 0 for one tile's
    """
    skips: tuple[tuple[int, int], ...] = ()
    """
    axes of the window along which terms outside of the image are left out, each with the axis of rows that shares its
    subscript: where a tile has one row of these, the loop over the window is shorter; where it has several, the tile is, for
    each element of the window, in the first and the last one along that axis
    """
    prefetch_block: bool = False
    """all tiles that use a block of weights ask for the next one, which comes from beyond L2, each for a part of it"""
    block_by_parts: bool = False
    """these hints stand in the parts of a sum, and not in each of its terms"""
    prefetch_image: bool = False
    """while all weights go by for a tile of rows, the next one's part of the image is asked for, a part of it in each step of the sums"""
    prefetch_terms: int = 0
    """how many terms ahead the image's elements are asked for, to L1; 0 for not at all"""
    block: int = 0
    """
    channels, along the innermost summed axis, for which all of the window goes by before it does for the next ones: so many stay in
    L1 meanwhile. 0 for all of them
    """

    window_inside: bool = False
    """
    the last axis of the window is the innermost one of the sum: neighbouring elements of the image are used one after the other, and a
    loop over channels ends once for each row of the window
    """
    shares_row: bool = False
    """
    with `window_inside`: all places of a row of the window are written out in the loop over channels, and share the elements of the
    image that several of them read
    """
    writes_row: bool = False
    """
    with `window_inside`: all places of a row of the window are written out in the loop over channels, where each reads other elements of the
    image: the masks of lanes are numbers then
    """
    masked: bool = False
    """
    the image is read where it is, by loads of the lanes that are inside of it; the first and the last tile along the axis in lanes stand
    by themselves, so that the others need no masks
    """
    depth: int = 0
    """
    channels, along the innermost summed axis, of which all tiles add up the products before any of them goes on to the next ones; 0 for all
    of them. So much of the image and of a block of weights stays near meanwhile
    """
    between_hints: int = 0
    """
    the terms of a part of a sum over channels alone, before each of which hints for the result, the next tile's part of the image and
    blocks of weights stand; 0 where sums have no such parts
    """

    @property
    def has_whole_row(self) -> bool:
        """Whether all places of a row of the window are written out in the loop over channels."""
        return self.shares_row or self.writes_row

    @property
    def lanes(self) -> int:
        """The axis in vector lanes."""
        return self.tile[-1][0]

    @cached_property
    def sizes(self) -> Mapping[int, int]:
        """How many elements of each axis of the tile there are in it."""
        return dict(self.tile)

    def size(self, axis: int) -> int:
        """How many elements of an axis a tile has."""
        return self.sizes.get(axis, 1)

    def panel(self, n: Sequence[int]) -> int:
        """The axis of outputs, of those of `n`, along which a panel of packed weights has as many elements as the tile: in lanes, or broadcast."""
        return self.lanes if self.lanes in n else next(axis for axis, _ in self.tile if axis in n)

    def is_skip_written_out(self, row: int) -> bool:
        """Whether terms are left out by shorter tiles along an axis of rows."""
        return self.size(row) > 1

    def __str__(self) -> str:
        sizes = "x".join(str(size) for _, size in self.tile)
        words = [f"direct, tile {sizes} of axes {', '.join(str(axis) for axis, _ in self.tile)}"]
        words += ["copies the image with its border"] if self.halo else []
        along = ", ".join(str(axis) for axis, _ in self.skips)
        words += [f"leaves out terms outside of it along axes {along}"] if along else []
        words += ["masks lanes outside of it"] if self.masked else []
        words += ["packs weights"] if self.packs else []
        words += ["all terms written out"] if self.written_out else []
        words += ["a row of the window for each channel"] if self.window_inside else []
        words += ["whose places share elements"] if self.shares_row else []
        words += ["whose places are written out"] if self.writes_row else []
        words += [f"{self.block} channels at a time"] if self.block else []
        words += [f"sums in blocks of {self.depth} channels"] if self.depth else []
        outside = ", ".join(str(axis) for axis in self.outside)
        words += [f"blocks of weights inside of axes {outside}"] if outside else []
        words += [f"{self.at_a_time} of the last one at a time"] if self.at_a_time else []
        words += ["prefetches the result"] if self.prefetch_result else []
        words += ["prefetches the image"] if self.prefetch_image else []
        ahead = self.prefetch_terms
        words += [f"prefetches the image {ahead} terms ahead"] if ahead else []
        between = self.between_hints
        words += [f"in parts of {between} terms"] if between else []
        words += ["prefetches weights"] if self.prefetch_weights else []
        by_parts = " by parts" if self.block_by_parts else ""
        words += [f"prefetches the next block of them{by_parts}"] if self.prefetch_block else []
        return ", ".join(words)


class Loads(NamedTuple):
    """What a tile loads of an operand for one term."""

    values: float
    """that it uses: vectors, or elements that are broadcast"""
    vectors: float
    """that are loaded at once"""
    elements: float = 0.0
    """that are loaded one by one"""
    shuffles: float = 0.0
    """
    That make up vectors which are not loaded at once. They take the place of multiply-adds: port 5 of Intel's cores does
    both, and so does a pipe of AMD's. (Fog, "The microarchitecture of Intel, AMD and VIA CPUs".)
    """

    def times(self, factor: float) -> Loads:
        """Of so many vectors or elements as many times."""
        values, vectors, elements, shuffles = self
        return Loads(factor * values, factor * vectors, factor * elements, factor * shuffles)
