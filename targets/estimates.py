"""
Rates that nobody measured, from those that are known: one formula for each, beside what it follows from.

An estimate is there so that a plan can be made for any machine. It keeps the order of things (a level further
out is not faster, a copy not faster than its reads) rather than their exact size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from ..frozen import frozen
from .core import LINE_BYTES, Core
from .rates import (
    OWN_VECTORS,
    PEAK,
    PIECE_BYTES,
    RATE_NAMES,
    ROWS_PANELS,
    STRIDED_ROWS,
    Rate,
    Rates,
    is_cautious,
    is_of_core,
    is_slowdown,
)

NOMINAL_FREQUENCY = 3e9
"""
Cycles/s of a core of which nothing is measured, about what server and desktop cores sustain. All of its rates
are in proportion to it or set against it, so that it cancels out where plans are compared in a core's caches.
"""

OUTSTANDING_LINES = 32
"""
Lines that one core has under way from beyond its L2. Little's law gives the bandwidth: lines under way times their
size over latency. Vendors' optimization manuals give buffers for L2's misses from which 32 is a cautious number.
"""

L3_SECONDS, MEMORY_SECONDS = 30e-9, 100e-9
"""
Load latencies of servers' L3 and memory, about; and of what prefetchers bring, which have asked for it a while before, what is
left of the latency at most. (Of 160 ns on Sapphire Rapids, a tile waits 83 for each page of a packed operand.)
"""

L2_CYCLES = 14
"""
Latency of L2 on Zen and Skylake's server cores. Without prefetchers `Core.l1_misses` gives what it leaves of the bandwidth. (Fog, "The
microarchitecture of Intel, AMD and VIA CPUs".)
"""

TLB_CYCLES = 7
"""What it takes to find a page's address in the second level of a TLB, on the same cores."""

L3_RATE = 13e9
"""
Bytes/s that one core has from an L3 of which nothing is known. Measured were 9.3, 13, 64 and 108 GB/s (Sapphire
Rapids, Ice Lake, Zen 4, Zen 5), so that no estimate is near all of them. Of the estimates from 8 to 68 GB/s, the
plans made with this one lose least on those four, by the model of products: 7 % at most with 16 registers of 256
bits, where 68 GB/s lose 33 %. What is arranged for a slow L3 hides a fast one too, but not the other way round.
"""


@frozen
class _Estimate:
    """
    A formula for one core. `follows` names the rates and facts from which it is derived: where one of them is
    given, what was known of this rate no longer holds.
    """

    formula: Callable[[Core, Mapping[str, float]], float]
    follows: tuple[str, ...] = ()
    is_shared: bool = False
    """whether all cores together have no more of it than one"""


def complete(core: Core, cores: int, found: Mapping[str, Rate]) -> Rates:
    """
    All rates: those that were `found`, and estimates for the others. What was measured on a busy machine is a lower
    bound: it gives way to an estimate that follows from other rates that were found, where this is more.
    """
    values = {name: rate.core for name, rate in found.items()}
    rates = dict(found)
    for name, estimate in _ESTIMATES.items():
        is_bound = name in rates and _is_lower_bound(name, estimate, found)
        if name in rates and not is_bound:
            continue
        value = estimate.formula(core, values)
        if is_bound and value <= values[name]:
            continue
        values[name] = value
        rates[name] = Rate(value, value * (1 if estimate.is_shared else cores), "estimated")
    return Rates(cores, **{name: rates[name] for name in RATE_NAMES})


def _is_lower_bound(name: str, estimate: _Estimate, found: Mapping[str, Rate]) -> bool:
    """Whether a rate was measured on a busy machine, and those from which it is estimated were found."""
    follows = [other for other in estimate.follows if other in RATE_NAMES]
    if found[name].source != "busy" or is_slowdown(name) or is_cautious(name) or not follows:
        return False
    return all(other in found for other in follows)


def together(name: str, one_core: float, cores: int) -> float:
    """What all cores have of a rate of which one core's is known."""
    return one_core if _ESTIMATES[name].is_shared else one_core * cores


def following(facts: Iterable[str]) -> set[str]:
    """The rates that are estimated anew when these facts are given, directly and through others."""
    given = set(facts)
    found: set[str] = set()
    for name, estimate in _ESTIMATES.items():  # each stands after what it follows from
        if name not in given and not (given | found).isdisjoint(estimate.follows):
            found.add(name)
    return found


def in_proportion(known: Mapping[str, Rate], found: Mapping[str, Rate]) -> dict[str, Rate]:
    """
    What is known of a kind of core and was not found on a machine of it, as much more or less as the first rate there
    that it follows from: two rates of which one is of another machine say nothing of their ratio. What belongs to the core itself is known
    for a clock, which its multiply-adds tell of.
    """
    scaled: dict[str, Rate] = {}
    factors: dict[str, float] = {}
    for name in (name for name in _ESTIMATES if name in known):  # after what it follows from
        rate, follows = known[name], _ESTIMATES[name].follows
        if name in found:
            factors[name] = found[name].core / rate.core
            continue
        bases = (*follows, PEAK) if is_of_core(name) else follows
        base = next((base for base in bases if base in factors), None)
        if base is None:
            continue
        factor = factors[name] = factors[base]
        source = rate.source if is_of_core(base) else "estimated"
        scaled[name] = Rate(factor * rate.core, factor * rate.machine, source)
    return scaled


def with_loads_begun(core: Core, found: Mapping[str, Rate]) -> Core:
    """
    The core with as many loads in a cycle as what was found of its L1 comes to, where that is fewer than it has
    ports. (Intel's server cores have two ports; on virtual machines of two kinds 1.1 and 1.3 loads began. Lines from L2
    came meanwhile: one for each of four vectors of weights took two percent.)
    """
    if not {"read_l1", "fma_f32"} <= found.keys():
        return core
    clock = found["fma_f32"].core / core.flops_per_cycle(4)
    begun = round(found["read_l1"].core / (clock * core.vector_bits / 8), 1)
    return replace(
        core,
        load_ports=min(core.load_ports, max(begun, 0.1)),
        l1_ports=max(core.l1_ports, core.load_ports),
    )


def with_last_cache(core: Core, found: Mapping[str, Rate]) -> Core:
    """The core with as much of its last cache as it was found to have the use of."""
    *inner, last = core.caches
    if "last_cache" not in found or not inner:
        return core
    size = min(last.bytes, max(int(found["last_cache"].core), inner[-1].bytes))
    return replace(core, caches=(*inner, replace(last, bytes=size)))


def _peak(core: Core, known: Mapping[str, float]) -> float:
    if "fma_f64" in known:
        return 2 * known["fma_f64"]
    return NOMINAL_FREQUENCY * core.flops_per_cycle(4)


def _narrow(core: Core, peak: float) -> float:
    """
    With vectors of 256 bits. A core that begins one multiply-add of 512 bits in a cycle makes it of two units of
    256 and loses nothing; with two, half of each is idle.
    """
    if core.vector_bits <= 256:
        return peak
    ports = core.fma_ports if core.fma_ports >= 2 else 2 * core.fma_ports
    return peak * 256 / core.vector_bits * ports / core.fma_ports


def _vector_rate(core: Core, known: Mapping[str, float]) -> float:
    """Bytes/s of one vector in each cycle."""
    return known["fma_f32"] / core.flops_per_cycle(4) * core.vector_bits / 8


def _read_l1(core: Core, known: Mapping[str, float]) -> float:
    return max(core.load_ports * _vector_rate(core, known), known.get("read_l2", 0))


def _read_l2(core: Core, known: Mapping[str, float]) -> float:
    """
    Half a line in a cycle: between L1 and L2 there is a path of a line or half of one, and what is lent to
    evictions and misses is not available for reads.
    """
    cycles = known["fma_f32"] / core.flops_per_cycle(4)
    half_lines = core.cache(2).line_bytes / 2 * cycles
    return min(known["read_l1"], max(half_lines, known.get("read_l3", 0)))


def _read_l3(core: Core, known: Mapping[str, float]) -> float:
    """
    Without an L3, what does not fit into L2 is in memory. What was measured just beyond L2, or in memory, an L3 has
    at least.
    """
    if not core.has_cache(3):
        return known.get("read_memory", _read_memory(core, known))
    slower = (known.get(name, L3_RATE) for name in ("beyond_l2", "read_memory"))
    return min(known["read_l2"], max(L3_RATE, *slower))


def _read_memory(core: Core, known: Mapping[str, float]) -> float:
    """Little's law, and no more than of an L3."""
    rate = OUTSTANDING_LINES * core.cache(3).line_bytes / MEMORY_SECONDS
    return min(known.get("read_l3", rate), rate)


def _copy_l1(core: Core, known: Mapping[str, float]) -> float:
    """A load and a store for each vector, whichever there are fewer ports for."""
    pairs = min(core.load_ports, core.store_ports)
    return 2 * pairs * _vector_rate(core, known)


def _copy(level: str) -> _Estimate:
    """A line is read, another is read because it will be written, and that is written: two of three count."""

    def formula(core: Core, known: Mapping[str, float]) -> float:
        return min(known[f"read_{level}"] * 2 / 3, known["copy_l1"])

    return _Estimate(formula, (f"read_{level}",), level in ("l3", "memory"))


def _copy_past(core: Core, known: Mapping[str, float]) -> float:
    """As a copy, without reading the line before; but what is written takes no less than what is read."""
    read = 1 / known["read_memory"]
    writing = 2 / known["copy_memory"] - read
    return 2 / (read + max(writing - read, read))


def _beyond_l2(core: Core, known: Mapping[str, float]) -> float:
    """L3's where it holds eight times L2 for this core, otherwise memory's."""
    last = core.cache(3)
    in_l3 = last.level > 2 and last.bytes >= 8 * core.cache(2).bytes
    return known["read_l3"] if in_l3 else min(known["read_l3"], known["read_memory"])


def _chase(level: str, seconds: float) -> _Estimate:
    """
    That of most servers, or more where a slow stream was measured. By Little's law, what this has under way at once comes in one latency.
    """

    def formula(core: Core, known: Mapping[str, float]) -> float:
        usual = LINE_BYTES / seconds
        return min(known.get(f"read_{level}", usual * OUTSTANDING_LINES) / OUTSTANDING_LINES, usual)

    return _Estimate(formula)


def _pack_near(core: Core, known: Mapping[str, float]) -> float:
    """A copy within L2, of which only what is read counts."""
    return known["copy_l2"] / 2


def _pack_far(core: Core, known: Mapping[str, float]) -> float:
    """Each byte is read from beyond L2, and then written as in `pack_near`, of which writing is half."""
    both = 1 / (1 / known["beyond_l2"] + 1 / (2 * known["pack_near"]))
    return min(both, known["pack_near"])


UNHIDDEN = 1 / 8
"""
The part of the time in which a tile's operands come from L2 that multiply-adds do not hide: 0.08 to 0.19 where the
tile kernel was measured (Sapphire Rapids, Zen 3, Zen 4, Zen 5).
"""


def _tile_in_l1(core: Core, known: Mapping[str, float]) -> float:
    """
    The peak, unless a step of the summation has more loads than the ports take meanwhile. (On a virtual machine with
    Intel's Granite Rapids 0.91 of the peak were measured, the ends of tiles included, by rates of which each is the best of several runs.)
    """
    rows, vectors = core.probe_tile
    computing = rows * vectors / core.fma_ports
    step = max(computing, (rows + vectors) / core.load_ports)
    return max(known["fma_f32"] * computing / step, known.get("tile_near", 0))


def _tile_near(core: Core, known: Mapping[str, float]) -> float:
    """Less than in L1 by what a step waits for its operands, of which it brings a row and a column from L2."""
    rows, vectors = core.probe_tile
    work = 2 * rows * vectors * core.lanes(4)
    fetching = 4 * (rows + vectors * core.lanes(4)) / known["read_l2"]
    return work / (work / known["tile_in_l1"] + UNHIDDEN * fetching)


def _tile_wide_far(core: Core, known: Mapping[str, float]) -> float:
    """Each element of the wide operand takes part in 2·MR operations: 2·MR·W/s at a bandwidth of W."""
    rows, _ = core.probe_tile
    return min(known["tile_near"], 2 * rows * known["beyond_l2"] / 4)


def _tile_narrow_far(core: Core, known: Mapping[str, float]) -> float:
    """
    Each element of the narrow operand takes part in 2·NR operations. A line of it lasts for many steps, more than
    are under way in a core at once, so that a tile waits for it: for its part of the latency, by Little's law.
    (That is 0.94 ns a line; 0.77 and 0.92 were measured, on Sapphire Rapids and Zen 4.)
    """
    rows, vectors = core.probe_tile
    work = 2 * rows * vectors * core.lanes(4)
    waiting = 4 * rows / core.cache(2).line_bytes * L3_SECONDS / OUTSTANDING_LINES
    fetching = 4 * rows / known["beyond_l2"]
    return work / max(work / known["tile_near"] + waiting, fetching)


def _tile_rows_far(core: Core, known: Mapping[str, float]) -> float:
    """
    Each row is waited for twice on each page, as prefetchers begin again there after the second miss: 300 ns were measured on
    Sapphire Rapids, where a line comes in 160, and about 90 on Zen 5. (Intel 64 and IA-32 Architectures Optimization Reference
    Manual, "Data Prefetching".)
    """
    _, vectors = core.probe_tile
    work = 2 * ROWS_PANELS * vectors * core.lanes(4) / 4
    waiting = 2 * LINE_BYTES / known["chase_l3"] / core.page_bytes
    return work / (work / known["tile_rows_near"] + waiting)


def _tile_pieces_far(core: Core, known: Mapping[str, float]) -> float:
    """
    Each piece is waited for as long as a line comes: 110 to 163 ns were measured on Sapphire Rapids, where that is 160. (On Emerald
    Rapids it was 12 to 14, where a line comes in 131: the first lines of all nine rows of a tile came together.)
    """
    _, vectors = core.probe_tile
    work = 2 * vectors * core.lanes(4) / 4
    waiting = LINE_BYTES / known["chase_l3"] / PIECE_BYTES
    return work / (work / known["tile_rows_near"] + waiting)


def _strided(rows: int) -> _Estimate:
    """
    Where more rows than L1 has ways share a set, they evict each other (with least-recently-used replacement):
    each element then brings a line from L2, for the 2·NR operations that it takes part in. What was measured lies
    between the longer of the two times and their sum; the middle is taken.
    """

    def formula(core: Core, known: Mapping[str, float]) -> float:
        level_1 = core.cache(1)
        in_a_set = -(-rows // max(level_1.way_bytes // 4096, 1))
        if in_a_set <= level_1.ways:
            return 1.0
        columns = core.vectors_beside(rows) * core.lanes(4)
        fetching = level_1.line_bytes / known["read_l2"] * known["fma_f32"] / (2 * columns)
        return (max(1.0, fetching) + 1 + fetching) / 2

    return _Estimate(formula, ("read_l2", "l1", "l1_ways", "registers"), is_shared=True)


def _own_loads(core: Core, known: Mapping[str, float]) -> float:
    """As many loads as multiply-adds, and those of a row of the wide operand, by the ports of either."""
    rows = core.rows_beside(OWN_VECTORS)
    computing = rows * OWN_VECTORS / core.fma_ports
    return max((rows + 1) * OWN_VECTORS / core.load_ports / computing, 1.0)


_ESTIMATES: dict[str, _Estimate] = {
    "last_cache": _Estimate(
        lambda core, known: core.caches[-1].bytes, ("l3", "l2"), is_shared=True
    ),
    "fma_f32": _Estimate(_peak, ("fma_ports",)),
    "fma_f64": _Estimate(lambda core, known: known["fma_f32"] / 2, ("fma_f32",)),
    "fma_f32_burst": _Estimate(lambda core, known: known["fma_f32"], ("fma_f32",)),
    "fma_f64_burst": _Estimate(lambda core, known: known["fma_f64"], ("fma_f64",)),
    "fma_f32_narrow": _Estimate(lambda core, known: _narrow(core, known["fma_f32"]), ("fma_f32",)),
    "fma_f64_narrow": _Estimate(lambda core, known: _narrow(core, known["fma_f64"]), ("fma_f64",)),
    "read_l1": _Estimate(_read_l1, ("load_ports",)),
    "read_l2": _Estimate(_read_l2),
    # Before the streams that these follow from are estimated: a guess says nothing of latency.
    "chase_l3": _chase("l3", L3_SECONDS),
    "chase_memory": _chase("memory", MEMORY_SECONDS),
    "read_l3": _Estimate(_read_l3, is_shared=True),
    "read_memory": _Estimate(_read_memory, is_shared=True),
    "copy_l1": _Estimate(_copy_l1, ("load_ports", "store_ports")),
    "copy_l2": _copy("l2"),
    "copy_l3": _copy("l3"),
    "copy_memory": _copy("memory"),
    "copy_past": _Estimate(_copy_past, ("copy_memory",), is_shared=True),
    "beyond_l2": _Estimate(_beyond_l2, ("read_l3",), is_shared=True),
    # Which of the two is faster differs from one core to the next.
    "rows_beyond_l2": _Estimate(
        lambda core, known: known["beyond_l2"], ("beyond_l2",), is_shared=True
    ),
    "pack_near": _Estimate(_pack_near, ("copy_l2",)),
    "pack_far": _Estimate(_pack_far, ("beyond_l2", "pack_near"), is_shared=True),
    "tile_in_l1": _Estimate(_tile_in_l1, ("fma_f32", "fma_ports", "load_ports", "registers")),
    "tile_near": _Estimate(
        _tile_near, ("fma_f32", "fma_ports", "load_ports", "registers", "read_l2")
    ),
    "tile_near_asked": _Estimate(lambda core, known: known["tile_near"], ("tile_near",)),
    # A core that is alone on its caches hides that rows come from L2. What vectors across lines cost follows from the load ports.
    "tile_split": _Estimate(lambda core, known: known["tile_near"], ("tile_near",)),
    "tile_rows_near": _Estimate(lambda core, known: known["tile_near"], ("tile_near",)),
    "tile_wide_far": _Estimate(_tile_wide_far, ("tile_near", "beyond_l2")),
    "tile_narrow_far": _Estimate(_tile_narrow_far, ("tile_near", "beyond_l2")),
    "tile_rows_long": _Estimate(lambda core, known: known["tile_rows_near"], ("tile_rows_near",)),
    "tile_rows_far": _Estimate(_tile_rows_far, ("tile_rows_near", "chase_l3")),
    "tile_rows_asked": _Estimate(lambda core, known: known["tile_rows_near"], ("tile_rows_near",)),
    "tile_pieces_far": _Estimate(_tile_pieces_far, ("tile_rows_near", "chase_l3")),
    **{f"strided_{rows}": _strided(rows) for rows in STRIDED_ROWS},
    "own_loads": _Estimate(_own_loads, ("fma_ports", "load_ports", "registers")),
}
