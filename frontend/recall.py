"""Programs of functions that earlier processes compiled, found without tracing the function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numpy import ndarray

from ..cache.folder import compiled_store
from ..cache.store import key_of
from ..cache.version import compiler_version
from ..driver.options import Options
from ..runtime.program_record import ProgramPlace
from .dependencies import dependencies


def place_of(
    function: Callable[..., Any], args: Sequence[Any], options: Options, threads: int | None
) -> ProgramPlace | None:
    """
    Where the program of a function for these arguments, arrays and plain values, is kept: one that takes the arrays.

    None where nothing is kept, or it is not known what tracing the function depends on.
    """
    store = compiled_store() if options.cache else None
    found = None if store is None else dependencies(function)
    if store is None or found is None:
        return None
    about = (options.fp, options.opt, options.machine.profile(), repr(threads))
    key = key_of(compiler_version(), found.digest, *about, *map(_said, args))
    return ProgramPlace(store, key, found.arrays)


def _said(arg: Any) -> str:
    if type(arg) is ndarray:
        return f"{arg.dtype.name} {arg.shape}"
    return f"{type(arg).__name__} {arg.hex() if isinstance(arg, float) else repr(arg)}"
