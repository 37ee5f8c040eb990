"""How fast a core is, and all cores together: FLOP/s, bytes/s, and where each number is from."""

from __future__ import annotations

from dataclasses import fields
from operator import attrgetter
from typing import Literal, cast

from ..frozen import frozen
from .core import LINE_BYTES

Source = Literal["measured", "busy", "known", "given", "estimated"]
"""
Where a rate is from: measured on this machine; measured on it while it was busy with other work, which is
then no more than a lower bound; known of this kind of core; given in the target's text; or estimated from
the others by a formula of `estimates.py`.
"""

Kind = Literal["read", "copy"]
KINDS: tuple[Kind, ...] = ("read", "copy")

LEVELS = ("L1", "L2", "L3", "memory")

STRIDED_ROWS = (4, 6, 8, 10, 12, 14)
"""The numbers of unpacked rows for which `Rates` has a slowdown."""


ROWS_IN_TURNS = 8
"""The rows that `Rates.rows_beyond_l2` is of."""

ROWS_PANELS = 4
"""With how many panels the rows of `Rates.tile_rows_far` are used, each time they come."""


OWN_LOADS_FREE = 1.03
"""Of `own_loads`, what is within the noise: where two loads begin in a cycle and no more, it is 1.07."""

OWN_VECTORS = 2
"""
Of the widest tiles whose multiply-adds may load by themselves: of three, a step has an eighth more loads than multiply-adds, which cost
5 percent on Emerald Rapids, and an eighth of a tile's instructions are saved where two save a third.
"""

OWN_MOST_LOADS = 1.1
"""
For each multiply-add of a loop whose multiply-adds load by themselves, those of vectors and hints to L1 included. On Emerald Rapids 24 loads
beside 22 multiply-adds cost nothing, 27 beside 24 cost 5 percent, and 33 beside 28 cost 12.
"""

PIECE_BYTES = 1024
"""Of each row of those that `Rates.tile_pieces_far` is of."""

TELLING = 1.01
"""
Two rates that were measured in turns differ by less than this factor anyway: a gain that is smaller was not measured.
(On a Zen 5 core hints gained 1.00 to 1.08 in ten runs, by the pages that each had; products from memory gained 1.05 to
1.13.)
"""


@frozen
class Rate:
    """FLOP/s or bytes/s of one core, and of all cores together."""

    core: float
    machine: float
    source: Source = "measured"

    def at(self, threads: int, cores: int) -> float:
        """With so many threads: as many times one core's, but no more than all have together."""
        if threads <= 1:
            return self.core
        return self.machine if threads >= cores else min(self.machine, threads * self.core)


@frozen
class Rates:
    """
    The rates of a machine of so many `cores`. Each is there, and says where it is from.

    FLOP/s of independent fused multiply-adds: `fma_f32` and `fma_f64` go on for as long as one likes, the
    `_burst` ones for a few milliseconds after a pause, the `_narrow` ones are with vectors of 256 bits.

    Bytes/s that reach the registers or leave them, from working sets that half fill a level: `read_*` by loads alone,
    `copy_*` counting what is read and what is written. (As STREAM does: a written line that is read first counts once.
    McCalpin, "Memory Bandwidth and Machine Balance in Current High Performance Computers", IEEE TCCA Newsletter, 1995.)
    `copy_past` is of the arrays of `copy_memory`, stored past the caches. `beyond_l2` is of sequential reads of 2, 4
    and 8 times L2, the slowest of them: just beyond L2 some machines are far slower than half an L3 suggests.
    `rows_beyond_l2` is of the same bytes, read as eight rows in turns, 256 bytes of each: prefetchers follow several
    rows at once on some cores, and on others lose them.

    `chase_l3` and `chase_memory` are bytes/s of lines of which each says where the next one is, in random order: a line in
    each latency. Those of `chase_l3` are four times L2, the others as many as `read_memory` is of.

    Operand bytes/s that are packed into panels in L2, from L2 (`pack_near`) and from beyond it (`pack_far`).

    FLOP/s of the kernel of one register tile, `Core.probe_tile`, in f32: with both of its operands in L1
    (`tile_in_l1`), in L2 (`tile_near`), the same with hints that ask L1 for the wide one (`tile_near_asked`), and with
    a wide one each vector of which lies across two lines (`tile_split`), with a narrow one of rows that are not packed
    (`tile_rows_near`); with the wide one, whose row is as wide as the tile, beyond L2 (`tile_wide_far`), and with the
    narrow one there (`tile_narrow_far`); with rows that are not packed there, and used with `ROWS_PANELS` panels each
    (`tile_rows_far`), the same with hints that ask for the next ones (`tile_rows_asked`), and with rows as long as
    these in L2 (`tile_rows_long`); and with rows beyond L2 that are used in pieces of `PIECE_BYTES`, each with one panel, and all rows of a block
    before their next pieces (`tile_pieces_far`).

    `last_cache` is a size: the bytes of the last cache that are a core's to use, of which three quarters are read as fast as
    what is just beyond L2. A virtual machine may be told of a cache that it has a part of.

    `strided_4` to `strided_14` are slowdowns, not rates: the time of a tile kernel of so many rows (and
    `Core.vectors_beside` them) that are 4096 bytes apart, so that their lines fall into one set of L1, over its
    time with rows one line further apart. So is `own_loads`: the time of a register tile of `OWN_VECTORS` vectors whose multiply-adds
    load the element that goes into all lanes each by itself, over its time where those of a row share what is loaded.
    """

    cores: int
    last_cache: Rate
    fma_f32: Rate
    fma_f64: Rate
    fma_f32_burst: Rate
    fma_f64_burst: Rate
    fma_f32_narrow: Rate
    fma_f64_narrow: Rate
    read_l1: Rate
    read_l2: Rate
    read_l3: Rate
    read_memory: Rate
    copy_l1: Rate
    copy_l2: Rate
    copy_l3: Rate
    copy_memory: Rate
    copy_past: Rate
    beyond_l2: Rate
    rows_beyond_l2: Rate
    chase_l3: Rate
    chase_memory: Rate
    pack_near: Rate
    pack_far: Rate
    tile_in_l1: Rate
    tile_near: Rate
    tile_near_asked: Rate
    tile_split: Rate
    tile_rows_near: Rate
    tile_wide_far: Rate
    tile_narrow_far: Rate
    tile_rows_long: Rate
    tile_rows_far: Rate
    tile_rows_asked: Rate
    tile_pieces_far: Rate
    strided_4: Rate
    strided_6: Rate
    strided_8: Rate
    strided_10: Rate
    strided_12: Rate
    strided_14: Rate
    own_loads: Rate

    def named(self, name: str) -> Rate:
        """The rate of a name in `RATE_NAMES`."""
        return cast(Rate, getattr(self, name))

    def peak(self, dtype: str = "f32", threads: int = 1) -> float:
        """FLOP/s of independent fused multiply-adds; `dtype` is `f32` or `f64`."""
        return self.named(f"fma_{dtype}").at(threads, self.cores)

    def bandwidth(self, level: str = "memory", kind: Kind = "read", threads: int = 1) -> float:
        """Bytes/s; `level` is one of `LEVELS`."""
        return self.named(f"{kind}_{level.lower()}").at(threads, self.cores)

    def latency(self, level: str = "memory") -> float:
        """Seconds from a load to its line, which nothing has asked for before; `level` is `L3` or `memory`."""
        return LINE_BYTES / self.named(f"chase_{level.lower()}").core

    def arriving(self, rate: float) -> float:
        """
        Seconds in which each byte comes to L1 of what is loaded at a rate of so many bytes/s from beyond it. Rates are
        measured by loads, which also take their time where all is in L1: that part is left out.
        """
        return max(1 / rate - 1 / self.read_l1.core, 0.0)

    @property
    def hints_gain(self) -> bool:
        """
        Whether asking for rows before they are used gains: prefetchers of some cores find them as soon, and what hints bring takes
        room in L2. It does where that was not measured.
        """
        rates = self.tile_rows_asked, self.tile_rows_far
        if any(rate.source in ("estimated", "busy") for rate in rates):
            return True
        return self.tile_rows_asked.core > TELLING * self.tile_rows_far.core

    @property
    def panels_hints_gain(self) -> bool:
        """
        Whether asking L1 for a packed operand that comes from L2 gains: where a tile loses anything by what comes from there, unless it was
        measured that it loses more with hints. (Products gained 1 to 4 percent on Intel's Granite Rapids, and the probed tile 0.5 to 2.)
        """
        rates = self.tile_near_asked, self.tile_near
        loses = self.tile_in_l1.core > TELLING * self.tile_near.core
        if any(rate.source in ("estimated", "busy") for rate in rates):
            return loses
        return loses and self.tile_near_asked.core >= self.tile_near.core

    @property
    def own_loads_are_free(self) -> bool:
        """
        Whether multiply-adds of a register tile may load the element that goes into all lanes each by itself, which takes fewer instructions
        but more loads. It is not said of cores where that was not measured: two loads a cycle are too few for it.
        """
        return self.own_loads.source != "estimated" and self.own_loads.core < OWN_LOADS_FREE

    def slowdown(self, rows: int) -> Rate:
        """
        The slowdown by so many unpacked rows 4096 bytes apart: the least of as many and of more that was measured, since noise only adds to what
        more rows lose.
        """
        counts = [count for count in STRIDED_ROWS if count >= rows] or [STRIDED_ROWS[-1]]
        return min((self.named(f"strided_{count}") for count in counts), key=attrgetter("core"))


RATE_NAMES = tuple(field.name for field in fields(Rates) if field.name != "cores")

PEAK = "fma_f32"
"""What tiles are parts of; how many multiply-adds begin in a cycle being known, it tells of the clock."""

_OF_CORE = frozenset(
    (
        *(PEAK, "fma_f64", "fma_f32_narrow", "fma_f64_narrow"),
        *("read_l1", "read_l2", "copy_l1", "copy_l2", "pack_near"),
        *("tile_in_l1", "tile_near", "tile_near_asked", "tile_split"),
        *("tile_rows_near", "tile_rows_long"),
    )
)


def is_of_core(name: str) -> bool:
    """
    Whether it belongs to the core itself, with its first two caches, so that another machine with this kind of core has as much of it in a
    cycle. Bursts do not, which are of other clocks.
    """
    return name in _OF_CORE


def is_tile(name: str) -> bool:
    """Whether it is of the kernel of a register tile, measured in turns with multiply-adds and all others of them."""
    return name.startswith("tile_")


def is_slowdown(name: str) -> bool:
    """Whether less of it is better."""
    return name.startswith("strided_") or name == "own_loads"


def is_cautious(name: str) -> bool:
    """Whether it was measured as what one has at least, so that plans do not stall when they do not get more."""
    return name in ("beyond_l2", "rows_beyond_l2")


def is_size(name: str) -> bool:
    """Whether it is of bytes, and not of a second."""
    return name == "last_cache"
