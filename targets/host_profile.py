"""The profile of the machine that this process runs on, kept from one process to the next: `Target` takes long to load."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ..cache.folder import compiled_store, measurements_folder
from ..cache.store import key_of
from ..cache.version import compiler_version
from .cpuid import cpuid_digest
from .machine import system_text

if TYPE_CHECKING:
    from .target import Target

_KIND = "profiles"


def profile_of(target: str | Target) -> str:
    """
    The profile of a target, or of the one that has this name. Raises StepwellError where none has.

    That of the host follows from the processor, from what the system tells of it, and from what was measured.
    """
    digest, store = cpuid_digest(), compiled_store()
    if target != "host" or digest is None or store is None:
        return _profile(target)
    key = key_of(compiler_version(), digest, system_text(), _measured())
    kept = store.read(_KIND, key)
    if kept is not None:
        return kept.decode()
    profile = _profile(target)
    store.write(_KIND, key, profile.encode())
    return profile


def _profile(target: str | Target) -> str:
    from .target import Target  # late: it is what takes long to load

    return Target.of(target).profile()


def _measured() -> str:
    """Which files of measurements there are, and when they were written."""
    try:
        with os.scandir(measurements_folder()) as found:
            files = sorted(found, key=lambda file: file.name)
        return repr([(file.name, file.stat().st_mtime_ns, file.stat().st_size) for file in files])
    except OSError:
        return ""
