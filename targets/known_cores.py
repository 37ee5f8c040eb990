"""
Cores whose rates are known without a probe: `known_cores.json`, keyed by what CPUID and the caches say.

LLVM's name of a CPU is no key: it depends on the features that a virtual machine shows, and says nothing of caches.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from ..frozen import frozen
from .core import Cache, Core
from .estimates import together
from .machine import Cpuid
from .rates import Rate, Source

_FILE = Path(__file__).with_name("known_cores.json")


@frozen
class KnownCore:
    """
    A core that was measured. `llvm` is the name of the CPU that LLVM compiles for.

    `rates` are of one core, and so are those `estimated` from another one that is akin; `models` are ranges with their
    ends, empty where any model of the family will do.
    """

    name: str
    description: str
    llvm: str
    vendor: str
    family: int
    models: tuple[tuple[int, int], ...]
    core: Core
    rates: tuple[tuple[str, float], ...]
    estimated: tuple[tuple[str, float], ...] = ()

    def is_of(self, cpuid: Cpuid, core: Core) -> bool:
        """Whether a processor with this CPUID, vectors and first two caches is of this kind."""
        if (cpuid.vendor, cpuid.family) != (self.vendor, self.family):
            return False
        if self.models and not any(first <= cpuid.model <= last for first, last in self.models):
            return False
        near = [core.cache(level).bytes == self.core.cache(level).bytes for level in (1, 2)]
        return all(near) and core.vector_bits == self.core.vector_bits

    def facts(self, cores: int) -> dict[str, Rate]:
        """The known rates and those estimated, for a machine of so many cores."""
        sources: tuple[tuple[Source, tuple[tuple[str, float], ...]], ...] = (
            ("estimated", self.estimated),
            ("known", self.rates),
        )
        return {
            name: Rate(rate, together(name, rate, cores), source)
            for source, rates in sources
            for name, rate in rates
        }


@lru_cache(maxsize=1)
def known_cores() -> Mapping[str, KnownCore]:
    """By name."""
    return {data["name"]: _read(data) for data in json.loads(_FILE.read_text())["cores"]}


def known_core(cpuid: Cpuid | None, core: Core) -> KnownCore | None:
    """The known core that a processor is, None when it is none of them or the system does not tell."""
    if cpuid is None:
        return None
    return next((known for known in known_cores().values() if known.is_of(cpuid, core)), None)


def _read(data: dict[str, Any]) -> KnownCore:
    facts, cpuid = dict(data["core"]), data["cpuid"]
    facts["caches"] = tuple(Cache(**cache) for cache in facts["caches"])
    return KnownCore(
        data["name"],
        data["description"],
        data["llvm"],
        cpuid["vendor"],
        cpuid["family"],
        tuple((first, last) for first, last in cpuid["models"] or ()),
        Core(**facts),
        tuple((name, float(rate)) for name, rate in data["rates"].items()),
        tuple((name, float(rate)) for name, rate in data.get("estimated", {}).items()),
    )
