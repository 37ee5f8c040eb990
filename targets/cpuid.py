"""
What the instruction CPUID says of the processor, as LLVM asks it: which instructions there are, and whether the system
saves their registers. The system's own list of features leaves out those that it does not know.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
from functools import lru_cache
from hashlib import sha256

_LEAVES = (
    *((0, 0), (1, 0), (7, 0), (7, 1), (0xD, 0), (0xD, 1), (0x14, 0), (0x19, 0)),
    *((0x1D, 1), (0x1E, 0), (0x1E, 1), (0x24, 0)),
    *((0x80000000, 0), (0x80000001, 0), (0x80000008, 0)),
    *((0x80000002, 0), (0x80000003, 0), (0x80000004, 0)),
)
"""Leaves and subleaves that features and names of processors follow from (LLVM's TargetParser/Host.cpp)."""

_APIC_ID = 0xFF000000
"""The bits of EBX in leaf 1 that say on which core of the processor the instruction ran."""

# void read(uint32_t (*leaves)[4], uint64_t count): the leaf and subleaf in each become EAX, EBX, ECX and EDX.
_CODE = bytes.fromhex(
    "53"  #             push rbx
    "4885f6"  #   next: test rsi, rsi
    "741b"  #           jz done
    "8b07"  #           mov eax, [rdi]
    "8b4f04"  #         mov ecx, [rdi + 4]
    "0fa2"  #           cpuid
    "8907"  #           mov [rdi], eax
    "895f04"  #         mov [rdi + 4], ebx
    "894f08"  #         mov [rdi + 8], ecx
    "89570c"  #         mov [rdi + 12], edx
    "4883c710"  #       add rdi, 16
    "48ffce"  #         dec rsi
    "ebe0"  #           jmp next
    "5b"  #       done: pop rbx
    "c3"  #             ret
)


@lru_cache(maxsize=1)
def cpuid_digest() -> str | None:
    """
    What is equal on processors of which LLVM says the same; None where there is no such instruction, or no code can be
    made to call it.
    """
    if not sys.platform.startswith("linux") or os.uname().machine != "x86_64":
        return None
    try:
        code = mmap.mmap(-1, mmap.PAGESIZE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        code[: len(_CODE)] = _CODE
        start = ctypes.addressof(ctypes.c_char.from_buffer(code))
        protect = ctypes.CDLL(None).mprotect
    except (OSError, AttributeError):
        return None
    protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    if protect(start, mmap.PAGESIZE, mmap.PROT_READ | mmap.PROT_EXEC):
        return None
    words = [word for leaf, subleaf in _LEAVES for word in (leaf, subleaf, 0, 0)]
    registers = (ctypes.c_uint32 * len(words))(*words)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint64)(start)(
        ctypes.addressof(registers), len(_LEAVES)
    )
    registers[4 * _LEAVES.index((1, 0)) + 1] &= ~_APIC_ID & 0xFFFFFFFF
    return sha256(bytes(registers)).hexdigest()
