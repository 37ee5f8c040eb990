"""A module of LLVM IR as text, with what it must be linked with. Loaded where nothing of xDSL is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING

from ..frozen import frozen

if TYPE_CHECKING:
    import numpy as np


EXTERNAL_ALIGNMENT = 64
"""Bytes; of the arrays that external constants are bound to, which runtime/engine.py sees to."""

GOMP_PARALLEL = "GOMP_parallel"
MAX_THREADS = "omp_get_max_threads"
THREAD_NUMBER = "omp_get_thread_num"
OPENMP_FUNCTIONS = (GOMP_PARALLEL, MAX_THREADS, THREAD_NUMBER)
"""All that code calls of an OpenMP library; runtime/thread_pool.py has them for this process."""


@frozen
class LLVMText:
    """
    A module of LLVM IR, what its external symbols must be bound to, and the functions it calls but does not define.

    `kernels` are modules of their own that it is linked with, by the function that each defines: equal names mean
    equal text.
    """

    text: str
    external: Mapping[str, np.ndarray] = field(default_factory=dict[str, "np.ndarray"])
    """constants"""
    imports: tuple[str, ...] = ()
    kernels: Mapping[str, str] = field(default_factory=dict[str, str])
    buffers: Mapping[str, int] = field(default_factory=dict[str, int])
    """memory that the code fills, and its bytes"""
    load: tuple[str, ...] = ()
    """functions to run once, before any other; in code with its constants in it the system's loader runs them"""
    until_loaded: frozenset[str] = frozenset()
    """the external constants that only these read"""
    lent: frozenset[str] = frozenset()
    """those among them whose memory is somebody else's: see `Loan`"""

    def as_loaded(self) -> LLVMText:
        """The same without the constants that are read no more."""
        kept = {name: a for name, a in self.external.items() if name not in self.until_loaded}
        return replace(self, external=kept, lent=frozenset[str]())

    def large_constants(self, least: int) -> Mapping[str, np.ndarray]:
        """The constants of so many bytes or more that are read after the load functions, too."""
        return {
            name: array
            for name, array in self.external.items()
            if name not in self.until_loaded and array.nbytes >= least
        }

    @property
    def modules(self) -> list[str]:
        """The text of every module, that of the program first."""
        return [self.text, *self.kernels.values()]


VECTOR = re.compile(r"<\d+ x ")
"""A vector type."""

SCALAR_LOOPS = "; a loop without others inside is on scalars"
"""A comment in a module: LLVM may find vectors there."""


def needs_few_passes(text: str) -> bool:
    """Whether LLVM need not look for vectors in a module: every loop works on some already, or there is no branch."""
    return SCALAR_LOOPS not in text and (
        VECTOR.search(text) is not None or not _BRANCH.search(text)
    )


_BRANCH = re.compile(r"\b(br|switch) ")
