"""Files that a user names. Loaded where nothing of xDSL is."""

from __future__ import annotations

import os
import stat
import time
from contextlib import suppress
from functools import cached_property
from hashlib import sha256
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import TypeAlias

from ..cache.folder import compiled_store
from ..cache.store import Store, key_of
from ..cache.version import compiler_version
from ..errors import StepwellError
from ..spelling import did_you_mean


def checked_path(path: str | os.PathLike[str]) -> Path:
    """The path that a user gave. Raises StepwellError for what is no path at all, bytes among them."""
    if isinstance(path, str) or (hasattr(path, "__fspath__") and not isinstance(path, bytes)):
        with suppress(TypeError):  # a path that is one of bytes
            return Path(path)
    raise StepwellError(
        f"found a {type(path).__name__}, expected the path of a file; "
        "give it as a string or a pathlib.Path"
    )


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """The contents of a file. Raises StepwellError when there is no such file to read."""
    try:
        return Path(path).read_bytes()
    except FileNotFoundError as error:
        message = f"found no such file, expected one to read; {_nearby_files(Path(path))}"
        raise StepwellError(message, where=str(path)) from error
    except IsADirectoryError as error:
        message = "found a directory, expected a file; name a file in it"
        raise StepwellError(message, where=str(path)) from error
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the name
        reason = error.strerror if isinstance(error, OSError) else str(error)
        message = f"cannot read the file: {reason}; mend its permissions or name another"
        raise StepwellError(message, where=str(path)) from error


MOST_MODEL_BYTES = (1 << 31) - 1
"""Of a message of protobuf, by its specification."""


def check_model_size(size: int, path: str | os.PathLike[str]) -> None:
    """Raises StepwellError for more than a model can be, before it is read or hashed."""
    if size > MOST_MODEL_BYTES:
        raise StepwellError(
            f"found a file of {size} bytes, expected an ONNX model of less than 2 GiB, as protobuf has them; "
            "save the model with external data",
            where=str(path),
        )


class MappedFile:
    """
    A file as it was when it was opened: its contents, mapped into memory where that can be, and their digest.

    Raises StepwellError when there is no such file to read.
    """

    def __init__(self, path: Path):
        self.path = path
        self._contents: bytes | mmap
        self._state: _State | None = None
        try:
            with path.open("rb") as file:
                found = os.fstat(file.fileno())
                if stat.S_ISREG(found.st_mode) and found.st_size:
                    self._contents = mmap(file.fileno(), 0, access=ACCESS_READ)
                    self._state = _state_of(found)
                else:
                    self._contents = file.read()
        except (OSError, ValueError):
            self._contents = read_bytes(path)  # which says why

    @property
    def contents(self) -> bytes | mmap:
        """
        The bytes. Raises StepwellError for a file that was written to since: what is mapped is not what it was then.
        """
        if self._state is not None and _changed(self.path, self._state):
            raise StepwellError(
                "found the file changed since it was loaded, expected it as it was; load it again",
                where=str(self.path),
            )
        return self._contents

    @property
    def has_digest(self) -> bool:
        """Whether the digest is known without reading much: not that of a large file which no process has kept."""
        return self._place_of_digest is None or self._kept is not None

    @cached_property
    def digest(self) -> str:
        """
        The SHA-256 of the contents. That of a large file is kept for the next process, unless it was written to just now:
        another change might leave it with the same times.
        """
        return self._digest_of(self.contents) if self._kept is None else self._kept

    def read(self) -> bytes:
        """A copy of the contents, of which the digest is known then: neither is made by the interpreter's thread alone."""
        data = self._read_again()
        _ = self.contents  # raises where it is not what was read
        if "digest" not in self.__dict__:
            self.__dict__["digest"] = self._digest_of(data)
        return data

    def _read_again(self) -> bytes:
        """What is mapped, read from its file, or copied where that is not at the path any more: another one has other contents."""
        with suppress(OSError), self.path.open("rb") as file:
            found = _state_of(os.fstat(file.fileno()))
            if self._state is not None and found[0] == self._state[0]:
                return file.read()
        return bytes(self._contents)

    def _digest_of(self, contents: bytes | mmap) -> str:
        digest = sha256(contents).hexdigest()
        if self._place_of_digest is None or self._state is None:
            return digest
        if time.time_ns() - max(self._state[2:]) > _SETTLED_NANOSECONDS:
            store, key = self._place_of_digest
            store.write(_KIND, key, digest.encode())
        return digest

    @cached_property
    def _kept(self) -> str | None:
        """The digest that an earlier process has kept, if the file is still as it was."""
        if self._place_of_digest is None or self._state is None:
            return None
        store, key = self._place_of_digest
        kept = store.read(_KIND, key)
        return None if kept is None or _changed(self.path, self._state) else kept.decode()

    @cached_property
    def _place_of_digest(self) -> tuple[Store, str] | None:
        """Where that of a large file is kept."""
        store = compiled_store() if len(self._contents) >= _LARGE_BYTES else None
        if store is None or self._state is None:
            return None
        return store, key_of(compiler_version(), str(self.path.resolve()), repr(self._state))


_KIND = "files"

_LARGE_BYTES = 1 << 20

_SETTLED_NANOSECONDS = 2_000_000_000
"""File systems count time in steps of two seconds at most."""

_State: TypeAlias = tuple[tuple[int, int], int, int, int]


def _state_of(found: os.stat_result) -> _State:
    """Which file it is, and what changes when somebody writes to it: a program can set the first of the times alone."""
    return (found.st_dev, found.st_ino), found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _changed(path: Path, state: _State) -> bool:
    """Whether a file was written to. One that was removed, or that another took the place of, was not."""
    try:
        now = _state_of(path.stat())
    except OSError:
        return False
    return now[0] == state[0] and now[:3] != state[:3]


def decode(data: bytes, filename: str) -> str:
    """`data` as UTF-8 text. Raises StepwellError at the first byte that is not."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line = before.count(b"\n") + 1
        column = error.start - (before.rfind(b"\n") + 1) + 1
        raise StepwellError(
            f"found byte 0x{data[error.start]:02x}, expected UTF-8 text; "
            "convert the file to UTF-8 or name a text file",
            where=f"{filename}:{line}:{column}",
        ) from error


def _nearby_files(path: Path) -> str:
    try:
        names = os.listdir(path.parent)
    except OSError:
        return f"there is no folder '{path.parent}'"
    return did_you_mean(path.name, names, "mend the name")
