"""
Relocatable object code of x86-64 put into the memory of this process: what LLVM's linkers do, without LLVM.

A program from the cache is object code already, and loading LLVM takes longer than all else that its process does first.
What LLVM makes of our code has few kinds of relocations (System V Application Binary Interface, AMD64 Architecture
Processor Supplement, 4.4). What is not known here is refused, for LLVM to link.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
from collections.abc import Mapping, Sequence
from struct import error as StructError
from struct import pack_into
from typing import Any, NamedTuple

from .elf_objects import UNDEFINED, ObjectFile, Section, UnsupportedObjectError, read_object
from .process_symbols import process, process_address

_ADDRESS = 1
_RELATIVE = 2
_CALL = 4
_FROM_TABLE = (9, 41, 42)
"""R_X86_64_GOTPCREL, and the two kinds of it whose instructions a linker may change; they are left as they are."""

_JUMP = b"\xff\x25"
"""`jmp *offset(%rip)`; four bytes of the offset follow."""

_SLOT = 8
"""Bytes of a jump, and of an address."""


class LinkedCode(NamedTuple):
    """Code in memory, which is given back when nothing refers to this any more, and where its symbols are."""

    addresses: Mapping[str, int]
    held: Any
    """What the memory cannot be closed beside."""


def can_link() -> bool:
    """Whether code of this process is of the kind that is linked here."""
    return sys.platform == "linux" and os.uname().machine == "x86_64" and sys.maxsize > 1 << 32


def link(
    objects: Sequence[bytes], imported: Mapping[str, int], exported: Sequence[str]
) -> LinkedCode:
    """
    Put the objects into memory, together: the addresses of what they define and are to export.

    What they only declare is among `imported`, or a function of this process. Raises UnsupportedObjectError for what is
    not linked here, and for a symbol that nobody defines.
    """
    return _Linker([read_object(data) for data in objects], imported).linked(exported)


class _Linker:
    """
    Where everything comes to stand: code and constants first, then jumps to what is elsewhere in the process and a table of
    the addresses of such things; from the next page on, what is written to.
    """

    def __init__(self, objects: Sequence[ObjectFile], imported: Mapping[str, int]):
        self._objects = objects
        self._imported = imported
        self._defined = {
            name: (section, place) for one in objects for name, section, place in one.defined()
        }
        end = self._placed(0, is_writable=False)
        self._jumps, end = self._slots((_CALL,), end)
        self._table, end = self._slots((_CALL, *_FROM_TABLE), end)
        self._fixed = _rounded(end, mmap.PAGESIZE)
        self._size = max(self._placed(self._fixed, is_writable=True), 1)
        self._memory = mmap.mmap(
            -1, self._size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, mmap.PROT_READ | mmap.PROT_WRITE
        )
        self._held = ctypes.c_char.from_buffer(self._memory)
        self._start = ctypes.addressof(self._held)

    def _placed(self, offset: int, *, is_writable: bool) -> int:
        """Give sections their places from an offset on; where they end."""
        for one in self._objects:
            for section in one.sections.values():
                if section.is_writable == is_writable:
                    section.offset = _rounded(offset, section.alignment)
                    offset = section.offset + section.size
        return offset

    def _slots(self, kinds: Sequence[int], offset: int) -> tuple[dict[str, int], int]:
        """A slot for each symbol that relocations of these kinds want one for, from an offset on; where they end."""
        slots: dict[str, int] = {}
        offset = _rounded(offset, _SLOT)
        for one in self._objects:
            for section in one.sections.values():
                for _, kind, number, _ in section.relocations:
                    name = one.symbols[number][0]
                    is_called = kind == _CALL and self._is_elsewhere(one, number)
                    if kind in kinds and (kind != _CALL or is_called) and name not in slots:
                        slots[name] = offset
                        offset += _SLOT
        return slots, offset

    def _is_elsewhere(self, one: ObjectFile, number: int) -> bool:
        """Whether none of the objects defines a symbol of one."""
        name, section, _ = one.symbols[number]
        return section == UNDEFINED and name not in self._defined

    def linked(self, exported: Sequence[str]) -> LinkedCode:
        addresses = {name: self._address(name) for name in exported}
        for one in self._objects:
            for section in one.sections.values():
                self._write(one, section)
        for name, offset in self._table.items():
            pack_into("<Q", self._memory, offset, self._address(name))
        for name, offset in self._jumps.items():
            end = offset + len(_JUMP) + 4
            self._memory[offset : offset + len(_JUMP)] = _JUMP
            pack_into("<i", self._memory, end - 4, self._table[name] - end)
        self._let_run()
        return LinkedCode(addresses, self._held)

    def _write(self, one: ObjectFile, section: Section) -> None:
        """Put a section into its place, with the addresses of what it refers to."""
        first = section.offset
        self._memory[first : first + len(section.contents)] = section.contents
        for place, kind, number, more in section.relocations:
            try:
                if kind == _ADDRESS:
                    value = self._address_of(one, number) + more
                    pack_into("<Q", self._memory, first + place, value)
                else:
                    value = self._target(one, kind, number) + more - (self._start + first + place)
                    pack_into("<i", self._memory, first + place, value)
            except StructError:
                raise UnsupportedObjectError("found an address out of reach") from None

    def _target(self, one: ObjectFile, kind: int, number: int) -> int:
        """The address that an instruction has its distance to."""
        name = one.symbols[number][0]
        if kind in _FROM_TABLE:
            if number < one.first_global:
                raise UnsupportedObjectError(f"found the address of '{name}' asked for")
            return self._start + self._table[name]
        if kind == _CALL and self._is_elsewhere(one, number):
            return self._start + self._jumps[name]
        if kind in (_RELATIVE, _CALL):
            return self._address_of(one, number)
        raise UnsupportedObjectError(f"found a relocation of kind {kind}")

    def _address_of(self, one: ObjectFile, number: int) -> int:
        """Where a symbol of an object is."""
        name, number, place = one.symbols[number]
        if number in one.sections:
            return self._start + one.sections[number].offset + place
        if number != UNDEFINED:
            raise UnsupportedObjectError(f"found '{name}' in section {number}")
        return self._address(name)

    def _address(self, name: str) -> int:
        """Where a symbol is that any of the objects may define, or the process."""
        if name in self._defined:
            section, place = self._defined[name]
            return self._start + section.offset + place
        address = self._imported.get(name) or process_address(name)
        if address is None:
            raise UnsupportedObjectError(f"found no definition of '{name}'")
        return address

    def _let_run(self) -> None:
        """Let code run where it is, and nothing write there any more."""
        if not self._fixed:
            return
        protect = process().mprotect
        protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
        if protect(self._start, self._fixed, mmap.PROT_READ | mmap.PROT_EXEC):
            raise UnsupportedObjectError("found a system that lets no code be made")


def _rounded(offset: int, alignment: int) -> int:
    return -(-offset // alignment) * alignment
