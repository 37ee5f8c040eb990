"""
Facts of a target given in text, as in `zen5:l2=2M,registers=16,beyond_l2=9e9`.

Tests ask with them what a plan would be on another machine, and people what would change.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field, replace
from itertools import pairwise

from ..errors import StepwellError
from ..frozen import frozen
from ..spelling import did_you_mean
from .core import Core
from .estimates import following, together
from .rates import RATE_NAMES, Rate

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_PORTS = ("fma_ports", "add_ports", "load_ports", "store_ports")
_COUNTS = {"registers": "vector_registers", "fma_latency": "fma_latency"}
_CACHES = tuple(f"l{level}" for level in (1, 2, 3))
_WAYS = tuple(f"{cache}_ways" for cache in _CACHES)
FACT_NAMES = ("cores", *_COUNTS, *_PORTS, *_CACHES, *_WAYS, *RATE_NAMES)
_LEAST_REGISTERS = 4
_LEAST, _MOST_COUNTED, _MOST = 1e-3, 10_000, 1e15


@frozen
class Overrides:
    """What was given: of the core, the number of cores, and rates. `text` is how, for messages."""

    text: str = ""
    values: Mapping[str, float] = field(default_factory=dict[str, float])

    def core(self, core: Core) -> Core:
        """The core with what was given. Raises StepwellError when it cannot have that."""
        changes: dict[str, float] = {
            _COUNTS.get(name, name): int(value) if name in _COUNTS else value
            for name, value in self.values.items()
            if name in _COUNTS or name in _PORTS
        }
        caches = list(core.caches)
        for number, cache in enumerate(caches):
            name = f"l{cache.level}"
            size = int(self.values.get(name, cache.bytes))
            caches[number] = replace(
                cache, bytes=size, ways=int(self.values.get(f"{name}_ways", cache.ways))
            )
        has = {f"l{cache.level}" for cache in caches}
        for name in (*_CACHES, *_WAYS):
            if name in self.values and name[:2] not in has:
                raise self._wrong(f"a fact of {name[:2].upper()}", f"one of {', '.join(has)}")
        for inner, outer in pairwise(caches):
            if inner.bytes > outer.bytes:
                raise self._wrong(
                    f"{inner.name} of {inner.bytes} bytes and {outer.name} of {outer.bytes}",
                    f"{outer.name} to be no smaller",
                )
        return replace(core, caches=tuple(caches), **changes)

    def cores(self, cores: int) -> int:
        return int(self.values.get("cores", cores))

    def rates(self, found: Mapping[str, Rate], cores: int) -> dict[str, Rate]:
        """`found` with the given rates, and without those that no longer hold beside what was given."""
        given = {name: value for name, value in self.values.items() if name in RATE_NAMES}
        stale = following(self.values)
        return {
            **{name: rate for name, rate in found.items() if name not in stale},
            **{
                name: Rate(value, together(name, value, cores), "given")
                for name, value in given.items()
            },
        }

    def _wrong(self, found: str, expected: str) -> StepwellError:
        return StepwellError(
            f"found target '{self.text}' with {found}, expected {expected}; mend it"
        )


def parse_overrides(text: str) -> Overrides:
    """
    `fact=value,fact=value`; sizes may end in K, M or G, rates are FLOP/s or bytes/s.

    Raises StepwellError for an unknown fact, one given twice, and a value that it cannot have.
    """
    values: dict[str, float] = {}
    for part in text.split(","):
        name, equals, value = (word.strip() for word in part.partition("="))
        if name not in FACT_NAMES:
            remedy = did_you_mean(name, FACT_NAMES, f"there are {', '.join(FACT_NAMES)}")
            raise StepwellError(f"found unknown fact '{name}' of a target; {remedy}")
        if name in values:
            raise StepwellError(
                f"found '{name}' of a target twice, expected it once; leave one out"
            )
        values[name] = _value(name, value) if equals else _refuse(name, "no value")
    return Overrides(text, values)


def _value(name: str, text: str) -> float:
    is_size = name in _CACHES
    is_whole = is_size or name in _WAYS or name in _COUNTS or name == "cores"
    pattern = r"\d{1,15}" + ("[KMG]?" if is_size else "")
    if is_whole and not re.fullmatch(pattern, text):
        return _refuse(name, f"'{text}'")
    if is_size:
        number = float(int(text.rstrip("KMG")) * _UNITS[text[len(text.rstrip("KMG")) :]])
    else:
        try:
            number = float(text)
        except ValueError:
            return _refuse(name, f"'{text}'")
    least = {"registers": _LEAST_REGISTERS, **dict.fromkeys(_CACHES, 1024)}.get(name, _LEAST)
    most = _MOST_COUNTED if is_whole and not is_size else _MOST
    return number if least <= number <= most else _refuse(name, f"'{text}'")


def _refuse(name: str, found: str) -> float:
    """Raises StepwellError that says what the fact is."""
    if name in _CACHES:
        expected = f"a size from 1K to {int(_MOST) // _UNITS['G']}G, as 512K or 2M"
    elif name == "registers":
        expected = f"a whole number from {_LEAST_REGISTERS} to {_MOST_COUNTED}"
    elif name in RATE_NAMES or name in _PORTS:
        expected = f"a number from {_LEAST} to {_MOST:.0e}, as 9e9"
    else:
        expected = f"a whole number from 1 to {_MOST_COUNTED}"
    raise StepwellError(f"found {found} for '{name}' of a target, expected {expected}; mend it")
