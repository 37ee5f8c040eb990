"""How a contraction is tiled, blocked, ordered and packed: the domains of its family of plans."""

from __future__ import annotations

from typing import Literal

from ...frozen import frozen_in_types
from .terms_written_out import BETWEEN_HINTS, TWO_TERMS, has_parts

Innermost = Literal["m", "n"]

Blocks = tuple[int, int, int, Innermost, bool]
"""MC, NC, KC, which tiles are innermost, and whether blocks of K are outside of the loops over rows."""


@frozen_in_types
class ContractionPlan:
    """
    C[M, N] += A[M, K] · B[K, N] in register tiles of MR × NR, whose sums stay in registers over KC terms.

    Around a tile, outermost first:

    - `innermost="m"`: blocks of NC columns (if fewer than N), blocks of MC rows (if fewer than M), tiles of NR
      columns, tiles of MR rows. A panel of B (KC × NR) stays near while all tiles of a block of rows use it.
      This is Goto and van de Geijn's order ("Anatomy of High-Performance Matrix Multiplication", 2008).
    - `innermost="n"`: blocks of NC columns, tiles of MR rows, tiles of NR columns. A sliver of A (MR × K) stays in
      L1 while all tiles of a block of B, which stays in L2, use it.

    Where KC < K, C is read and written once for each block of KC terms. These blocks are between the tiles of
    columns and those of rows or, with `k_outside`, right inside of the blocks of NC columns: then both operands
    are packed block by block, B of KC × NC and A of MC × KC. With tiles of M innermost that is the order of BLIS.
    """

    turned: bool
    """Cᵀ = Bᵀ Aᵀ is computed: rows in vector lanes"""
    mr: int
    nr: int
    mc: int
    nc: int
    kc: int
    innermost: Innermost
    pack_left: bool
    pack_right: bool
    peel_m: bool
    """the last rows, fewer than MR, have a tile of their own"""
    peel_n: bool
    """the last columns, fewer than NR, have a tile of their own"""
    prefetch: bool
    """the next panel of B is asked for while one is used"""
    prefetch_result: bool = False
    """the next tile's part of C is asked for while one is computed"""
    prefetch_left: bool = False
    """the next rows of A are asked for"""
    k_outside: bool = False
    """blocks of KC terms, if fewer than K, are outside of the loops over rows"""
    mirrored: bool = False
    """of a symmetric result only the tiles on and below the diagonal are computed, and the rest copied from there"""
    left_by_rows: bool = False
    """A is packed MR rows at a time, right before the tiles of these rows, and again for each block of columns"""
    left_in_rows: bool = False
    """A is packed as it lies, only in another type: tiles read its rows, which need no transposing"""
    prefetch_terms: int = 0
    """how many terms ahead rows of B that are read where they are are asked for, to L1; 0 for not at all"""
    prefetch_panel_terms: int = 0
    """how many terms ahead panels of B that come from L2 are asked for, to L1; 0 for not at all"""
    pack_in_tiles: bool = False
    """B is packed by the tiles of the first rows of a block, which use what they pack, and not before"""
    packs_from_l2: bool = False
    """what these tiles pack is in L2, from where they ask for it to L1; else it comes from beyond, and they ask for it to L2"""
    sums_in: str = ""
    """the type in which KC products of integers are added up, where that is exact; else their own"""

    @property
    def asks_in_terms(self) -> bool:
        """Whether each term of the tiles asks for what later ones read of B; hints for rows that the first tiles pack stand in these alone."""
        return bool(self.prefetch_panel_terms or (self.prefetch_terms and not self.pack_in_tiles))

    def has_pairs(self, k: int, *, is_fused: bool) -> bool:
        """
        Whether terms of the tiles' sums, of `k` terms in all, may stand in pairs, as of `terms_of_product`: between hints that stand in each.

        What is left of pairs takes registers, as do products that are no part of additions, and a shorter last one of several parts: LLVM
        spilled sums. (On Intel's Granite Rapids sums of 301, 513 and 1931 terms took 1.03, 1.03 and 1.12 of the time in pairs, and the
        same with the last term before them.)
        """
        terms = k | self.kc
        in_parts = self.prefetch_result or self.prefetch_left
        if not in_parts and self.prefetch_terms and has_parts(self.kc, self.prefetch_terms):
            terms |= self.prefetch_terms
        is_whole = not (terms % BETWEEN_HINTS if in_parts else terms % TWO_TERMS)
        return self.asks_in_terms and is_fused and is_whole

    def peels_in_block(self, n: int) -> bool:
        """Whether the last of `n` columns, fewer than a tile has, are in a block of columns with others."""
        return self.peel_n and self.nc < n and n % self.nc != n % self.nr

    def __str__(self) -> str:
        packed = [name for name, on in (("A", self.pack_left), ("B", self.pack_right)) if on]
        peeled = [name for name, on in (("M", self.peel_m), ("N", self.peel_n)) if on]
        words = [
            f"tile {self.mr}x{self.nr}",
            f"MC {self.mc}",
            f"NC {self.nc}",
            f"KC {self.kc}",
            f"{self.innermost.upper()} tiles innermost",
            f"packs {' and '.join(packed)}" if packed else "packs nothing",
        ]
        words += ["B in the first tiles"] if self.pack_in_tiles else []
        words += ["A row by row of tiles"] if self.left_by_rows else []
        words += ["A in its own order"] if self.left_in_rows else []
        words += [f"peels {' and '.join(peeled)}"] if peeled else []
        words += ["K blocks outside of M"] if self.k_outside else []
        hints = (("A", self.prefetch_left), ("B", self.prefetch), ("C", self.prefetch_result))
        asked = [name for name, on in hints if on]
        words += [f"prefetches {' and '.join(asked)}"] if asked else []
        ahead = self.prefetch_terms
        words += [f"prefetches rows of B {ahead} terms ahead"] if ahead else []
        ahead = self.prefetch_panel_terms
        words += [f"prefetches panels of B {ahead} terms ahead"] if ahead else []
        words += ["rows in lanes"] if self.turned else []
        words += ["mirrors C"] if self.mirrored else []
        words += [f"adds up integers in {self.sums_in}"] if self.sums_in else []
        return ", ".join(words)
