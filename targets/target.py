"""The machine that code is compiled for: what LLVM must know of it, what its core has, and how fast that is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..cache.folder import measurements_folder
from ..errors import StepwellError
from ..frozen import frozen
from ..lazy import cached_property
from ..spelling import did_you_mean
from .belief import believed
from .core import Cache, Core
from .estimates import complete, with_last_cache, with_loads_begun
from .known_cores import KnownCore, known_core, known_cores
from .llvm import target_machine
from .llvm_host import llvm_host
from .machine import (
    all_cores,
    core_cpus,
    detect_caches,
    detect_cpuid,
    detect_huge_pages,
    page_bytes,
)
from .measurements import load
from .overrides import Overrides, parse_overrides
from .rates import Kind, Rate, Rates

if TYPE_CHECKING:
    from llvmlite import binding

_VECTOR_BITS = {
    "x86_64": {
        "x86-64": 128,
        "x86-64-v2": 128,
        "x86-64-v3": 256,
        "x86-64-v4": 512,
        "haswell": 256,
        "skylake": 256,
        "skylake-avx512": 512,
        "icelake-server": 512,
        "sapphirerapids": 512,
        "znver1": 256,
        "znver2": 256,
        "znver3": 256,
        "znver4": 512,
        "znver5": 512,
    },
    "aarch64": {
        "generic": 128,
        "cortex-a72": 128,
        "neoverse-n1": 128,
        "neoverse-n2": 128,
        "neoverse-v1": 128,
        "neoverse-v2": 128,
        "apple-m1": 128,
        "apple-m2": 128,
    },
}
"""CPU names of LLVM that `Target.parse` takes, by architecture, and the width of their vector registers."""

_V2 = ("cx16", "popcnt", "sahf", "sse3", "sse4.1", "sse4.2", "ssse3")
_V3 = (*_V2, "avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave")
_V4 = (*_V3, "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl")
_LEVEL_FEATURES = {"x86-64": (), "x86-64-v2": _V2, "x86-64-v3": _V3, "x86-64-v4": _V4}
"""LLVM features of the x86-64 psABI's levels."""

_WITH_VBMI = ("icelake-server", "sapphirerapids", "znver4", "znver5")
"""The CPUs among `_VECTOR_BITS` that have VBMI."""


@frozen
class Target:
    """
    A CPU as LLVM knows it, its `core`, and how many `cores` there are.

    `found` are the rates that were measured, are known of this kind of core or were given; `rates` has the
    others too, estimated. For the host the core is this machine's; for the name of a known core, or of the CPU
    that LLVM compiles for it, that core's; for any other name it is what most cores with its instructions have.
    """

    name: str
    triple: str
    cpu: str
    features: str
    core: Core
    cores: int = 1
    found: tuple[tuple[str, Rate], ...] = ()

    def __hash__(self) -> int:
        """Asked for each answer that is remembered: of targets with one name there is rarely another."""
        return hash((self.name, self.cpu, self.cores))

    @staticmethod
    def host() -> Target:
        """The machine this process runs on."""
        return _host()

    @staticmethod
    def forget_host() -> None:
        """Let `host` look at the machine again: what was measured may have changed."""
        _host.cache_clear()

    @staticmethod
    def parse(text: str) -> Target:
        """
        The target called `text`: `host`, a known core (`zen4`) or a CPU name as in `clang -mcpu` (`x86-64-v3`,
        `znver3`). Facts may follow that are to be other than they are: `zen4:l2=2M,registers=16`.

        Raises StepwellError for a name that is not among `names()`, and for wrong facts.
        """
        name, colon, facts = text.partition(":")
        target = _named(name)
        return target.overridden(parse_overrides(facts), text) if colon else target

    @staticmethod
    def names() -> list[str]:
        """The names that `parse` takes."""
        cpus = [name for cpus in _VECTOR_BITS.values() for name in cpus]
        return list(dict.fromkeys(["host", *known_cores(), *cpus]))

    def overridden(self, given: Overrides, name: str) -> Target:
        """The target with other facts. Raises StepwellError when they do not go together."""
        core, cores = given.core(self.core), given.cores(self.cores)
        found = given.rates(dict(self.found), cores)
        core = with_last_cache(with_loads_begun(core, found), found)
        return replace(self, name=name, core=core, cores=cores, found=tuple(found.items()))

    @staticmethod
    def of(target: str | Target) -> Target:
        """The target itself, or the one of that name; see `parse`. Raises StepwellError for anything else."""
        if isinstance(target, Target):
            return target
        if not isinstance(target, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise StepwellError(
                f"found a {type(target).__name__} as the target, expected a Target, host or the name of a "
                "core; give one"
            )
        return Target.parse(target)

    def with_core(self, **facts: Any) -> Target:
        """The target with other fields of its core."""
        return replace(self, core=replace(self.core, **facts))

    def __str__(self) -> str:
        return f"{self.name} ({self.cpu}, {self.vector_bits}-bit vectors)"

    @cached_property
    def rates(self) -> Rates:
        """How fast the machine is, each rate with where it is from."""
        return complete(self.core, self.cores, dict(self.found))

    @cached_property
    def alone(self) -> Target:
        """One core of it, for what runs on one thread."""
        return self if self.cores == 1 else replace(self, cores=1)

    def profile(self) -> str:
        """
        All that decisions follow from, as text. Rates are rounded to two digits: another measurement of the same
        machine, which differs by a percent, mostly leads to the same text.
        """
        rates = {name: (f"{rate.core:.1e}", f"{rate.machine:.1e}") for name, rate in self.found}
        return repr((self.triple, self.cpu, self.features, self.core, self.cores, rates))

    @property
    def is_measured(self) -> bool:
        """Whether `stepwell probe` ran here, so that `rates` are this machine's."""
        return any(rate.source in ("measured", "busy") for _, rate in self.found)

    @property
    def vector_bits(self) -> int:
        """The width of the widest vector registers."""
        return self.core.vector_bits

    @property
    def vector_registers(self) -> int:
        return self.core.vector_registers

    @property
    def caches(self) -> tuple[Cache, ...]:
        """Data caches, innermost first."""
        return self.core.caches

    def cache(self, level: int) -> Cache:
        """The data cache of a level; the last one inside it where there is none of that level."""
        return self.core.cache(level)

    def lanes(self, bytes_: int) -> int:
        """How many elements of so many bytes a vector register holds."""
        return self.core.lanes(bytes_)

    @property
    def frequency(self) -> float:
        """Cycles/s at which one core sustains multiply-adds, from their rate and the ports."""
        return self.rates.peak() / self.core.flops_per_cycle(4)

    def peak(self, dtype: str = "f32", threads: int = 1) -> float:
        """FLOP/s of independent fused multiply-adds; `dtype` is `f32` or `f64`."""
        return self.rates.peak(dtype, threads)

    def bandwidth(self, level: str = "memory", kind: Kind = "read", threads: int = 1) -> float:
        """Bytes/s; `level` is `L1`, `L2`, `L3` or `memory`."""
        return self.rates.bandwidth(level, kind, threads)

    @property
    def known_rates(self) -> dict[str, Rate]:
        """What is known of the kind of core that this machine has; nothing where it is not known itself."""
        known = known_core(detect_cpuid(), self.core)
        return {} if known is None else known.facts(self.cores)

    @property
    def measured_file(self) -> Path:
        """
        Where the measurements of this machine are kept. Its features and cores are part of the name, and so are its caches,
        but for L3, whose size is measured itself.
        """
        caches = [(cache.level, cache.bytes) for cache in self.caches if cache.level < 3]
        facts = f"{self.cpu} {self.features} {self.cores} {caches} {detect_cpuid()}"
        digest = sha256(facts.encode()).hexdigest()[:16]
        return measurements_folder() / f"{self.cpu}-{digest}.json"

    @property
    def runs_here(self) -> bool:
        """Whether this machine has every instruction that LLVM may choose for the target."""
        host = _host()
        if self.triple.split("-")[0] != host.triple.split("-")[0]:
            return False
        if self.cpu in (host.cpu, "generic"):
            return True
        needed = _LEVEL_FEATURES.get(self.cpu)
        if needed is None:
            return False
        return all(map(llvm_host().has, needed))

    @property
    def converts_f16(self) -> bool:
        """Whether instructions convert f16 from and to f32: those of F16C on x86, of the base set on AArch64."""
        return self._has_beside_base("f16c")

    @property
    def has_fma(self) -> bool:
        """Whether one instruction multiplies and adds with one rounding: FMA on x86, the base set on AArch64."""
        return self._has_beside_base("fma")

    @property
    def permutes_bytes(self) -> bool:
        """Whether one instruction permutes the bytes of a register in any way, as those of VBMI do."""
        if self.features:
            return "+avx512vbmi" in self.features.split(",")
        return self.cpu in _WITH_VBMI

    @property
    def broadcast_registers(self) -> int:
        """Registers that LLVM's code for a register tile keeps for elements of A: on AArch64 it loads the next pair while it uses one."""
        return 1 if self._is_x86 else 4

    @property
    def takes_hints_in_sums(self) -> bool:
        """Whether LLVM leaves a register tile's accumulators where they are if its sums ask for data too: on AArch64 it moves them."""
        return self._is_x86

    @property
    def _is_x86(self) -> bool:
        return self.triple.startswith("x86_64")

    def _has_beside_base(self, feature: str) -> bool:
        """Whether x86 has a feature that AArch64 has in its base set."""
        if not self._is_x86:
            return True
        if self.features:
            return f"+{feature}" in self.features.split(",")
        return feature in _LEVEL_FEATURES.get(self.cpu, _V3)

    def machine(self, opt: int = 3) -> binding.TargetMachine:
        """
        A new LLVM target machine, whose code generator takes as much trouble as `opt` says, from 0 to 3.

        Code is position-independent: constants may be anywhere.
        """
        return target_machine(self.triple, self.cpu, self.features, opt)


def _named(name: str) -> Target:
    if name == "host":
        return _host()
    known = {core.llvm: core for core in known_cores().values()} | dict(known_cores())
    if name in known:
        core = known[name]
        triple, found = _triple_of("x86_64"), core.facts(1)
        begun = with_loads_begun(core.core, found)
        return Target(name, triple, core.llvm, "", begun, 1, tuple(found.items()))
    for architecture, cpus in _VECTOR_BITS.items():
        if name in cpus:
            core = _ordinary_core(
                architecture, cpus[name], has_fma=name not in ("x86-64", "x86-64-v2")
            )
            return Target(name, _triple_of(architecture), name, "", core)
    remedy = did_you_mean(name, Target.names(), "stepwell.Target.names() lists them")
    raise StepwellError(f"found target '{name}', expected host or a core that is known; {remedy}")


def _ordinary_core(architecture: str, vector_bits: int, *, has_fma: bool) -> Core:
    """
    What most cores of an instruction set have: 32 vector registers with AVX-512 and on AArch64, otherwise 16.
    Without fused multiply-adds, one is a multiplication and an addition.
    """
    registers = 32 if vector_bits == 512 or architecture == "aarch64" else 16
    return Core(vector_bits, registers, fma_ports=2 if has_fma else 1)


@lru_cache(maxsize=1)
def _host() -> Target:
    cores = len(core_cpus())
    core, known = _host_core()
    target = Target("host", *llvm_host(), core, cores)
    facts = {} if known is None else known.facts(cores)
    found = believed(core, facts, _measured(target))
    core = with_last_cache(with_loads_begun(core, found), found)
    return replace(target, core=core, found=tuple(found.items()))


def _host_core() -> tuple[Core, KnownCore | None]:
    """
    What this machine's core has, and the known core that it is, if it is one: its ports and latency are known
    then. Its caches and pages are what the system tells, since virtual machines may have parts of a cache.
    """
    host = llvm_host()
    bits = 512 if host.has("avx512f") else 256 if host.has("avx") else 128
    has_fma = host.has("fma") or host.architecture != "x86_64"
    ordinary = _ordinary_core(host.architecture, bits, has_fma=has_fma)
    seen = replace(ordinary, caches=detect_caches())
    known = known_core(detect_cpuid(), seen)
    core = replace(
        seen if known is None else known.core,
        caches=seen.caches,
        page_bytes=page_bytes(),
        huge_pages=detect_huge_pages(),
        vnni=any(map(host.has, ("avx512vnni", "avxvnni", "dotprod"))),
    )
    return core, known


def _measured(target: Target) -> Mapping[str, Rate]:
    """
    What was measured on the cores that this process may run on; else on all of the machine, of which these have the rates
    of single ones.
    """
    measured = load(target.measured_file)
    if measured:
        return measured
    whole = load(replace(target, cores=all_cores()).measured_file)
    return {
        name: replace(rate, machine=min(rate.machine, target.cores * rate.core))
        for name, rate in whole.items()
    }


def _triple_of(architecture: str) -> str:
    host = llvm_host()
    return host.triple if host.architecture == architecture else f"{architecture}-unknown-linux-gnu"
