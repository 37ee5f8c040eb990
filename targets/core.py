"""What one core has: vector registers, ports, caches and pages. How fast it is stands in `rates.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeVar

from ..frozen import frozen
from ..lazy import cached_property

if TYPE_CHECKING:
    import numpy as np

HugePages = Literal["always", "madvise", "never"]

Number = TypeVar("Number", float, "np.ndarray[Any, np.dtype[np.float64]]")
"""One, or an array of as many as there are plans to look at together."""

LINE_BYTES = 64
"""A cache line of x86-64, and of most AArch64."""


@frozen
class Cache:
    """
    A data cache of `bytes`, `ways`-way set-associative. `shared_by` is the number of cores that use it together.

    Eight ways is what most first and second levels of the last ten years have, or fewer than they have.
    """

    level: int
    bytes: int
    ways: int = 8
    shared_by: int = 1
    line_bytes: int = LINE_BYTES

    @property
    def name(self) -> str:
        return f"L{self.level}"

    @cached_property
    def way_bytes(self) -> int:
        """Addresses that differ by a multiple of this fall into the same set."""
        return max(self.bytes // self.ways, self.line_bytes)


DEFAULT_CACHES = (Cache(1, 32 << 10), Cache(2, 512 << 10), Cache(3, 8 << 20, ways=16))
"""What CPUs of the last ten years have at least, or nearly so: taken where the system does not tell."""


@frozen
class Core:
    """
    One core as code sees it.

    `fma_ports`, `load_ports` and `store_ports` are how many multiply-adds, loads and stores of full vectors
    (`vector_bits` wide) begin in a cycle; half a port is one every second cycle. `add_ports` are ports that take
    additions alone, beside those of multiply-adds, as all of AMD's Zen cores have them; 0 where additions need a port of
    multiply-adds, as on Intel's server cores. `fma_latency` is in cycles, and
    so is `mispredict`, what a jump costs that was not foreseen: 13 to 20 on most cores, and `split_load`, what a vector
    load takes more where it lies across two lines that come from L2: at least that of a second load. `window` is how many
    instructions are under way at once, those of the reorder buffer: 192 on Haswell and Zen, and up to 512 since.
    `l1_misses` are the lines for which L1 waits at once: 10 on Haswell, 12 on Skylake, 22 to 24 on Zen.
    `l1_ports` is how many accesses L1 serves in a cycle, loads and lines that come from L2, where that is more than
    loads begin.
    `tlb_pages` are the entries of the second level of its TLB for data: 1024 on Haswell, 1536 on Skylake and Zen, and more since;
    None where large pages make them enough for any array.
    `huge_pages` is the setting of Linux's transparent huge pages, None where there is none or it is unknown.
    `vnni` says whether there are instructions that sum products of bytes.

    The defaults of ports and latency are those of most cores with FMA since Intel's Haswell. (Fog,
    "Instruction tables" and "The microarchitecture of Intel, AMD and VIA CPUs", agner.org/optimize; uops.info.)
    """

    vector_bits: int
    vector_registers: int
    fma_ports: float = 2
    load_ports: float = 2
    store_ports: float = 1
    add_ports: float = 0
    fma_latency: int = 4
    caches: tuple[Cache, ...] = DEFAULT_CACHES
    mispredict: int = 16
    split_load: float = 1
    window: int = 192
    l1_misses: int = 12
    l1_ports: float = 0
    page_bytes: int = 4096
    tlb_pages: int | None = 1536
    huge_pages: HugePages | None = None
    vnni: bool = False

    def lanes(self, bytes_: int) -> int:
        """How many elements of so many bytes a vector register holds."""
        return max(self.vector_bits // 8 // bytes_, 1)

    def has_masks(self, bytes_: int) -> bool:
        """
        Whether some lanes of a vector of elements of so many bytes can be loaded and stored alone: AVX has instructions for it for four
        bytes and more, AVX-512 and SVE for all; SSE and NEON have none.
        """
        return self.vector_bits >= 512 or (self.vector_bits >= 256 and bytes_ >= 4)

    @property
    def stores_by_masks(self) -> bool:
        """
        Whether storing some lanes of a vector takes no longer than storing all: not with AVX's VMASKMOV, which is dozens of
        operations on AMD's cores. (uops.info.)
        """
        return self.vector_bits >= 512

    def cache(self, level: int) -> Cache:
        """The data cache of a level; the last one inside it where there is none of that level."""
        return [cache for cache in self.caches if cache.level <= level][-1]

    def has_cache(self, level: int) -> bool:
        return any(cache.level == level for cache in self.caches)

    def arithmetic_cycles(self, additions: float, others: float) -> float:
        """
        Cycles in which so many additions and other operations of full vectors begin. A multiplication and an addition
        that become one multiply-add count as both: its addition has the ports of others where there are such.
        """
        if not self.add_ports:
            return (additions + others) / self.fma_ports
        return max(additions / self.add_ports, others / self.fma_ports)

    def flops_per_cycle(self, bytes_: int) -> float:
        """The most that multiply-adds of elements of so many bytes come to, each being two operations."""
        return 2 * self.fma_ports * self.lanes(bytes_)

    def loading_cycles(
        self, vectors: Number, lines: Number | float, elements: Number | float = 0
    ) -> Number:
        """
        Cycles in which so many loads of full vectors begin, and of single elements, which take a port of L1 whatever full vectors
        do, while so many lines come from L2. While L1 takes one of these, it gives nothing at one of its ports: a load
        waits that would have begun there.
        """
        ports = max(self.l1_ports, self.load_ports)
        return vectors / self.load_ports + elements / ports + lines * self.load_ports / ports**2

    def vectors_beside(self, rows: int) -> int:
        """
        How many vectors wide a register tile of so many rows may be, at most four: its accumulators, one row of
        the wide operand and one broadcast element are in registers together.
        """
        return min(max((self.vector_registers - 1) // (rows + 1), 1), 4)

    def rows_beside(self, vectors: int) -> int:
        """How many rows a register tile of so many vectors may have at most."""
        return max((self.vector_registers - 1) // vectors - 1, 1)

    @cached_property
    def probe_tile(self) -> tuple[int, int]:
        """
        Rows and vectors of the register tile that the tile kernel is measured with (MR, and NR in vectors).

        Of the tiles with at least twice as many rows as vectors, so that what streams of the wide operand is
        used often, this is the one with the most multiply-adds for each load: 6 × 2 in 16 registers, 9 × 3 in 32.
        """
        tiles = [(rows, self.vectors_beside(rows)) for rows in range(1, self.vector_registers - 1)]
        tall = [(rows, vectors) for rows, vectors in tiles if rows >= 2 * vectors]
        return max(tall, key=lambda tile: tile[0] * tile[1] / (tile[0] + tile[1]))

    def terms_under_way(self, sums: float, loads: float) -> float:
        """The terms of the sums in a register tile, each of so many multiply-adds and loads, whose instructions are under way at once."""
        return self.window / (sums + loads)

    @property
    def probe_terms(self) -> int:
        """How many terms of the sums in that tile are of operands, packed, that take three quarters of L1."""
        rows, vectors = self.probe_tile
        return self.cache(1).bytes * 3 // 4 // (4 * (rows + vectors * self.lanes(4)))
