"""What is in a relocatable object file of x86-64, as far as our code has it; elf_linker.py puts it into memory."""

from __future__ import annotations

import mmap
from struct import Struct, unpack_from
from typing import NamedTuple

_SECTION = Struct("<IIQQQQIIQQ")
_SYMBOL = Struct("<IBBHQQ")
_RELOCATION = Struct("<QIIq")

_RELOCATABLE, _X86_64 = 1, 62
_CONTENTS, _SYMBOLS, _RELOCATIONS, _ZEROS, _UNWINDING = 1, 2, 4, 8, 0x70000001
_WRITABLE, _IN_MEMORY, _THREAD_LOCAL = 1, 2, 0x400

UNDEFINED = 0
"""The section of symbols that another object defines, or the process."""


class UnsupportedObjectError(Exception):
    """Something in object code that is left to LLVM's own linker."""


class Section:
    """A section that is in memory while the code runs, of so many bytes: its `contents`, or zeros."""

    def __init__(self, contents: bytes, size: int, alignment: int, is_writable: bool):
        self.contents = contents
        self.size = size
        self.alignment = alignment
        self.is_writable = is_writable
        self.relocations: list[tuple[int, int, int, int]] = []
        """of each its place in the section, its kind, the number of its symbol, and what is added"""
        self.offset = 0
        """where the linker puts it"""


class ObjectFile(NamedTuple):
    """Sections by their numbers; of each symbol its name, the number of its section and its place there."""

    sections: dict[int, Section]
    symbols: list[tuple[str, int, int]]
    first_global: int
    """The number of the first symbol that other objects see."""

    def defined(self) -> list[tuple[str, Section, int]]:
        """What others may refer to by its name."""
        return [
            (name, self.sections[section], place)
            for name, section, place in self.symbols[self.first_global :]
            if section in self.sections
        ]


def read_object(data: bytes) -> ObjectFile:
    """
    What is in the file. Raises UnsupportedObjectError for sections of kinds that ordinary code does not have.

    What debuggers and exceptions unwind the stack by is left out: nothing that our code calls throws.
    """
    machine = unpack_from("<HH", data, 16) if len(data) >= 64 else None
    if data[:6] != b"\x7fELF\x02\x01" or machine != (_RELOCATABLE, _X86_64):
        raise UnsupportedObjectError("found no relocatable object of x86-64")
    (table,) = unpack_from("<Q", data, 40)
    (count,) = unpack_from("<H", data, 60)
    headers: list[tuple[int, ...]] = [
        _SECTION.unpack_from(data, table + _SECTION.size * n) for n in range(count)
    ]
    sections: dict[int, Section] = {}
    symbols: list[tuple[str, int, int]] = []
    first_global = 0
    for number, (_, kind, flags, _, start, size, link, info, alignment, _) in enumerate(headers):
        if kind == _SYMBOLS:
            names, first_global = headers[link][4], info
            symbols = [
                (_text(data, names + name), section, place)
                for name, _, _, section, place, _ in _SYMBOL.iter_unpack(data[start : start + size])
            ]
        elif flags & _IN_MEMORY and kind != _UNWINDING and size:
            is_plain = kind in (_CONTENTS, _ZEROS) and not flags & _THREAD_LOCAL
            if not is_plain or alignment > mmap.PAGESIZE:
                raise UnsupportedObjectError(f"found a section of kind {kind}, flags {flags:#x}")
            contents = data[start : start + size] if kind == _CONTENTS else b""
            sections[number] = Section(contents, size, max(alignment, 1), bool(flags & _WRITABLE))
    for _, kind, _, _, start, size, _, number, _, _ in headers:
        if kind == _RELOCATIONS and number in sections:
            found = _RELOCATION.iter_unpack(data[start : start + size])
            # The kind and the symbol's number are the two halves of one word.
            sections[number].relocations += [
                (place, how, symbol, more) for place, how, symbol, more in found
            ]
    return ObjectFile(sections, symbols, first_global)


def _text(data: bytes, start: int) -> str:
    return data[start : data.index(b"\0", start)].decode()
