"""What the operating system tells of the machine: its cores, their caches, pages, and who made the processor."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .core import Cache, HugePages

_CPUS = Path("/sys/devices/system/cpu")
_HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")
_CPUINFO = Path("/proc/cpuinfo")


class Cpuid(NamedTuple):
    """What the instruction of that name tells of a processor: vendor, and display family and model."""

    vendor: str
    family: int
    model: int


def system_text() -> str:
    """All that this module reads but for what CPUID says too: what it makes of equal texts is equal."""
    cpus = allowed_cpus()
    siblings = [_text(_siblings(cpu)) for cpu in cpus]
    files = (folder / name for folder in _cache_folders(cpus[0]) for name in _CACHE_FILES)
    caches = [_text(file) for file in files]
    return repr((os.cpu_count(), cpus, siblings, caches, page_bytes(), detect_huge_pages()))


def core_cpus() -> list[int]:
    """
    The number of one CPU of each core that this process may run on: of the hardware threads that share a
    core, the first.
    """
    by_core: dict[str, int] = {}
    for cpu in allowed_cpus():
        siblings = _text(_siblings(cpu))
        by_core.setdefault(siblings or str(cpu), cpu)
    return list(by_core.values())


def all_cores() -> int:
    """
    How many cores the machine has, those included that this process may not run on; as many hardware threads
    are taken for a core as of those that it may.
    """
    allowed = len(allowed_cpus())
    return max(os.cpu_count() or 1, allowed) * len(core_cpus()) // allowed


def detect_cpuid() -> Cpuid | None:
    """Of the first processor, as Linux shows it. None on other systems and architectures."""
    first = _text(_CPUINFO).partition("\n\n")[0]
    pairs = [line.partition(":") for line in first.splitlines()]
    facts = {name.strip(): value.strip() for name, _, value in pairs}
    family, model = facts.get("cpu family", ""), facts.get("model", "")
    if not family.isdigit() or not model.isdigit() or "vendor_id" not in facts:
        return None
    return Cpuid(facts["vendor_id"], int(family), int(model))


def detect_caches() -> tuple[Cache, ...]:
    """The data caches of a core, innermost first; `DEFAULT_CACHES` where nothing tells."""
    from .core import DEFAULT_CACHES  # late: programs from the cache run without all this

    found = [_read_cache(index) for index in _cache_folders(allowed_cpus()[0])]
    by_level = {cache.level: cache for cache in found if cache is not None}
    caches = [by_level[level] for level in sorted(by_level)]
    sizes = [cache.bytes for cache in caches]
    if not caches or caches[0].level != 1 or sizes != sorted(sizes):
        return DEFAULT_CACHES
    return tuple(caches)


def page_bytes() -> int:
    """The size of an ordinary page."""
    return os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


def detect_huge_pages() -> HugePages | None:
    """Linux's setting of transparent huge pages, which it shows in brackets."""
    chosen = _text(_HUGE_PAGES).partition("[")[2].partition("]")[0]
    return chosen if chosen in ("always", "madvise", "never") else None


def allowed_cpus() -> list[int]:
    """The numbers of the CPUs that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def _siblings(cpu: int) -> Path:
    """The file that names the CPUs of the same core."""
    return _CPUS / f"cpu{cpu}/topology/thread_siblings_list"


def _cache_folders(cpu: int) -> list[Path]:
    return sorted((_CPUS / f"cpu{cpu}/cache").glob("index*"))


_CACHE_FILES = (
    _TYPE := "type",
    _SIZE := "size",
    _LEVEL := "level",
    _SHARED := "shared_cpu_list",
    _WAYS := "ways_of_associativity",
    _LINE := "coherency_line_size",
)


def _read_cache(folder: Path) -> Cache | None:
    """One of Linux's `cache/index*`. None for a cache of instructions, or what cannot be read."""
    from .core import LINE_BYTES, Cache

    if _text(folder / _TYPE) not in ("Data", "Unified"):
        return None
    size, level = _text(folder / _SIZE), _text(folder / _LEVEL)
    units = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
    if not level.isdigit() or size[-1:] not in units or not size[:-1].isdigit():
        return None
    bytes_ = int(size[:-1]) * units[size[-1]]
    if not bytes_:
        return None
    return Cache(
        int(level),
        bytes_,
        # Virtual machines may say 0, and a fully associative cache does.
        _number(folder / _WAYS) or Cache(int(level), bytes_).ways,
        max(1, _count(_text(folder / _SHARED))),
        _number(folder / _LINE) or LINE_BYTES,
    )


def _number(file: Path) -> int:
    """The number a file holds; 0 where it holds none."""
    text = _text(file)
    return int(text) if text.isdigit() else 0


def _count(cpus: str) -> int:
    """How many numbers a list like `0-3,8` has."""
    with suppress(ValueError):
        ranges = [[int(end) for end in part.split("-")] for part in cpus.split(",")]
        return sum(numbers[-1] - numbers[0] + 1 for numbers in ranges)
    return 1


def _text(file: Path) -> str:
    try:
        return file.read_text().strip()
    except (OSError, UnicodeDecodeError):
        return ""
