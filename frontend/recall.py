"""Programs of functions that earlier processes compiled, found without tracing the function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from numpy import ndarray

from ..cache.folder import compiled_store
from ..cache.store import Store, key_of
from ..cache.version import compiler_version
from ..driver.options import Options
from ..runtime.executable import Executable
from ..runtime.program_record import keep_program, kept_program
from .dependencies import Dependencies, dependencies


@dataclass(frozen=True)
class Recall:
    """Where the program of a call is kept, or will be."""

    store: Store
    key: str
    dependencies: Dependencies
    options: Options

    def program(self) -> Executable | None:
        """The program, which takes the arrays among the arguments; None where none is kept."""
        return kept_program(
            self.store,
            self.key,
            self.dependencies.arrays,
            self.options.machine,
            quick=self.options.is_quick,
        )

    def keep(self, run: Callable[..., Any]) -> None:
        """Keep what was compiled for the call, unless it returns its results in containers of its own."""
        if isinstance(run, Executable):
            keep_program(self.store, self.key, run, self.dependencies.arrays)


def recall_for(
    function: Callable[..., Any], args: Sequence[Any], options: Options, threads: int | None
) -> Recall | None:
    """Where the program for these arguments is kept; None where it is not known what tracing depends on."""
    store = compiled_store() if options.cache else None
    if store is None:
        return None
    passed = [arg for arg in args if type(arg) is not ndarray]
    found = None
    if all(type(arg) in (bool, int, float, str, type(None)) for arg in passed):
        found = dependencies(function)
    if found is None:
        return None
    said = [_said(arg) for arg in args]
    about = (options.fp, options.opt, options.machine.profile(), repr(threads))
    return Recall(store, key_of(compiler_version(), found.digest, *about, *said), found, options)


def _said(arg: Any) -> str:
    if type(arg) is ndarray:
        return f"{arg.dtype.name} {arg.shape}"
    return f"{type(arg).__name__} {arg.hex() if isinstance(arg, float) else repr(arg)}"
