"""The machine that code is compiled for."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from llvmlite import binding

from ..errors import StepwellError
from .machine import (
    DEFAULT_CACHES,
    Cache,
    Measured,
    core_cpus,
    detect_caches,
    load_measured,
    measured_file,
)

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
"""CPU names that `Target.parse` takes, by architecture, and the width of their vector registers."""

_V2 = ("cx16", "popcnt", "sahf", "sse3", "sse4.1", "sse4.2", "ssse3")
_V3 = (*_V2, "avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave")
_V4 = (*_V3, "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl")
_LEVEL_FEATURES = {"x86-64": (), "x86-64-v2": _V2, "x86-64-v3": _V3, "x86-64-v4": _V4}
"""LLVM features of the x86-64 psABI's levels."""

_initialize_lock = threading.Lock()


@lru_cache(maxsize=1)
def initialize_llvm() -> None:
    """Make every target of this LLVM known. Done once."""
    with _initialize_lock:
        binding.initialize_all_targets()
        binding.initialize_all_asmprinters()
        # Inline assembly and add_native_assembly need a parser; only the host's is wanted.
        binding.initialize_native_asmparser()


@dataclass(frozen=True)
class Target:
    """
    A CPU as LLVM knows it. `vector_bits` is the width of its widest vector registers.

    `cores` and `caches` are this machine's for the host, and modest guesses for a CPU that is only named.
    `measured` is what `stepwell probe` found on this machine, None where it has not run.
    """

    name: str
    triple: str
    cpu: str
    features: str
    vector_bits: int
    cores: int = 1
    caches: tuple[Cache, ...] = DEFAULT_CACHES
    measured: Measured | None = None

    @staticmethod
    def host() -> Target:
        """The machine this process runs on."""
        return _host()

    @staticmethod
    def forget_host() -> None:
        """Let `host` look at the machine again: what was measured may have changed."""
        _host.cache_clear()

    @staticmethod
    def parse(name: str) -> Target:
        """
        The target called `name`: `host`, or a CPU name as in `clang -mcpu` (`x86-64-v3`, `znver3`).

        Raises StepwellError with the names there are.
        """
        if name == "host":
            return _host()
        for architecture, cpus in _VECTOR_BITS.items():
            if name in cpus:
                return Target(name, _triple_of(architecture), name, "", cpus[name])
        known = ", ".join(name for cpus in _VECTOR_BITS.values() for name in cpus)
        raise StepwellError(f"found target '{name}', expected host or one of: {known}; choose one")

    @staticmethod
    def of(target: str | Target) -> Target:
        """The target itself, or the one of that name; see `parse`."""
        return Target.parse(target) if isinstance(target, str) else target

    def __str__(self) -> str:
        return f"{self.name} ({self.cpu}, {self.vector_bits}-bit vectors)"

    @property
    def vector_registers(self) -> int:
        """How many vector registers there are: 32 with AVX-512 and on AArch64, otherwise 16."""
        return 32 if self.vector_bits == 512 or self.triple.startswith("aarch64") else 16

    @property
    def measured_file(self) -> Path:
        """Where the measurements of this CPU are kept."""
        return measured_file(self.cpu, self.features, self.cores)

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
        features = _host_features()
        return all(features.get(feature, False) for feature in needed)

    def machine(self) -> binding.TargetMachine:
        """A new LLVM target machine. Code is position-independent: constants may be anywhere."""
        initialize_llvm()
        target = cast(Any, binding.Target).from_triple(self.triple)
        return target.create_target_machine(
            cpu=self.cpu, features=self.features, opt=3, reloc="pic", codemodel="default"
        )


def _host_features() -> dict[str, bool]:
    return cast("dict[str, bool]", binding.get_host_cpu_features())


@lru_cache(maxsize=1)
def _host() -> Target:
    features = _host_features()
    cpu = binding.get_host_cpu_name()
    if features.get("avx512f"):
        bits = 512
    elif features.get("avx"):
        bits = 256
    else:
        bits = 128
    flags = binding.get_host_cpu_features().flatten()
    cores = len(core_cpus())
    return Target(
        "host",
        binding.get_process_triple(),
        cpu,
        flags,
        bits,
        cores,
        detect_caches(),
        load_measured(measured_file(cpu, flags, cores)),
    )


def _triple_of(architecture: str) -> str:
    host = binding.get_process_triple()
    return host if host.split("-")[0] == architecture else f"{architecture}-unknown-linux-gnu"
