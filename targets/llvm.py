"""LLVM's code generators for processors: what is set up once, and a generator for one of them."""

# llvmlite has no types.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import threading
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from ..forks import Rank, held_over_forks

if TYPE_CHECKING:
    from llvmlite import binding

_initialize_lock = held_over_forks(threading.Lock(), Rank.INNERMOST)

_SLOW_GATHERS = frozenset(
    {
        *("skylake", "skylake-avx512", "cascadelake", "cooperlake"),
        *("icelake-client", "icelake-server", "tigerlake", "rocketlake"),
    }
)
"""
LLVM's names of the cores whose microcode has kept gathers from running ahead since 2023, so that loads of the elements
are faster (Intel, "Gather Data Sampling", INTEL-SA-00828, affected are Skylake to Tiger Lake). LLVM has an attribute for
them, which it sets for none.
"""


@lru_cache(maxsize=1)
def initialize_llvm() -> None:
    """Make every target of this LLVM known. Done once."""
    from llvmlite import binding  # late: programs from the cache run without LLVM

    with _initialize_lock:
        binding.initialize_all_targets()
        binding.initialize_all_asmprinters()
        # Inline assembly and add_native_assembly need a parser; only the host's is wanted.
        binding.initialize_native_asmparser()
        # Its search for stores that a later load would wait for ends the process where code has masked loads of
        # AVX2 beside others (LLVM 22: "Getting value from an unknown LocationSize"); what it mends, copies of
        # structures by vectors, is not in our code.
        if binding.get_process_triple().startswith("x86_64"):
            cast(Any, binding).set_option("", "-x86-disable-avoid-SFB")


def target_machine(triple: str, cpu: str, features: str, opt: int) -> binding.TargetMachine:
    """
    A new LLVM target machine; `opt` is how much trouble its code generator takes, from 0 to 3.

    Code is position-independent: constants may be anywhere.
    """
    if cpu in _SLOW_GATHERS:
        features = ",".join(filter(None, (features, "+prefer-no-gather")))
    from llvmlite import binding

    initialize_llvm()
    target = cast(Any, binding.Target).from_triple(triple)
    return target.create_target_machine(
        cpu=cpu, features=features, opt=opt, reloc="pic", codemodel="default"
    )
