"""
What is known of a machine beyond its instructions: cores and cache sizes, and what `probe.py` measured,
which is kept in a file of the user's cache directory.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, cast

Kind = Literal["read", "copy", "triad"]
KINDS: tuple[Kind, ...] = ("read", "copy", "triad")

_CPUS = Path("/sys/devices/system/cpu")


@dataclass(frozen=True)
class Cache:
    """A data cache. `shared_by` is the number of cores that use it together."""

    level: int
    bytes: int
    shared_by: int = 1

    @property
    def name(self) -> str:
        return f"L{self.level}"


LINE_BYTES = 64
"""A cache line of x86-64, and of most AArch64."""

DEFAULT_CACHES = (Cache(1, 32 << 10), Cache(2, 512 << 10), Cache(3, 8 << 20))
"""Where nothing tells: what CPUs of the last ten years have at least, or nearly so."""


@dataclass(frozen=True)
class Rate:
    """FLOP/s or bytes/s of one core, and of all cores together."""

    core: float
    machine: float

    def at(self, threads: int, cores: int) -> float:
        """With so many threads: as many times one core's, but no more than all have together."""
        if threads <= 1:
            return self.core
        return self.machine if threads >= cores else min(self.machine, threads * self.core)


@dataclass(frozen=True)
class Bandwidth:
    """
    Bytes/s that reach the registers or leave them, from working sets of `bytes` a core.

    `copy` counts what is read and what is written, `triad` (z = x * s + y) two reads and a write, as
    STREAM does: a written line that is read first counts once. (McCalpin, "Memory Bandwidth and Machine
    Balance in Current High Performance Computers", IEEE TCCA Newsletter, 1995.)
    """

    level: str
    bytes: int
    read: Rate
    copy: Rate
    triad: Rate

    def rate(self, kind: Kind) -> Rate:
        return cast(Rate, getattr(self, kind))


@dataclass(frozen=True)
class Measured:
    """What the probe found: FLOP/s of fused multiply-adds, and bandwidths from L1 to memory."""

    cores: int
    f32: Rate
    f64: Rate
    bandwidths: tuple[Bandwidth, ...]

    def peak(self, dtype: str = "f32", threads: int = 1) -> float:
        """FLOP/s of independent fused multiply-adds; `dtype` is `f32` or `f64`."""
        return {"f32": self.f32, "f64": self.f64}[dtype].at(threads, self.cores)

    def bandwidth(self, level: str = "memory", kind: Kind = "read", threads: int = 1) -> float:
        """Bytes/s; `level` is `L1`, `L2`, `L3` (where there is one) or `memory`."""
        found = {bandwidth.level: bandwidth for bandwidth in self.bandwidths}[level]
        return found.rate(kind).at(threads, self.cores)


# What the operating system tells.


def core_cpus() -> list[int]:
    """
    The number of one CPU of each core that this process may run on: of the hardware threads that share a
    core, the first.
    """
    by_core: dict[str, int] = {}
    for cpu in _allowed_cpus():
        siblings = _text(_CPUS / f"cpu{cpu}/topology/thread_siblings_list")
        by_core.setdefault(siblings or str(cpu), cpu)
    return list(by_core.values())


def detect_caches() -> tuple[Cache, ...]:
    """The data caches of a core, innermost first; `DEFAULT_CACHES` where nothing tells."""
    folder = _CPUS / f"cpu{_allowed_cpus()[0]}/cache"
    found = [_read_cache(index) for index in sorted(folder.glob("index*"))]
    by_level = {cache.level: cache for cache in found if cache is not None}
    caches = [by_level[level] for level in sorted(by_level)]
    sizes = [cache.bytes for cache in caches]
    if not caches or caches[0].level != 1 or sizes != sorted(sizes):
        return DEFAULT_CACHES
    return tuple(caches)


def _allowed_cpus() -> list[int]:
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def _read_cache(folder: Path) -> Cache | None:
    """One of Linux's `cache/index*`. None for a cache of instructions, or what cannot be read."""
    if _text(folder / "type") not in ("Data", "Unified"):
        return None
    size, level = _text(folder / "size"), _text(folder / "level")
    units = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
    if not level.isdigit() or size[-1:] not in units or not size[:-1].isdigit():
        return None
    bytes_ = int(size[:-1]) * units[size[-1]]
    if not bytes_:
        return None
    return Cache(int(level), bytes_, max(1, _count(_text(folder / "shared_cpu_list"))))


def _count(cpus: str) -> int:
    """How many numbers a list like `0-3,8` has."""
    with suppress(ValueError):
        ranges = [[int(end) for end in part.split("-")] for part in cpus.split(",")]
        return sum(numbers[-1] - numbers[0] + 1 for numbers in ranges)
    return 1


def _text(file: Path) -> str:
    try:
        return file.read_text().strip()
    except OSError:
        return ""


# The file of results.


def cache_folder() -> Path:
    """Where Stepwell keeps what it can do without: `$XDG_CACHE_HOME/stepwell`, or `~/.cache/stepwell`."""
    given = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG base directory specification: a relative path is to be ignored.
    base = Path(given) if os.path.isabs(given) else Path("~/.cache").expanduser()
    return base / "stepwell"


def measured_file(cpu: str, features: str, cores: int) -> Path:
    """Where the measurements of a CPU are. Its features and cores are part of the name."""
    digest = hashlib.sha256(f"{cpu} {features} {cores}".encode()).hexdigest()[:16]
    return cache_folder() / "targets" / f"{cpu}-{digest}.json"


def store_measured(file: Path, measured: Measured) -> None:
    """Write the file in one go: a process that reads it meanwhile sees the old or the new one."""
    file.parent.mkdir(parents=True, exist_ok=True)
    new = file.with_suffix(f".{os.getpid()}.new")
    new.write_text(json.dumps(asdict(measured), indent=2) + "\n")
    new.replace(file)


def load_measured(file: Path) -> Measured | None:
    """What the file holds. None when there is none, or one that `store_measured` did not write."""
    try:
        data = json.loads(file.read_text())
        return Measured(
            int(data["cores"]),
            Rate(**data["f32"]),
            Rate(**data["f64"]),
            tuple(map(_bandwidth, cast("Sequence[Any]", data["bandwidths"]))),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _bandwidth(data: dict[str, Any]) -> Bandwidth:
    rates = [Rate(**data[kind]) for kind in KINDS]
    return Bandwidth(str(data["level"]), int(data["bytes"]), *rates)
