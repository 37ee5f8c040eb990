"""
What is believed of what was measured. Other programs and other virtual machines only ever make a machine slower, and those that have a
thread of the same core cannot be seen: what a core is measured to be is held against what such a core has.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import replace

from .core import Core
from .estimates import complete, in_proportion, with_loads_begun
from .measurements import COMPARED
from .rates import PEAK, Rate, is_of_core, is_tile

SLOWER = 1.15
"""
Two machines with one kind of core differ by less than this factor in what the core does in a cycle, and so do two measurements that nobody
disturbed. (In eight probes of Emerald Rapids cores on other days parts of the peak differed by 5 percent where the tile's turns agreed,
and bandwidths of L1 and L2, for a clock, by 10.)
"""

FAR_SLOWER = 1.25
"""
The same for cores of which nothing is known but what explains such a rate. (Undisturbed tiles were at 0.91 to 1.0 of what the ports and
registers of their cores explain, on Haswell's successors, Zen and Granite Rapids.)
"""

_EXPLAINED = "tile_in_l1", "tile_near"
"""What follows from ports, registers and the bandwidth of L2 closely enough to be doubted where nothing else is known."""


def doubted(core: Core, known: Mapping[str, Rate], measured: Mapping[str, Rate]) -> set[str]:
    """
    The rates that a core does not have when it is its own: those that belong to the core itself and are slower than what is known of its kind, at
    the measured clock, or far slower than what explains them. Tiles are measured in turns, so that all of them are doubted together.

    What the machine around a core gives, L3 and memory, differs from one machine to the next and is not doubted.
    """
    bounds = _least_explained(core, measured) | _least_known(known, measured)
    found = {
        name for name, least in bounds.items() if name in measured and measured[name].core < least
    }
    if any(map(is_tile, found)):
        found |= {name for name in measured if is_tile(name)}
    return found


def bounded(measured: Mapping[str, Rate], doubts: Container[str]) -> dict[str, Rate]:
    """What was measured; what is doubted counts as measured on a busy machine, which is a lower bound."""
    return {
        name: replace(rate, source="busy") if name in doubts else rate
        for name, rate in measured.items()
    }


def believed(
    core: Core, known: Mapping[str, Rate], measured: Mapping[str, Rate]
) -> dict[str, Rate]:
    """
    What was measured counts, but of what is doubted or was measured on a busy machine only what is more than what is known. What follows from
    it and was not measured (an earlier version's probe may not have known of it), or is doubted, is in proportion to it.

    Rates that were measured in turns stay the multiples of each other that they were found to be.
    """
    measured = bounded(measured, doubted(core, known, measured))
    calm = {name: rate for name, rate in measured.items() if rate.source != "busy"}
    expected = {**known, **in_proportion(known, calm)}
    found = {**expected, **measured}
    times: dict[str, float] = {}
    for name, rate in measured.items():
        if rate.source == "busy" and name in expected and expected[name].core > rate.core:
            more = expected[name]
            found[name] = replace(more, machine=max(more.machine, rate.machine))
            times[name] = more.core / rate.core
    for first, second in COMPARED:  # tiles are compared with the peak before others are with tiles
        if first in times and second in calm and second not in times:
            times[second] = times[first]
            rate = calm[second]
            found[second] = replace(
                rate, core=rate.core * times[first], machine=rate.machine * times[first]
            )
    return found


def _least_known(known: Mapping[str, Rate], measured: Mapping[str, Rate]) -> dict[str, float]:
    """
    Of what is known of the core, for the clock that its multiply-adds tell of: tiles are measured in turns with these. Multiply-adds are held
    against the clock where they are measured, and only where that says that others had a part of the core against those that are known.
    """
    if PEAK not in known:
        return {}
    peak = measured.get(PEAK, known[PEAK])
    beside, apart = (each.core / known[PEAK].core for each in (peak, _calm(peak, known[PEAK])))
    return {
        name: rate.core * (beside if is_tile(name) else apart) / SLOWER
        for name, rate in known.items()
        if is_of_core(name) and rate.source == "known"
        if name != PEAK or peak.source == "busy"
    }


def _calm(measured: Rate, known: Rate) -> Rate:
    return known if measured.source == "busy" else measured


def _least_explained(core: Core, measured: Mapping[str, Rate]) -> dict[str, float]:
    """Of what explains a tile's rate, if the multiply-adds that it was measured in turns with are there."""
    if PEAK not in measured:
        return {}
    causes = {name: rate for name, rate in measured.items() if name in (PEAK, "read_l1", "read_l2")}
    rates = complete(with_loads_begun(core, causes), 1, causes)
    return {name: rates.named(name).core / FAR_SLOWER for name in _EXPLAINED}
