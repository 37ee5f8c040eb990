"""The predicted time of a plan, and the parts of the model that families share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from math import exp, gcd, inf
from typing import Any

import numpy as np

from ...frozen import frozen
from ...lazy import cached_property, remembered
from ...targets.core import Cache, Core, Number
from ...targets.estimates import L3_SECONDS
from ...targets.target import Target
from .shared_core import BESIDE_NEIGHBOUR, neighboured
from .terms_written_out import (
    BETWEEN_HINTS,
    control_cycles,
    control_instructions,
    is_worth_parts,
    loads_by_itself,
)

RESOLUTION = 1.02
"""Predicted times that differ by less than this factor are equal: measured ones of one plan differ by as much."""


SHARPNESS = 4
"""
How near the time of a tile is to the longer of what its ports and its chains take, as the exponent of a mean of both: each is the
limit for a part of the time, as instructions are given to a port before it is known when they can begin. Tiles of 4 to 14
rows with 25 and 49 terms, as assembly on Zen 5, take the time of this mean to 7 %, where the longer one alone is up to a fifth
less.
"""


BESIDE_HINTS = 5
"""
How many times as long as the lines of a tile of C take to come, as many at once as L1 waits for, the tile computes where it asks for them:
what it loads itself waits behind them, and behind those of the tile before, which leave. (On Intel's Granite Rapids products of 1000 to 3000 rows
took 1.02 to 1.04 times as long with hints as without where sums have 64 to 256 terms, and tiles compute 1 to 4 times as long; 0.98 with 384
terms and 6 times.)
"""

TIMES_ASKED = 3
"""How often a cache line is asked for at most, where tiles ask for one together: a hint costs what a load does."""

TRANSLATED = 64
"""
Pages whose addresses a core translates without a delay: the entries of the first level of its TLB for data. Intel's
cores and AMD's have 64 to 96. (Fog, "The microarchitecture of Intel, AMD and VIA CPUs".)
"""

MOST_PIECES = 4096
"""Of an operand whose places in a cache are counted: what more of them repeat."""


@frozen
class Cost:
    """Seconds of one call by what they go to, in the order in which the model names them."""

    terms: tuple[tuple[str, float], ...]
    due: float = 0.0
    """seconds by which the plan has to be faster than others, as it takes longer to compile; a call does not take them"""

    @property
    def seconds(self) -> float:
        return sum(seconds for _, seconds in self.terms)

    @property
    def rank(self) -> float:
        """What plans are chosen by: the least."""
        return self.seconds + self.due

    @property
    def bound(self) -> str:
        """The term that the plan spends most time on."""
        return max(self.terms, key=lambda term: term[1])[0]

    def __add__(self, other: Cost) -> Cost:
        """Of two parts, one after the other."""
        terms: dict[str, float] = {}
        for name, seconds in (*self.terms, *other.terms):
            terms[name] = terms.get(name, 0.0) + seconds
        return Cost(tuple(terms.items()), self.due + other.due)

    def __str__(self) -> str:
        parts = [f"{name} {time_text(s)}" for name, s in self.terms if s >= self.seconds / 1000]
        return f"{time_text(self.seconds)} ({', '.join(parts)})"


def time_text(seconds: float) -> str:
    """A time with three digits and its unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def cost_of(terms: Iterable[tuple[str, float]]) -> Cost:
    return Cost(tuple(terms))


def mixed(one: Number, other: Number) -> Number:
    """What two things take together of which each is the limit for a part of the time."""
    # A root of a float has no type of its own, as it may be complex.
    total: Any = one**SHARPNESS + other**SHARPNESS
    return total ** (1 / SHARPNESS)


def cycles_per_second(target: Target) -> float:
    """What the probed multiply-add peak says of the clock."""
    return target.rates.fma_f32.core / target.core.flops_per_cycle(4)


def step_cycles(core: Core, rows: int, vectors: float, part: float = 1) -> float:
    """
    Cycles of one term of the sum in a register tile: multiply-adds, loads, or the latency of one accumulator.

    A term has a multiply-add for each accumulator, a load for each vector of B and a broadcast load for
    each row of A. An accumulator's next multiply-add begins a cycle after the last one ended, rather than in
    the same: other multiply-adds that are ready have taken the port. An instruction takes a `part` of the time of
    one on full vectors.
    """
    return max(
        part * rows * vectors / core.fma_ports,
        part * (rows + vectors) / core.load_ports,
        core.fma_latency + 1,
    )


def broadcast_apart(core: Core, rows: Number, vectors: float) -> Number:
    """
    Of so many elements that a tile's term broadcasts, those that are loaded by an instruction of their own: with AVX-512 the multiply-add
    does it where there is one for each.
    """
    return rows * (vectors > 1 or core.vector_bits < 512)


def term_instructions(
    core: Core, rows: int, vectors: int, hints: int = 0, *, own_loads: bool = False
) -> float:
    """
    Instructions of one term of the sum in a register tile, those that control its loop and so many hints to L1 included. Where multiply-adds
    may have `own_loads`, none loads for others if there are loads to spare.
    """
    is_alone = own_loads and loads_by_itself(core, rows, vectors, hints)
    loads = vectors + (0 if is_alone else broadcast_apart(core, rows, vectors))
    controlling = control_instructions(core, rows, vectors, own_loads=own_loads)
    return rows * vectors + loads + hints + controlling


@lru_cache(maxsize=16)
def issued(target: Target) -> float:
    """
    Instructions that a core begins in a cycle beside its multiply-adds' ports, as the probed tile has it when all is in L1; without a limit
    where that takes no longer than its ports.

    A core whose other thread is somebody else's begins half as many. (On Sapphire Rapids beside one, the probed tile of 9 x 48 took 0.86 of
    the multiply-adds' rate. That gives 0.82, 0.86, 0.85 and 0.93 for tiles of 14 x 32, 6 x 64, 7 x 48 and 28 x 16, of which 0.82, 0.87, 0.85
    and 0.90 were measured.)

    It stands for whatever a core loses by what it does beside multiply-adds, nearly all of which is loads. (On Intel's Granite Rapids it is the
    clock that falls with these: multiply-adds took the same time with as many other instructions beside them, 1.06 with 25 loads for 60. With all
    in L1 tiles of 9 x 48, 14 x 32 and 6 x 64 took 1.06, 1.04 and 1.04, where a limit gives 1.05, 1.07 and 1.05; of 20 x 16 and 12 x 32 whose
    places of a window share elements 1.06 and 1.00, where it gives 1.06 and 1.03. It falls by steps: no rate for each load gives all of these.)
    """
    core = target.core
    rows, vectors = core.probe_tile
    ports, probed = step_cycles(core, rows, vectors), _cycles_in_l1(target)
    beyond = probed**SHARPNESS - ports**SHARPNESS
    if beyond <= 0:
        return inf
    return term_instructions(core, rows, vectors) / beyond ** (1 / SHARPNESS)


def issuing(ports: Number, instructions: Number, issued: float) -> Number:
    """Cycles of instructions that take so many at their ports, on a core that begins so many in a cycle (as of `issued`)."""
    return ports if issued == inf else mixed(ports, instructions / issued)


def _cycles_in_l1(target: Target) -> float:
    """
    Cycles of a term of the probed tile when all is in L1. What the end of a tile takes counts apart: it comes once for
    `Core.probe_terms` terms here.
    """
    core = target.core
    rows, vectors = core.probe_tile
    ending = ending_cycles(core, rows, vectors) / core.probe_terms
    is_known = target.rates.tile_in_l1.source != "estimated"
    probed = _probed_cycles(target, target.rates.tile_in_l1.core) - (ending if is_known else 0)
    return max(probed, step_cycles(core, rows, vectors))


def unhidden_part(target: Target) -> float:
    """The part of what a tile brings from L2 that its arithmetic does not hide, as the probed tile has it."""
    core, clock = target.core, cycles_per_second(target)
    rows, vectors = core.probe_tile
    near = _cycles_in_l1(target)
    fetching = 4 * (rows + vectors * core.lanes(4)) * clock / target.rates.read_l2.core
    return max(_probed_cycles(target, target.rates.tile_near.core) - near, 0.0) / fetching


def asked_part(target: Target) -> float:
    """
    The part of what a tile waits for its wide operand in L2 that is left where it asks L1 for that, as the probed tile has it; all of it where
    that was not measured.
    """
    rates, core = target.rates, target.core
    if rates.tile_near_asked.source in ("estimated", "busy"):
        return 1.0
    (rows, vectors), lanes = core.probe_tile, core.lanes(4)
    waiting = _probed_cycles(target, rates.tile_near.core) - _cycles_in_l1(target)
    of_wide = waiting * vectors * lanes / (rows + vectors * lanes)
    gained = _probed_cycles(target, rates.tile_near.core)
    gained -= _probed_cycles(target, rates.tile_near_asked.core)
    return min(max(1 - gained / of_wide, 0.0), 1.0) if of_wide > 0 else 1.0


def split_cycles(target: Target) -> float | None:
    """
    Cycles that the probed tile waits for a vector of B that lies across two lines, beside what it does for one that does not; None where that
    was not measured.
    """
    split, near = target.rates.tile_split, target.rates.tile_near
    if split.source == "estimated":
        return None
    waiting = _probed_cycles(target, split.core) - _probed_cycles(target, near.core)
    return max(waiting, 0.0) / target.core.probe_tile[1]


def _probed_cycles(target: Target, rate: float) -> float:
    """Cycles of a term of the probed tile at so many FLOP/s."""
    rows, vectors = target.core.probe_tile
    return 2 * rows * vectors * target.core.lanes(4) * cycles_per_second(target) / rate


def half_part(target: Target) -> float:
    """
    The part of the time of an instruction on full vectors that one on half of their lanes takes: half of it on a core that
    executes full vectors as two halves, and all of it where the other half of a unit is idle.
    """
    rates = target.rates
    if target.core.vector_bits <= 256:
        return 1.0
    return min(rates.fma_f32.core / rates.fma_f32_narrow.core * 256 / target.core.vector_bits, 1.0)


def split_part(core: Core, apart: int | None = None) -> float:
    """
    Which part of the vectors of an array lies across two lines: of one that may begin with any element, or of rows that begin so many bytes
    apart, the first of them with a line.
    """
    vector = core.vector_bits // 8
    whole = vector / core.cache(1).line_bytes
    return whole if apart is None else whole * (1 - gcd(apart, vector) / vector)


@frozen
class TileSteps:
    """The terms of the sums in register tiles on one core, with what they bring from L2."""

    core: Core
    fetching: float
    """cycles in which a byte comes from L2"""
    unhidden: float
    """the part of these that arithmetic does not hide"""
    across: float | None
    """see `split_cycles`; where it is None, such a vector takes a load port twice, and longer if it comes from L2"""
    issued: float
    """see `issued`"""
    controlled: float
    """the part of the probed tile's time that its loop's control leaves to multiply-adds: rates of tiles have lost it already"""
    line_bytes: int
    """of a line that L1 takes from L2"""
    asked: float
    """see `asked_part`"""
    own_loads: bool
    """see `Rates.own_loads_are_free`"""
    neighboured: float
    """see `shared_core.neighboured`"""

    @staticmethod
    @lru_cache(maxsize=16)
    def of(target: Target) -> TileSteps:
        fetching = cycles_per_second(target) / target.rates.read_l2.core
        line = target.core.cache(1).line_bytes
        core = target.core
        rows, vectors = core.probe_tile
        adding = rows * vectors / core.fma_ports
        controlled = adding / (adding + control_cycles(core, rows, vectors))
        parts = unhidden_part(target), split_cycles(target), issued(target)
        free, shared = target.rates.own_loads_are_free, neighboured(target)
        return TileSteps(core, fetching, *parts, controlled, line, asked_part(target), free, shared)

    @cached_property
    def cycles(self):
        """As of `cycles_of_term`, each worked out once: most products ask for the same tiles."""
        return remembered(self.cycles_of_term)

    def cycles_of_term(
        self,
        rows: int,
        vectors: int,
        fetched: tuple[float, float],
        split: float = 0,
        extending: float = 0,
        part: float = 1,
        hints: int = 0,
    ) -> float:
        """
        Cycles of one term of a tile of so many rows and vectors, which brings so many bytes from L2 for each row
        and for each vector. A part of the vectors is `split` between lines. `extending` are the instructions before
        the multiply-adds, and `hints` those that ask L1 for what later terms use. An instruction on vectors takes a `part` of the time of
        one on full ones.
        """
        core, splits = self.core, vectors * split
        bytes_ = rows * fetched[0] + vectors * fetched[1]
        # While L1 takes a line from L2, it gives nothing at one of its ports.
        lines = bytes_ / self.line_bytes
        loading = (part * (rows + vectors) + lines) / core.load_ports
        adding = part * rows * vectors / core.fma_ports
        adding += control_cycles(core, rows, vectors, own_loads=self.own_loads)
        adding *= self.controlled
        ports = max(step_cycles(core, rows, vectors, part), loading, adding)
        begun = term_instructions(core, rows, vectors, hints, own_loads=self.own_loads)
        step = issuing(ports, begun, self.issued)
        if self.neighboured:
            step += self.neighboured * (issuing(ports, begun, BESIDE_NEIGHBOUR) - ports)
        if self.across is not None:
            step += splits * self.across
        elif splits:
            loading += part * splits / core.load_ports
            loading += splits * core.split_load if fetched[1] else 0
            step = max(step, issuing(max(ports, loading), begun, self.issued))
        return step + extending / core.fma_ports + self.unhidden * self.fetching * bytes_


def terms_ahead(
    core: Core, sums: float, loads: float, lines: float, terms: int, *, in_parts: bool = False
) -> int:
    """
    How many terms ahead a tile asks L1 for the rows of an operand that it reads where they are. It is 0 where the sum has few terms,
    or loads leave no port to the hints of a term, which are among the `lines` that come to L1 meanwhile.

    The core's own prefetchers follow what is read line by line, and steps of up to 2 KiB by one instruction. (Intel 64 and IA-32
    Architectures Optimization Reference Manual, "Data Prefetching".) Rows that are lines of their own are asked for when their loads are
    under way: terms that are nearer than these have been asked for already. (In 13 x 32 tiles with B's rows 3136 bytes apart in L2,
    181 GFLOP/s became 198 on Intel's Granite Rapids; 203 are reached with all in L1.)

    At the end of a sum, what is beyond it would be asked for. Where sums may be `in_parts`, each part asks for the next one, and the last
    one for the first of the next tile: as many terms ahead as a part has, no fewer than would be else if there are such parts of twice as many
    at most, and at least half. (Of 64 channels of 56 x 56 to 256 tiles of 13 x 32 with parts of 16 terms took 0.97 of the time of those
    with 8 on Intel's Granite Rapids.)
    """
    ahead = max(int(core.terms_under_way(sums, loads)), 1)
    # A hint brings nothing to registers: it takes a port of L1, of which cores that begin few loads of full vectors leave some.
    ports = max(core.l1_ports, core.load_ports)
    has_room = (loads + lines) / ports <= sums / core.fma_ports
    if in_parts and has_room and is_worth_parts(terms, ahead):
        parts = [n for n in range(-(-ahead // 2), min(2 * ahead, terms // 2) + 1) if terms % n == 0]
        if parts or terms < 2 * BETWEEN_HINTS:
            return next((n for n in parts if n >= ahead), max(parts, default=0))
    return ahead if has_room and terms >= 2 * ahead else 0


def ending_cycles(core: Core, rows: Number, vectors: float) -> Number:
    """
    Cycles in which a register tile is written, once, after its last multiply-adds have come out, with a jump that
    was not foreseen.
    """
    return rows * vectors / core.store_ports + 2 * core.fma_latency + core.mispredict


def restart_seconds(page_bytes: int, run: float, latency: float = L3_SECONDS) -> float:
    """
    Seconds for each byte that a stream of pieces of `run` bytes waits at their beginnings: twice the latency of where it
    comes from on each page, or once for each piece that is shorter.
    """
    return max(2 * latency / page_bytes, latency / run if run < page_bytes else 0.0)


def found_anew(computing: float, streams: float) -> float:
    """
    Seconds of waiting for a row of a tile of the result that is on other pages than that of the tile before, in so many arrays: a core
    translates its address anew, and prefetchers, which see new rows each time, follow none of them. What is under way comes row after row
    while the tile is computed, so many seconds for each row: tiles wait for it in the part of the time in which it is under way.
    """
    coming = streams * L3_SECONDS
    return coming * coming / (coming + computing)


def kept_bytes(cache: Cache) -> int:
    """
    How much of a cache holds data that is used again while other data stream through it.

    A quarter of the ways, and at least one, is left to the streams. (Low, Igual, Smith and Quintana-Ortí,
    "Analytical Modeling Is Enough for High-Performance BLIS", ACM TOMS 43(2), 2016, count ways in this manner.)
    """
    return (cache.ways - max(cache.ways // 4, 1)) * cache.way_bytes


@lru_cache(maxsize=4096)
def lost_part(cache: Cache, page_bytes: int, size: float, streamed: float) -> float:
    """
    The part of `size` bytes that a cache does not keep while they are used in turn and `streamed` others go by.

    The system gives a program any pages. Where a way holds several, those of the same place in a way are as many
    as random throws make them: a Poisson distribution. (Kessler and Hill, "Page placement algorithms for large real-indexed
    caches", ACM TOCS 10(4), 1992.) Of a place with more pages than ways the best replacement loses those beyond the ways, and
    that of the least recently used all, as each is used when it has just gone. What caches do is between the two: the
    middle is taken. (Of an L2 of 2 MB on Intel's Granite Rapids, 0.07, 0.17 and 0.28 of 1.5, 1.75 and 2 MB came from beyond it
    when they were read again and again, where the middle is 0.09, 0.20 and 0.31.)
    """
    mean, ways = size / cache.way_bytes, int(cache.ways - streamed / cache.way_bytes)
    if ways <= 0 or mean >= 2 * cache.ways:
        return 1.0
    if cache.way_bytes <= page_bytes:
        return max(1 - ways / mean, 0.0)
    probability, beyond, fewer = exp(-mean), mean - ways, 0.0
    for pages in range(ways):  # the mean of all, less those that have less than the ways
        beyond += (ways - pages) * probability
        fewer += probability
        probability *= mean / (pages + 1)
    return max((beyond / mean + 1 - fewer) / 2, 0.0)


@lru_cache(maxsize=4096)
def most_in_a_set(cache: Cache, rows: int, stride: int, width: int = 1) -> int:
    """
    How many of the lines of `rows` pieces of `width` bytes, `stride` bytes apart, fall into one set.

    Sets are chosen by the address modulo the size of a way, as in nearly all first and second levels.
    """
    sets = max(cache.way_bytes // cache.line_bytes, 1)
    lines = -(-width // cache.line_bytes)
    if lines == 1:
        if stride % cache.line_bytes == 0:  # they come back to the first set after so many pieces
            period = sets // gcd(stride // cache.line_bytes, sets)
            return -(-rows // period)
        places = (row * stride // cache.line_bytes % sets for row in range(rows))
        return max(Counter(places).values(), default=0)
    used = np.bincount(np.arange(rows) * stride // cache.line_bytes % sets, minlength=sets)
    # In a set are the pieces that begin in it or up to so many lines before, around the end of the sets: sums of neighbours.
    begun = np.cumsum(np.concatenate(([0], used[np.arange(1 - lines, sets) % sets])))
    return int((begun[lines:] - begun[:-lines]).max())


def beyond_share(near: float, size: float) -> float:
    """
    The part of so many bytes that are used in turn that has left a cache which keeps `near` bytes: of little more than it keeps, the
    replacement of lines loses some and not all.
    """
    return min(max(size / near - 1, 0.0), 1.0)


def bytes_taken(cache: Cache, size: float, pieces: int, apart: int, width: int) -> float:
    """
    The bytes of a cache that an operand of `size` bytes takes, of which there are so many pieces, each of `width` bytes and so many bytes
    `apart`: as many of each set as that one needs which most of them share.

    Pieces that are spread evenly may still have one line more in some set than in others, which nothing is taken for.
    """
    width = max(min(width, apart, cache.way_bytes), 1)
    crowd = most_in_a_set(cache, min(pieces, MOST_PIECES), apart, width)
    return max(size, (crowd - 1) * cache.way_bytes)


def rows_apart(cache: Cache, rows: int, elements: int, element_bytes: int) -> int:
    """
    The least distance of rows, in elements and at least `elements`, at which so many of them that are read side by
    side leave a way of each set free. Whole lines are added; where none helps, `elements`.
    """
    line = max(cache.line_bytes // element_bytes, 1)
    for lines in range(cache.way_bytes // cache.line_bytes):
        distance = elements + lines * line
        if most_in_a_set(cache, rows, distance * element_bytes) < cache.ways:
            return distance
    return elements


def round_up(value: int, unit: int) -> int:
    return -(-value // unit) * unit


def balanced(extent: int, most: int, unit: int = 1) -> int:
    """The size of equal blocks, multiples of `unit`, of which none is larger than `most` (or a unit)."""
    blocks = -(-extent // max(most, unit))
    return round_up(-(-extent // blocks), unit)
