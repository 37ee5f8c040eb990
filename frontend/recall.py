"""Programs of functions that earlier processes compiled, found without tracing the function."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from ..cache.folder import compiled_store
from ..cache.store import key_of
from ..cache.version import compiler_version
from ..driver.options import Options
from ..runtime.program_record import ProgramPlace
from ..targets.host_profile import profile_of
from .calls import Call, is_numpys
from .dependencies import dependencies
from .structure import Structure, as_said, of_said

_NESTING = "nesting"
"""The kind of entries that say how the results of programs are nested."""

_PLAIN = (bool, int, float, complex, str, type(None))


def place_of(
    function: Callable[..., Any], call: Call, options: Options, threads: int | None
) -> ProgramPlace | None:
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
    key = key_of(compiler_version(), found.digest, *about, json.dumps(nesting), *map(str, leaves))
    return ProgramPlace(store, key, found.arrays)


def keep_nesting(place: ProgramPlace, results: Structure) -> bool:
    """Keep how the results of a program are nested; whether that can be said."""
    said = as_said(results)
    if said is not None:
        place.store.write(_NESTING, place.key, json.dumps(said).encode())
    return said is not None


def nesting_of(place: ProgramPlace) -> Structure | None:
    """How the results of the program that is kept there are nested; None where there is none."""
    data = place.store.read(_NESTING, place.key)
    return None if data is None else of_said(json.loads(data))


def _said(leaf: Any) -> str | None:
    """An argument in as many words as tell it from any other; None for one that may be another in another process."""
    if is_numpys(leaf):
        return f"{leaf.dtype.name} {leaf.shape}"
    if type(leaf) in _PLAIN:
        return f"{type(leaf).__name__} {leaf.hex() if isinstance(leaf, float) else repr(leaf)}"
    if leaf is Ellipsis or isinstance(leaf, np.dtype):
        return repr(cast("object", leaf))
    return None
