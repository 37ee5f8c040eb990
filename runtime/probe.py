"""
What this machine can do: multiply-adds per second, bytes per second from each level of its memory, and how the
inner loops of a matrix product run. Measured with kernels of our own (`probe_kernels.py`), compiled like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from dataclasses import replace
from statistics import median
from time import perf_counter

from ..errors import StepwellError
from ..frozen import frozen
from ..targets.belief import SLOWER, bounded, doubted
from ..targets.estimates import together, with_last_cache
from ..targets.machine import core_cpus, detect_caches
from ..targets.measurements import COMPARED, READS, load, merged, store
from ..targets.rates import (
    KINDS,
    PEAK,
    RATE_NAMES,
    STRIDED_ROWS,
    Rate,
    is_size,
    is_slowdown,
    is_tile,
)
from ..targets.target import Target
from . import probe_jobs
from .probe_timing import (
    Job,
    Load,
    LoadWatch,
    Sampled,
    agree,
    implausible,
    in_turns,
    joined,
    sample,
)

_PAUSE = 20e-3
"""Seconds of rest before a burst: a core that has clocked down for wide vectors has recovered after 2 ms."""

_BEYOND_L2 = (2, 4, 8)
"""The sizes of what is read from beyond L2, in L2's."""

_L3 = 4
"""The size of what answers as L3 does, in L2's: not in L2, and in a core's part of L3 where there is one."""

_AS_FAST = 3 / 4
"""
Of the rate of the fastest part of a cache, and a part that is read more slowly is not all in it. Memory takes half as long again at
least; of a small part L2 keeps some, and neighbours on other cores use the same cache.
"""

_TILE_TURNS = 6
"""How often the peak and the tiles take turns: a neighbour on the same core comes and goes within tenths of a second."""

_BRIEFLY = 0.05
"""Seconds for what the best repetition tells of, and a few are enough for."""

_LAST_START = 11.0
"""Seconds after which no further group of rates is begun; each takes about one where nothing else runs, and tiles take three."""

_LAST_END = 14.8
"""Seconds by which what is measured again must come to its end, going by what it took before."""

_LAST_SHARED_START = 5.0
"""
Seconds after which one core alone is measured, since all at once wait for each other on a busy machine: all have
at least as much as one.
"""

_FASTEST_CLOCK = 8e9
_MOST_FMAS_A_CYCLE = 4


@frozen
class Probed:
    """The rates that were measured by name, what else the machine did meanwhile, and which of them are `doubted`."""

    rates: dict[str, Rate]
    load: Load
    doubted: tuple[str, ...] = ()

    @property
    def busy(self) -> list[str]:
        """The names of the rates that are lower bounds, since the machine was busy with other work."""
        return [name for name, rate in self.rates.items() if rate.source == "busy"]


def probe(target: Target | None = None, have: Container[str] = ()) -> Probed:
    """
    Measure this machine in 5 to 15 seconds. Nothing is stored. What a very busy machine leaves no time for is
    not among the rates; those that one does not `have` yet come first. What is doubted is measured again while there is time, and what
    still is counts as measured on a busy machine.

    Raises StepwellError when `target` does not run here, and for results that cannot be.
    """
    target = target or Target.host()
    watch, began = LoadWatch(), perf_counter()
    rates: dict[str, Rate] = {}
    timed: dict[str, _Timed] = {}
    for name in sorted(_MEASUREMENTS, key=lambda name: name in have):
        spent = perf_counter() - began
        if spent > _LAST_START:
            break
        is_late = spent > _LAST_SHARED_START and name in _ON_ALL_CORES
        measure = _Timed(_MEASUREMENTS[name])
        found = measure(target, 1 if is_late else len(core_cpus()))
        timed |= dict.fromkeys(found, measure)
        rates |= _still_multiples(rates, found, target)
        rates |= (
            {name: replace(rate, source="busy") for name, rate in found.items()}
            if is_late
            else found
        )
        target = _knowing(target, found)
    rates, doubts = _again_if_doubted(
        target, rates, timed, lambda: began + _LAST_END - perf_counter()
    )
    check_plausible(rates, target)
    in_order = {name: rates[name] for name in RATE_NAMES if name in rates}
    return Probed(in_order, watch.load(), tuple(name for name in in_order if name in doubts))


def _again_if_doubted(
    target: Target,
    rates: dict[str, Rate],
    timed: Mapping[str, _Timed],
    left: Callable[[], float],
) -> tuple[dict[str, Rate], set[str]]:
    """
    The rates, of which groups with doubtful ones are measured again while enough seconds are `left`, and the names of those that are doubted
    still. Of the first and this the better is kept, as of two runs. Most depends on tiles, which come first.
    """
    known, is_time = target.known_rates, True
    while (doubts := _doubts(target, known, rates)) and is_time:
        rates, is_time = bounded(rates, doubts), False
        names = sorted((name for name in rates if name in doubts), key=is_tile, reverse=True)
        for measure in dict.fromkeys(timed[name] for name in names):
            if measure.seconds < left():
                again = _on_as_many(rates, measure(target, 1))
                again = bounded(again, _doubts(target, known, rates | again))
                rates, is_time = merged(rates, again), True
                target = _knowing(target, rates)
    return bounded(rates, doubts), doubts


def _doubts(target: Target, known: Mapping[str, Rate], rates: Mapping[str, Rate]) -> set[str]:
    """Those of the rates that are doubted; tiles are parts of the target's peak where it was not measured in this run."""
    return doubted(target.core, known, {PEAK: target.rates.fma_f32, **rates}) & rates.keys()


def _on_as_many(rates: Mapping[str, Rate], again: Mapping[str, Rate]) -> dict[str, Rate]:
    """What was measured again on one core, on all as many times as much as before."""
    return {
        name: replace(rate, machine=rate.core * rates[name].machine / rates[name].core)
        for name, rate in again.items()
        if name in rates
    }


def _still_multiples(
    rates: Mapping[str, Rate], found: Mapping[str, Rate], target: Target
) -> dict[str, Rate]:
    """
    Those that were measured as multiples of the target's rates, of which other ones are found now, and what is compared with them: as many
    times as much as these.
    """
    multiples: dict[str, Rate] = {}
    times = {name: rate.core / target.rates.named(name).core for name, rate in found.items()}
    for first, second in COMPARED:  # tiles are compared with the peak before others are with tiles
        if first in times and second in rates:
            rate, more = rates[second], times[first]
            times[second] = more
            multiples[second] = Rate(more * rate.core, more * rate.machine, rate.source)
    return multiples


def _knowing(target: Target, found: Mapping[str, Rate]) -> Target:
    """The target with what was measured, which the next groups go by."""
    whole = detect_caches()[-1]
    if "last_cache" in found and whole.level == target.caches[-1].level:
        target = target.with_core(caches=(*target.caches[:-1], whole))
        target = replace(target, core=with_last_cache(target.core, found))
    return replace(target, found=tuple({**dict(target.found), **found}.items()))


def probe_and_store() -> Probed:
    """
    Measure this machine and keep the better of this and what was measured before, which `Target.host()` has
    from then on.
    """
    target = Target.host()
    file = target.measured_file
    stored = load(file)
    probed = probe(target, {name for name, rate in stored.items() if rate.source != "busy"})
    try:
        store(file, merged(stored, probed.rates))
    except OSError as error:
        raise StepwellError(
            f"cannot store the measurements: {error.strerror}; set XDG_CACHE_HOME to a folder that can "
            "be written",
            where=str(file),
        ) from error
    Target.forget_host()
    return probed


# One group of rates each.

_Measure = Callable[[Target, int], dict[str, Rate]]


class _Timed:
    """What measures a group of rates, and the `seconds` that it took last."""

    def __init__(self, measure: _Measure):
        self._measure = measure
        self.seconds = 0.0

    def __call__(self, target: Target, cores: int) -> dict[str, Rate]:
        start = perf_counter()
        found = self._measure(target, cores)
        self.seconds = perf_counter() - start
        return found


_Quantile = Callable[[Sampled], float]


def _median(sampled: Sampled) -> float:
    return sampled.median


def _best(sampled: Sampled) -> float:
    return sampled.best


def _rate(core: Sampled, machine: Sampled, quantile: _Quantile) -> Rate:
    """Where the machine was busy, all cores together are known to have at least what one has."""
    one, every = quantile(core), quantile(machine)
    if core.is_busy or machine.is_busy:
        return Rate(one, max(one, every), "busy")
    return Rate(one, every)


def _on_all(alone: Job, shared: Job, cores: int, quantile: _Quantile, pause: float = 0) -> Rate:
    """With `alone` on one core, and `shared` on all at once."""
    core = sample(alone, pause=pause)
    return _rate(core, core if cores == 1 else sample(shared, cores, pause=pause), quantile)


def _on_one(jobs: Mapping[str, Job], cores: int) -> dict[str, Rate]:
    """Each by its name on one core, and what follows for all. Plans follow from the ratios of these rates."""
    rates: dict[str, Rate] = {}
    turns = in_turns([*jobs.values()])
    for name, of_job in zip(jobs, zip(*turns, strict=True), strict=True):
        sampled = joined(of_job)
        rate = sampled.median
        source = "busy" if sampled.is_busy else "measured"
        rates[name] = Rate(rate, together(name, rate, cores), source)
    return rates


def fma_rates(target: Target, cores: int) -> dict[str, Rate]:
    """FLOP/s of independent multiply-adds, with the vectors and registers of the target; see `Rates`."""
    rates: dict[str, Rate] = {}
    for element in probe_jobs.BITS:
        job = probe_jobs.fma_job(target, element, target.vector_bits)
        rates[f"fma_{element}"] = _on_all(job, job, cores, _median)
        rates[f"fma_{element}_burst"] = _on_all(job, job, cores, _best, _PAUSE)
        if target.vector_bits > 256:
            narrow = probe_jobs.fma_job(target, element, 256)
            rates[f"fma_{element}_narrow"] = _on_all(narrow, narrow, cores, _median)
    if target.known_rates and not _begins_all(target):
        rates[PEAK] = replace(rates[PEAK], source="busy")
    return rates


def _begins_all(target: Target) -> bool:
    """
    Whether as many multiply-adds begin in a cycle as a core has ports, or nearly so: a thread of somebody else's on this core takes its part
    of them. It has little of what a chain of multiply-adds takes, each of which waits for the one before, so that these tell of the clock.
    """
    jobs = probe_jobs.fma_job(target, "f32", target.vector_bits), probe_jobs.fma_chain_job(target)
    begun = median(many.median / chain.median for many, chain in in_turns(jobs))
    return begun * SLOWER > target.core.fma_ports * target.core.fma_latency


def _last_cache(target: Target, cores: int) -> dict[str, Rate]:
    """
    All of it where half is read as fast as all smaller parts; else a third more than the largest part that is, as what is used again
    leaves a quarter to what goes by. What is shared with other machines, or divided among them, is less than the system tells.
    """
    kernel, caches = probe_jobs.stream_kernel(target, "read"), detect_caches()
    sizes = probe_jobs.parts_of_last_cache(caches, target.cache(2).bytes)
    if caches[-1].level < 3 or len(sizes) == 1:
        return {}
    found, fastest, is_busy = sizes[-1], 0.0, False

    def is_fast(size: int) -> bool:
        nonlocal fastest, is_busy
        sampled = sample(probe_jobs.stream_job(kernel, "read", size))
        if sampled.best < _AS_FAST * fastest:
            return False
        fastest, is_busy = max(fastest, sampled.best), is_busy or sampled.is_busy
        return True

    for size in reversed(sizes):
        if not is_fast(size):
            break
        found = size
    between = 3 * found // 2
    if found == sizes[0]:
        usable = 2 * found
    else:
        usable = 4 * (between if is_fast(between) else found) // 3
    return {"last_cache": Rate(usable, usable, "busy" if is_busy else "measured")}


def _near_streams(target: Target, cores: int) -> dict[str, Rate]:
    return _stream_rates(target, cores, ("L1", "L2"))


def _far_streams(target: Target, cores: int) -> dict[str, Rate]:
    return _stream_rates(target, cores, ("L3", "memory"))


def _stream_rates(target: Target, cores: int, levels: Container[str]) -> dict[str, Rate]:
    rates: dict[str, Rate] = {}
    for kind in KINDS:
        kernel = probe_jobs.stream_kernel(target, kind)
        sets = probe_jobs.working_sets(target.caches, cores)
        for level, alone, shared in (each for each in sets if each[0] in levels):
            jobs = [probe_jobs.stream_job(kernel, kind, size) for size in (alone, shared)]
            rates[f"{kind}_{level.lower()}"] = _on_all(jobs[0], jobs[1], cores, _best)
    return rates


def _latencies(target: Target, cores: int) -> dict[str, Rate]:
    *_, (_, memory, _) = probe_jobs.working_sets(target.caches, cores)
    jobs = [probe_jobs.chase_job(target, size) for size in (_L3 * target.cache(2).bytes, memory)]
    return _on_one(dict(zip(("chase_l3", "chase_memory"), jobs, strict=True)), cores)


def _past_caches(target: Target, cores: int) -> dict[str, Rate]:
    kernel = probe_jobs.past_kernel(target)
    *_, (_, alone, shared) = probe_jobs.working_sets(target.caches, cores)
    jobs = [probe_jobs.stream_job(kernel, "copy", size) for size in (alone, shared)]
    return {"copy_past": _on_all(jobs[0], jobs[1], cores, _best)}


def _beyond_l2(target: Target, cores: int) -> dict[str, Rate]:
    """
    Of the size that is read slowest, at a low quantile: a plan that relies on more stalls when it does not get it. Plans compare
    the two ways of reading, so these are measured in turns.
    """
    kernel, of_rows = probe_jobs.stream_kernel(target, "read"), probe_jobs.rows_kernel(target)
    found: list[tuple[Rate, Rate]] = []
    for size in (times * target.cache(2).bytes for times in _BEYOND_L2):
        jobs = [probe_jobs.stream_job(kernel, "read", size), probe_jobs.rows_job(of_rows, size)]
        turns = in_turns(jobs)
        alone, rows = (joined(of_job) for of_job in zip(*turns, strict=True))
        gain = median(second.low / first.low for first, second in turns)
        each = alone if cores == 1 else sample(jobs[0], cores)
        rate = _rate(alone, each, lambda sampled: sampled.low)
        source = "busy" if rows.is_busy else rate.source
        found.append((rate, Rate(gain * rate.core, gain * rate.machine, source)))
    return dict(zip(READS, min(found, key=lambda pair: pair[0].core), strict=True))


def _tile_rates(target: Target, cores: int) -> dict[str, Rate]:
    """
    As parts of the peak, of which some is measured with each of their turns: the clock differs from one second to the next, and plans
    go by what a tile loses. It loses more on a core that another virtual machine has a thread of. That is how such a core is: where
    the turns agree, their median is believed, whatever else ran meanwhile.
    """
    peak, jobs = probe_jobs.fma_job(target, "f32", target.vector_bits), probe_jobs.tile_jobs(target)
    rows = probe_jobs.rows_jobs(target)
    named = {
        "tile_in_l1": jobs.in_l1,
        "tile_near": jobs.near,
        "tile_near_asked": jobs.asked,
        "tile_split": jobs.split,
        "tile_rows_near": rows.near,
        "tile_wide_far": jobs.wide_far,
        "tile_narrow_far": jobs.narrow_far,
        "tile_rows_long": rows.long,
        "tile_rows_far": rows.far,
        "tile_rows_asked": rows.asked,
        "tile_pieces_far": rows.pieces,
    }
    turns = in_turns([peak, *named.values()], _TILE_TURNS)
    rates: dict[str, Rate] = {}
    for name, of_job in zip(named, zip(*(turn[1:] for turn in turns), strict=True), strict=True):
        parts = [each.median / turn[0].median for each, turn in zip(of_job, turns, strict=True)]
        rate = median(parts) * target.rates.fma_f32.core
        source = "measured" if agree(parts) else "busy"
        rates[name] = Rate(rate, together(name, rate, cores), source)
    return rates


def _pack_rates(target: Target, cores: int) -> dict[str, Rate]:
    near, far = probe_jobs.pack_jobs(target)
    return _on_one({"pack_near": near, "pack_far": far}, cores)


def _slowdowns(target: Target, cores: int) -> dict[str, Rate]:
    rates: dict[str, Rate] = {}
    for rows in STRIDED_ROWS:
        turns = in_turns(probe_jobs.strided_jobs(target, rows), budget=_BRIEFLY)
        slowdown = max(median(apart.best / together_.best for together_, apart in turns), 1.0)
        is_busy = joined([each for turn in turns for each in turn]).is_busy
        rates[f"strided_{rows}"] = Rate(slowdown, slowdown, "busy" if is_busy else "measured")
    return rates


def _own_loads(target: Target, cores: int) -> dict[str, Rate]:
    turns = in_turns(probe_jobs.own_loads_jobs(target))
    slowdown = max(median(shared.best / own.best for own, shared in turns), 1.0)
    is_busy = joined([each for turn in turns for each in turn]).is_busy
    return {"own_loads": Rate(slowdown, slowdown, "busy" if is_busy else "measured")}


_MEASUREMENTS: dict[str, _Measure] = {
    "fma_f32": fma_rates,
    "last_cache": _last_cache,
    "read_l1": _near_streams,
    "read_memory": _far_streams,
    "beyond_l2": _beyond_l2,
    "copy_past": _past_caches,
    "tile_in_l1": _tile_rates,
    "chase_l3": _latencies,
    "pack_near": _pack_rates,
    "strided_4": _slowdowns,
    "own_loads": _own_loads,
}
"""What measures each group of rates, by the first of them, in the order of how much depends on them."""

_ON_ALL_CORES = ("fma_f32", "read_l1", "read_memory", "beyond_l2", "copy_past")
"""Those groups that are measured on one core, and then on all at once. Of the others all cores follow from one."""

# What cannot be.


def check_plausible(rates: Mapping[str, Rate], target: Target) -> None:
    """Raises StepwellError for results that only a fault explains, or a very busy machine."""
    flops = {
        element: target.vector_bits / bits * 2 * _MOST_FMAS_A_CYCLE * _FASTEST_CLOCK
        for element, bits in probe_jobs.BITS.items()
    }
    # Three loads or stores of a vector in a cycle, and one to spare.
    moved = 4 * target.vector_bits / 8 * _FASTEST_CLOCK
    for name, rate in rates.items():
        if is_slowdown(name) or is_size(name):
            continue
        words = name.split("_")
        most = (
            flops[words[1]] if words[0] == "fma" else flops["f32"] if words[0] == "tile" else moved
        )
        _check_rate(name, rate, target.cores, most)
    _check_order(rates, "fma_f32", "fma_f64", 1.3, 3, "about twice as much of f32 as of f64")
    _check_order(rates, "read_l1", "read_memory", 1, float("inf"), "L1 to be faster")


def _check_order(
    rates: Mapping[str, Rate], first: str, second: str, least: float, most: float, expected: str
) -> None:
    """Two rates of one core, unless the machine was so busy that neither says much."""
    if not {first, second} <= rates.keys() or "busy" in (rates[first].source, rates[second].source):
        return
    one, other = rates[first].core, rates[second].core
    if not least < one / other < most:
        raise implausible(f"{first} at {one:.4g} and {second} at {other:.4g} per second", expected)


def _check_rate(name: str, rate: Rate, cores: int, most: float) -> None:
    if not 1e7 < rate.core < most:
        raise implausible(f"{name} at {rate.core:.3g} per second", f"at most {most:.3g}")
    # While the machine is busy one of the two may be far too low, and the rate is marked.
    if rate.source != "busy" and not 0.5 * rate.core < rate.machine < 1.5 * cores * rate.core:
        raise implausible(
            f"{name} at {rate.core:.3g} per second for one core and {rate.machine:.3g} for {cores}",
            f"between one and {cores} times as much",
        )
