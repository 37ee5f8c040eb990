"""
A folder of entries that any number of processes read and write.

An entry is written to a file of another name, which is then renamed: a reader sees all of it or nothing. It begins
with a digest of its kind, its key and its contents, so that a file that was cut off, changed or put in another's
place is no entry: it is removed, and made again. Nothing that is read is ever unpickled or evaluated.
"""

from __future__ import annotations

import hashlib
import os
import stat
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import BinaryIO, NamedTuple

MAGIC = b"stepwell cache entry 2".ljust(31) + b"\n"
HEADER_BYTES = len(MAGIC) + hashlib.sha256().digest_size
"""A multiple of all that elements of arrays are aligned to: what follows may be used where a file is mapped."""

MOST_BYTES = 1 << 30
"""What a store may take of the disk: an object is tens of kilobytes, so that this is some ten thousand kernels."""

_KEPT = 0.75
"""The part of that which is left when the entries that were used least recently go."""

_ABANDONED_SECONDS = 3600
"""A file that was being written for so long belongs to a process that has ended."""

_NEW = ".new"

_LEDGER = "written"
"""The file that says how much has been written since the entries were counted last: a number of bytes for each."""

_NOTE_BYTES = 8

_PLAIN_FILE = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
"""How a file is opened: no link is followed, and where a pipe is in its place nobody waits for the other end."""


_Contents = bytes | memoryview

_Reader = Callable[[BinaryIO, int], tuple[bytes, _Contents]]
"""What reads the header of a file of so many bytes, and the rest."""


def key_of(*parts: str | _Contents) -> str:
    """A key for what these parts say, in this order: the SHA-256 of them, each after its length."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


class Entry(NamedTuple):
    """A file of the store: when it was last used, in seconds since the epoch, and its size."""

    path: Path
    used: float
    bytes: int

    @property
    def kind(self) -> str:
        return self.path.parent.name


class Store:
    """
    Entries by kind and key, of at most `most_bytes` in all; those used least recently go.

    Nothing here raises OSError: what cannot be read is not there, and what cannot be written is made again.
    """

    def __init__(self, folder: Path, most_bytes: int = MOST_BYTES):
        self.folder = folder
        self.most_bytes = most_bytes
        self._written: int | None = None
        """bytes since the entries were counted last, once that is known"""

    def read(self, kind: str, key: str) -> bytes | None:
        """What was written; None where there is no whole entry."""
        contents = self._contents(kind, key, lambda file, _: (file.read(HEADER_BYTES), file.read()))
        return None if contents is None else bytes(contents)

    def map(self, kind: str, key: str) -> memoryview | None:
        """As `read`, but mapped into memory: for what is large and read once."""
        contents = self._contents(kind, key, _mapped)
        return None if contents is None else memoryview(contents)

    def read_into(self, kind: str, key: str, allocate: Callable[[int], memoryview]) -> bool:
        """As `read`, but into memory that is allocated for so many bytes; whether there is a whole entry."""

        def read(file: BinaryIO, size: int) -> tuple[bytes, memoryview]:
            memory = allocate(max(0, size - HEADER_BYTES))
            return file.read(HEADER_BYTES), memory[: file.readinto(memory)]  # type: ignore[attr-defined]

        return self._contents(kind, key, read) is not None

    def _contents(self, kind: str, key: str, read: _Reader) -> _Contents | None:
        path = self._path(kind, key)
        data = _own_file(path, read)
        if data is None:
            return None
        header, contents = data
        if header != _header(kind, key, contents):
            with suppress(OSError):
                path.unlink()
            return None
        with suppress(OSError):
            os.utime(path)
        return contents

    def write(self, kind: str, key: str, contents: _Contents) -> None:
        """Keep the contents, in the place of what there is."""
        path = self._path(kind, key)
        size = HEADER_BYTES + len(contents)
        if size > self.most_bytes:
            return
        new = path.with_name(f"{os.getpid()}-{os.urandom(8).hex()}{_NEW}")
        try:
            path.parent.mkdir(mode=0o700, exist_ok=True)
            _write_file(new, _header(kind, key, contents), contents)
            new.replace(path)
        except OSError:
            return
        finally:
            with suppress(OSError):
                new.unlink()
        self._count(size)

    def entries(self) -> list[Entry]:
        """Every entry, the one used least recently first."""
        return sorted(_files(self.folder), key=lambda entry: entry.used)

    def clear(self) -> list[Entry]:
        """Remove every entry; those that were removed."""
        return [entry for entry in self.entries() if _removed(entry)]

    def _path(self, kind: str, key: str) -> Path:
        return self.folder / kind / key

    def _count(self, size: int) -> None:
        """
        Trim where much has been written since the entries were counted last, by any process.

        To count them is to look at every file, which for a full store takes longer than to compile a kernel.
        """
        ledger = self.folder / _LEDGER
        if self._written is None:
            noted = _noted(ledger)
            self._written = self.most_bytes if noted is None else noted
        self._written += size
        if self._written > self.most_bytes // 16:
            self._trim()
            self._written = 0
            _note(ledger, b"", os.O_TRUNC)
        else:
            _note(ledger, size.to_bytes(_NOTE_BYTES, "little"), os.O_APPEND)

    def _trim(self) -> None:
        """Remove what was used least recently where there is too much, and what was never finished."""
        now = time.time()
        entries: list[Entry] = []
        for entry in self.entries():
            if entry.path.suffix != _NEW:
                entries.append(entry)
            elif now - entry.used > _ABANDONED_SECONDS:
                _removed(entry)
        total = sum(entry.bytes for entry in entries)
        if total <= self.most_bytes:
            return
        for entry in entries:
            if total <= self.most_bytes * _KEPT:
                return
            _removed(entry)
            total -= entry.bytes


def _header(kind: str, key: str, contents: _Contents) -> bytes:
    return MAGIC + bytes.fromhex(key_of(kind, key, contents))


def _mapped(file: BinaryIO, size: int) -> tuple[bytes, memoryview]:
    if size <= HEADER_BYTES:
        return file.read(), memoryview(b"")
    whole = memoryview(mmap(file.fileno(), size, access=ACCESS_READ))
    return bytes(whole[:HEADER_BYTES]), whole[HEADER_BYTES:]


def _own_file(path: Path, read: _Reader) -> tuple[bytes, _Contents] | None:
    """The header of a file and the rest; None where there is none, or where another user could have written it."""
    try:
        number = os.open(path, os.O_RDONLY | _PLAIN_FILE)
    except OSError:
        return None
    found = os.fstat(number)
    if not stat.S_ISREG(found.st_mode):
        os.close(number)
        return None
    with os.fdopen(number, "rb") as file:
        if hasattr(os, "geteuid"):
            by_others = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
            if found.st_uid != os.geteuid() or by_others:
                return None
        try:
            return read(file, found.st_size)
        except (OSError, ValueError):  # the latter for a file that was cut off meanwhile
            return None


def _write_file(path: Path, header: bytes, contents: _Contents) -> None:
    """A new file that only this user can read."""
    number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(number, "wb") as file:
        file.write(header)
        file.write(contents)


def _noted(ledger: Path) -> int | None:
    """The sum of what a ledger says; None where there is no whole one of this user's."""
    found = _own_file(ledger, lambda file, _: (b"", file.read()))
    if found is None or len(found[1]) % _NOTE_BYTES:
        return None
    return sum(number for (number,) in struct.iter_unpack("<Q", found[1]))


def _note(ledger: Path, data: bytes, how: int) -> None:
    """Write to a ledger: what processes append at once is one after the other."""
    how |= os.O_WRONLY | os.O_CREAT | _PLAIN_FILE
    with suppress(OSError):
        number = os.open(ledger, how, 0o600)
        with os.fdopen(number, "wb") as file:
            file.write(data)


def _files(folder: Path) -> Iterator[Entry]:
    """The files in the folders of a folder; others may be removing them meanwhile."""
    for kind in _listed(folder):
        if not kind.is_dir(follow_symlinks=False):
            continue
        for file in _listed(kind.path):
            with suppress(OSError):
                found = file.stat(follow_symlinks=False)
                if stat.S_ISREG(found.st_mode):
                    yield Entry(Path(file.path), found.st_mtime, found.st_size)


def _listed(folder: str | Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return list(found)
    except OSError:
        return []


def _removed(entry: Entry) -> bool:
    try:
        entry.path.unlink()
    except OSError:
        return False
    return True
