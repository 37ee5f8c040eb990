"""Which folder results are kept in, and whether it may be trusted."""

from __future__ import annotations

import os
import stat
import sys
from functools import lru_cache
from pathlib import Path

from .store import Store

VARIABLE = "STEPWELL_CACHE"
"""The environment variable that is `off`, or the absolute path of another folder for what is compiled."""

_OFF = ("off", "0", "no", "false")


def cache_folder() -> Path:
    """Where Stepwell keeps what it can do without: `$XDG_CACHE_HOME/stepwell`, or `~/.cache/stepwell`."""
    given = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG base directory specification: a relative path is to be ignored.
    base = Path(given) if os.path.isabs(given) else Path("~/.cache").expanduser()
    return base / "stepwell"


def measurements_folder() -> Path:
    """Where what was measured of machines is kept, in a file for each."""
    return cache_folder() / "targets"


def compiled_folder() -> Path | None:
    """Where compiled code is kept; None where the environment turns that off, or there is no home."""
    given = os.environ.get(VARIABLE, "")
    if given.lower() in _OFF:
        return None
    if os.path.isabs(given):
        return Path(given)
    try:
        return cache_folder() / "compiled"
    except RuntimeError:  # there is no home
        return None


def compiled_store() -> Store | None:
    """
    The store of compiled code; None where it is turned off, or its folder cannot be trusted.

    The folder is made when there is none. Why one is not used is said once, in one line on stderr.
    """
    folder = compiled_folder()
    return None if folder is None else _store(folder)


@lru_cache(maxsize=8)
def _store(folder: Path) -> Store | None:
    problem = _problem(folder)
    if problem is None:
        return Store(folder)
    print(
        f"warning: found the cache folder '{folder}' {problem}, expected one that is yours and that nobody else "
        f"can write to; mend it, or set {VARIABLE} to another folder or to off: nothing is kept",
        file=sys.stderr,
    )
    return None


def _problem(folder: Path) -> str | None:
    """
    Why a folder is not to be used: what is in it is run, so that nobody else may write to it.

    Whoever can write to the folder around it can put another in its place, but not one that belongs to this user.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.stat()
    except OSError as error:
        return f"unusable ({error.strerror})"
    if not hasattr(os, "geteuid"):
        return None
    if found.st_uid != os.geteuid():
        return f"owned by user {found.st_uid}"
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"writable by others (mode {stat.S_IMODE(found.st_mode):o})"
    return None
