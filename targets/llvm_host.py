"""What LLVM says of the machine that this process runs on, kept from one process to the next: LLVM takes long to load."""

# llvmlite has no types.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any, NamedTuple, cast

from ..cache.folder import compiled_store
from ..cache.store import key_of
from ..cache.version import compiler_version
from .cpuid import cpuid_digest

_KIND = "hosts"


class LLVMHost(NamedTuple):
    """The triple of this process, the name of its CPU, and the CPU's features: `+avx2,-avx512f`, every one of them."""

    triple: str
    cpu: str
    features: str

    @property
    def architecture(self) -> str:
        return self.triple.partition("-")[0]

    def has(self, feature: str) -> bool:
        return f"+{feature}" in self.features.split(",")


@lru_cache(maxsize=1)
def llvm_host() -> LLVMHost:
    """What an earlier process has kept for a processor of which CPUID says the same, or else what LLVM says now."""
    digest, store = cpuid_digest(), compiled_store()
    if digest is None or store is None:
        return _asked()
    key = key_of(compiler_version(), digest)
    kept = store.read(_KIND, key)
    if kept is not None:
        return LLVMHost(*json.loads(kept))
    host = _asked()
    store.write(_KIND, key, json.dumps(host).encode())
    return host


def _asked() -> LLVMHost:
    from llvmlite import binding  # late: programs from the cache run without LLVM

    features: str = cast(Any, binding.get_host_cpu_features()).flatten()
    return LLVMHost(binding.get_process_triple(), binding.get_host_cpu_name(), features)
