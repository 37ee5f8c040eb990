"""Which compiler this is, so that nothing is used that another has made."""

from __future__ import annotations

import os
import sys
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from .._version import __version__
from .store import key_of

_LIBRARIES = ("xdsl", "islpy", "llvmlite", "numpy", "onnx")
"""What the results of a compilation depend on besides the package itself."""

_SOURCES = (".py", ".json", ".ll")

_File = tuple[str, str, int, int, int]
"""A folder and a name in it, a size, and two times."""


@lru_cache(maxsize=1)
def compiler_version() -> str:
    """
    A digest of the package's own files and of the libraries it stands on.

    Of each file it has the path, the size and the times of the last change to its contents and to its status,
    of which a program can set the first alone. Reading the contents would take ten times as long.
    """
    package = Path(__file__).parents[1]
    files: list[_File] = []
    _add_files(package, "", files)
    for name in _LIBRARIES:
        spec = find_spec(name)
        origin = None if spec is None else spec.origin
        if origin is not None:
            files.append((name, origin, *_state(os.stat(origin))))
    return key_of(__version__, sys.version, str(package), repr(files))


def _add_files(folder: str | Path, name: str, files: list[_File]) -> None:
    """Add the sources of a package and of the packages in it, in the order of their names."""
    with os.scandir(folder) as found:
        entries = {entry.name: entry for entry in found}
    if "__init__.py" not in entries:
        return
    for own_name in sorted(entries):
        entry = entries[own_name]
        if own_name.endswith(_SOURCES):
            files.append((name, own_name, *_state(entry.stat())))
        elif entry.is_dir(follow_symlinks=False):
            _add_files(entry.path, f"{name}{own_name}/", files)


def _state(found: os.stat_result) -> tuple[int, int, int]:
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns
