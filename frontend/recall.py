"""Programs of functions that earlier processes compiled, found without tracing the function."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from threading import Event
from typing import Any, cast

import numpy as np

from ..background import BackgroundThread
from ..cache.folder import compiled_store
from ..cache.store import Store, key_of
from ..cache.version import compiler_version
from ..driver.options import Options
from ..runtime.program_record import ProgramPlace, wait_until_kept
from ..targets.host_profile import profile_of
from .calls import Call, is_numpys
from .dependencies import Dependencies, dependencies
from .structure import Structure, as_said, of_said

_NESTING = "nesting"
"""The kind of entries that say how the results of programs are nested."""

_STRUCTURES = "functions"
"""The kind of empty entries, one for what functions have in common that differ in the contents of arrays at most."""

_HASHING = BackgroundThread()
_HASHING.ends_before_forks()

_PLAIN = (bool, int, float, complex, str, type(None))


class FunctionPlace(ProgramPlace):
    """Where the program of a function is kept, which depends on what was `found`, and on what is said `about` the call."""

    def __init__(self, store: Store, found: Dependencies, about: str) -> None:
        self.store = store
        self._found = found
        self._about = about
        self._structure = key_of(found.structure, about)
        self._hashed: Event | None = None

    @property
    def key(self) -> str:
        self._wait()
        return key_of(self._found.digest, self._about)

    @property
    def captured(self) -> Mapping[str, np.ndarray]:
        self._wait()
        return self._found.captured

    def _wait(self) -> None:
        if self._hashed is not None:
            self._hashed.wait()

    def nesting(self) -> Structure | None:
        """
        How the results of the program that is kept there are nested; None where there is none.

        Where no function is known that differs in the contents of arrays at most, a thread hashes these from now on.
        """
        wait_until_kept()
        if self.store.read(_STRUCTURES, self._structure) is None:
            self._hashed = _HASHING.do(lambda: self._found.captured)
            return None
        data = self.store.read(_NESTING, self.key)
        return None if data is None else of_said(json.loads(data))

    def keep_nesting(self, said: Any) -> None:
        """Keep how the results of a program are nested, as `as_said` has it."""
        self.store.write(_NESTING, self.key, json.dumps(said).encode())
        self.store.write(_STRUCTURES, self._structure, b"")


def place_of(
    function: Callable[..., Any], call: Call, options: Options, threads: int | None
) -> FunctionPlace | None:
    """
    Where the program of a function for these arguments is kept: one that takes the arrays among them.

    None where nothing is kept, or it is not known what tracing the function depends on: its code, or that of the
    classes of its arguments.
    """
    store = compiled_store() if options.cache else None
    nesting = {name: as_said(structure) for name, structure in call.structures.items()}
    leaves = [*map(_said, call.leaves)]
    if store is None or None in nesting.values() or None in leaves:
        return None
    found = dependencies(function)
    if found is None:
        return None
    numerics = (options.fp, repr(options.winograd))
    about = (*numerics, options.opt, profile_of(options.target), repr(threads))
    key = key_of(compiler_version(), *about, json.dumps(nesting), *map(str, leaves))
    return FunctionPlace(store, found, key)


def _said(leaf: Any) -> str | None:
    """An argument in as many words as tell it from any other; None for one that may be another in another process."""
    if is_numpys(leaf):
        return f"{leaf.dtype.name} {leaf.shape}"
    if type(leaf) in _PLAIN:
        return f"{type(leaf).__name__} {leaf.hex() if isinstance(leaf, float) else repr(leaf)}"
    if leaf is Ellipsis or isinstance(leaf, np.dtype):
        return repr(cast("object", leaf))
    return None
