"""The file in the user's cache directory that keeps what was measured on a machine."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from math import isfinite
from pathlib import Path
from typing import Any

from .rates import RATE_NAMES, Rate, is_slowdown

Measurements = Mapping[str, Rate]
"""Measured rates by their names in `RATE_NAMES`; those that could not be measured are not there."""

_VERSION = 3
"""Of the file. One of another version is no measurement: the machine is to be probed again."""


READS = "beyond_l2", "rows_beyond_l2"
HINTS = ("tile_rows_far", "tile_rows_asked"), ("tile_near", "tile_near_asked")
TILES = (
    "tile_in_l1",
    "tile_near",
    "tile_split",
    "tile_rows_near",
    "tile_wide_far",
    "tile_narrow_far",
    "tile_rows_long",
    "tile_rows_far",
    "tile_pieces_far",
)
COMPARED = READS, *(("fma_f32", tile) for tile in TILES), *HINTS
"""
Pairs of rates that are measured in turns: plans go by how many times the second is the first. Where a run has left out the first, it has
measured the second as a multiple of the one that is stored.
"""


def merged(old: Measurements, new: Measurements) -> dict[str, Rate]:
    """
    The better of two measurements, rate by rate: what else runs on a machine only ever makes it slower.

    What was measured while the machine was busy gives way to what was not, whichever is better. Of two slowdowns, which what else
    runs makes less as often as more, it is the middle; and of how two rates that were measured in turns compare.
    """
    rates = {
        name: _better(name, old.get(name), new.get(name))
        for name in RATE_NAMES
        if name in old or name in new
    }
    left_out: set[str] = set()
    for first, second in COMPARED:  # tiles are compared with the peak before others are with tiles
        if first in left_out and rates.pop(second, None):
            left_out.add(second)
        if second in rates and first in rates:
            source, rate = rates[second].source, rates[first]
            stored = old.get(first)
            gains = [
                each[second].core / compared.core
                for each in (old, new)
                if second in each and each[second].source == source
                if (compared := each.get(first, stored)) is not None
            ]
            if not gains:  # what it was compared with is not known any more
                del rates[second]
                left_out.add(second)
                continue
            gain = sum(gains) / len(gains)
            rates[second] = Rate(gain * rate.core, gain * rate.machine, source)
    return rates


def _better(name: str, old: Rate | None, new: Rate | None) -> Rate:
    if old is None or new is None:
        return old or new  # type: ignore[return-value]
    if old.source != new.source:
        return old if new.source == "busy" else new
    if is_slowdown(name):
        return Rate((old.core + new.core) / 2, (old.machine + new.machine) / 2, new.source)
    return Rate(max(old.core, new.core), max(old.machine, new.machine), new.source)


def store(file: Path, measurements: Measurements) -> None:
    """Write the file in one go: a process that reads it meanwhile sees the old or the new one."""
    file.parent.mkdir(parents=True, exist_ok=True)
    rates = {name: asdict(rate) for name, rate in measurements.items()}
    new = file.with_suffix(f".{os.getpid()}.new")
    new.write_text(json.dumps({"version": _VERSION, "rates": rates}, indent=2) + "\n")
    new.replace(file)


def load(file: Path) -> dict[str, Rate]:
    """
    What the file holds; nothing when there is none, or one that `store` did not write. Rates that only other versions of Stepwell have are
    left out.
    """
    try:
        data = json.loads(file.read_text())
        if data["version"] != _VERSION:
            return {}
        found = {name: _rate(rate) for name, rate in data["rates"].items()}
        return {name: rate for name, rate in found.items() if name in RATE_NAMES}
    except (
        OSError,
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        OverflowError,
        RecursionError,
    ):
        return {}


def _rate(data: dict[str, Any]) -> Rate:
    """Raises ValueError for what is not a rate that a probe can have found."""
    rate = Rate(float(data["core"]), float(data["machine"]), data["source"])
    values = (rate.core, rate.machine)
    if rate.source not in ("measured", "busy"):
        raise ValueError(rate.source)
    if not all(isfinite(value) and value > 0 for value in values):
        raise ValueError(values)
    return rate
