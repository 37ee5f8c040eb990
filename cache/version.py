"""Which compiler this is, so that nothing is used that another has made."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from .._version import __version__
from .store import key_of

_LIBRARIES = ("xdsl", "islpy", "llvmlite", "numpy", "onnx")
"""What the results of a compilation depend on besides the package itself."""

_SOURCES = (".py", ".json", ".ll")


@lru_cache(maxsize=1)
def compiler_version() -> str:
    """
    A digest of the package's own files and of the libraries it stands on.

    Of each file it has the path, the size and the times of the last change to its contents and to its status,
    of which a program can set the first alone. Reading the contents would take ten times as long.
    """
    package = Path(__file__).parents[1]
    facts = [__version__, sys.version, str(package), *_files(package, "")]
    for name in _LIBRARIES:
        spec = find_spec(name)
        origin = None if spec is None else spec.origin
        facts.append(f"{name} {origin} {_state(os.stat(origin)) if origin else ''}")
    return key_of(*facts)


def _files(folder: str | Path, name: str) -> Iterator[str]:
    """The sources of a package and of the packages in it, in the order of their names."""
    with os.scandir(folder) as found:
        files = sorted(found, key=lambda file: file.name)
    if not any(file.name == "__init__.py" for file in files):
        return
    for file in files:
        if file.is_dir(follow_symlinks=False):
            yield from _files(file.path, f"{name}{file.name}/")
        elif file.name.endswith(_SOURCES):
            yield f"{name}{file.name} {_state(file.stat())}"


def _state(found: os.stat_result) -> str:
    return f"{found.st_size} {found.st_mtime_ns} {found.st_ctime_ns}"
