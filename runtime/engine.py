"""
The code of a program: as text, as object code, or loaded into this process.
"""

from __future__ import annotations

import ctypes
import math
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING

import numpy as np

from ..background import try_start
from ..cache.folder import compiled_store
from ..cache.store import Store
from ..errors import StepwellError
from ..forks import Rank, held_over_forks
from ..lowering.llvm_text import EXTERNAL_ALIGNMENT, GOMP_PARALLEL, OPENMP_FUNCTIONS, LLVMText
from ..targets import large_memory
from ..targets.pages_ahead import PagesAhead
from .arguments import address_of
from .codegen import CodeGenerator
from .elf_linker import LinkedCode, can_link, link
from .elf_objects import UnsupportedObjectError
from .objects import objects_of
from .process_symbols import process_address
from .result_memory import ResultMemory

if TYPE_CHECKING:
    from ..targets.target import Target

_thread_lock = held_over_forks(threading.Lock(), Rank.THREAD_POOL)


class NativeCode:
    """
    The modules of LLVM IR of a program for one target; safe to share between threads.

    The object code is kept, and taken from `store` where it has it. The optimised IR and the assembly are for people,
    and made when asked for.
    """

    def __init__(
        self,
        source: LLVMText,
        target: str | Target,
        *,
        quick: bool = False,
        store: Store | None = None,
        objects: Mapping[str, bytes] | None = None,
        llvm_cpu_seconds: float = 0.0,
        pages: PagesAhead | None = None,
    ):
        """
        `quick` is as for `CodeGenerator`; `objects` is the code of some of the modules, by their text, and
        `llvm_cpu_seconds` what LLVM took for it. `pages` are for the buffers that are filled at load.
        """
        self.source = source
        self._target = target
        self.quick = quick
        self._generator = CodeGenerator.of(target, quick=quick)
        self._store = store
        self._known = objects
        self._pages = pages
        self.llvm_cpu_seconds = llvm_cpu_seconds
        """Seconds of processors in which LLVM made the object code so far."""
        self._lock = threading.Lock()
        self._objects: list[bytes] | None = None

    @property
    def target(self) -> Target:
        from ..targets.target import Target  # late: programs from the cache run without it

        return Target.of(self._target)

    @property
    def needs_openmp(self) -> bool:
        """Whether the code calls functions of OpenMP: an object file is then to be linked with a library of it."""
        return GOMP_PARALLEL in self.source.imports

    def llvm_ir(self) -> str:
        """The optimised LLVM IR, of one module after the other."""
        return "\n".join(map(self._generator.llvm_ir, self.source.modules))

    def assembly(self) -> str:
        return "\n".join(map(self._generator.assembly, self.source.modules))

    def objects(self) -> list[bytes]:
        """A relocatable object file of each module."""
        with self._lock:
            if self._objects is None:
                start = time.thread_time()
                self._objects = objects_of(
                    self.source.modules, self._generator, self._store, self._known
                )
                self._known = None
                self.llvm_cpu_seconds += time.thread_time() - start
            return self._objects

    def object_code(self) -> bytes:
        """The relocatable object file of a program in one module."""
        (code,) = self.objects()
        return code

    def load(self, exported: Sequence[str]) -> LoadedCode:
        """
        Put the code into this process, once; `exported` are the symbols whose address is wanted.

        Constants of which it keeps copies of its own are let go.
        """
        objects, pages, self._pages = self.objects(), self._pages, None
        loaded = LoadedCode(objects, self.source, exported, pages)
        self.source = loaded.source_of(self.source)
        return loaded


class LoadedCode:
    """
    Machine code in this process, whose load functions have run. It is unloaded when this object is no longer
    referenced.

    Large constants that are read at each call are copied to huge pages: from ordinary ones a matrix that is in no cache comes
    at two thirds of the bandwidth in a virtual machine, whose host looks for each page as well. `addresses` are those of
    the exported symbols.
    """

    def __init__(
        self,
        objects: Sequence[bytes],
        source: LLVMText,
        exported: Sequence[str],
        pages: PagesAhead | None = None,
    ) -> None:
        moved = source.large_constants(large_memory.LARGE_BYTES)
        size = sum(source.buffers.values()) + sum(array.nbytes for array in moved.values())
        regions = (PagesAhead(size) if pages is None else pages).regions(size)
        self._memory = {
            name: array if name in source.until_loaded or name in moved else aligned(array)
            for name, array in source.external.items()
        }
        self._memory |= {name: _copied(array, regions) for name, array in moved.items()}
        self._memory |= {name: regions.empty(size) for name, size in source.buffers.items()}
        imported = {name: array.ctypes.data for name, array in self._memory.items()}
        if GOMP_PARALLEL in source.imports:
            with _thread_lock:
                known = _thread_functions()
            imported |= {name: known[name] for name in OPENMP_FUNCTIONS}
        _check_imports([name for name in source.imports if name not in imported])
        self._code = _linked(objects, imported, (*exported, *source.load))
        self.addresses = self._code.addresses
        for name in source.load:
            ctypes.CFUNCTYPE(None)(self.addresses[name])()
        for name in source.until_loaded:
            del self._memory[name]

    def source_of(self, source: LLVMText) -> LLVMText:
        """The text without the constants that are read no more, the others as they are here."""
        left = source.as_loaded()
        return replace(left, external={name: self._memory[name] for name in left.external})

    def snapshot(self, source: LLVMText) -> LLVMText:
        """
        The text as another process loads it: what load functions have put into buffers is among its constants, so that
        they need not run again.
        """
        unread = {name: np.zeros(1, np.uint8) for name in source.until_loaded}
        return replace(
            source,
            external={**unread, **self._memory},
            buffers={},
            load=(),
            until_loaded=frozenset[str](),
        )


def _check_imports(names: Sequence[str]) -> None:
    """Raises StepwellError for a function that this process does not have."""
    for name in names:
        if process_address(name) is None:
            raise StepwellError(
                f"found no definition of '{name}' in this process, expected a function of the C library "
                "or of a loaded library; define it, or load its library with ctypes.RTLD_GLOBAL"
            )


def _linked(
    objects: Sequence[bytes], imported: Mapping[str, int], exported: Sequence[str]
) -> LinkedCode:
    """Object code in memory, with what it only declares from `imported` or from the process."""
    if can_link():
        with suppress(UnsupportedObjectError):
            return link(objects, imported, exported)
    from . import llvm_linker  # late: programs from the cache run without LLVM

    return llvm_linker.link(objects, imported, exported)


@lru_cache(maxsize=1)
def _thread_functions() -> Mapping[str, int]:
    """The addresses that code calls for OpenMP's functions. Called under the lock."""
    from .thread_pool import RESET  # late: most programs run on one thread
    from .threads import thread_code

    code = thread_code()
    addresses = link_for_good(code.text, code.imported, code.exported)
    if code.is_pool:
        reset = ctypes.CFUNCTYPE(None, ctypes.c_int32)(addresses[RESET])
        reset(1)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=lambda: reset(0))
    return addresses


def load_thread_functions_ahead() -> None:
    """
    Let a thread load what compiled code calls for OpenMP's functions, which LLVM compiles without the interpreter unless it is kept: a
    program that will call them is not compiled yet.
    """

    def load() -> None:
        with suppress(Exception), _thread_lock:  # who needs them says what is wrong
            _thread_functions()

    try_start(threading.Thread(target=load))


def link_for_good(
    text: str, symbols: Mapping[str, int], exported: Sequence[str], *, quick: bool = False
) -> Mapping[str, int]:
    """
    Put LLVM IR of our own into this process, where it stays: the addresses of what it exports.

    `symbols` are those of what it declares, and `quick` is as for `CodeGenerator`. Its object code is kept for the next
    process.
    """
    objects = objects_of([text], CodeGenerator.of("host", quick=quick), compiled_store())
    code = _linked(objects, symbols, exported)
    # A reference that nobody gives back: at its end the interpreter lets go what modules hold, and threads of the pool still wait there.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(code))
    return code.addresses


def aligned(array: np.ndarray) -> np.ndarray:
    """The array itself when it is contiguous and aligned to a cache line, a copy that is otherwise."""
    if array.flags.c_contiguous and array.ctypes.data % EXTERNAL_ALIGNMENT == 0:
        return array
    copy = aligned_empty(array.nbytes).view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def _copied(array: np.ndarray, regions: large_memory.Regions) -> np.ndarray:
    copy = regions.empty(array.nbytes).view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def aligned_empty(size: int) -> np.ndarray:
    """`size` bytes of memory aligned to a cache line, as uint8."""
    raw = np.empty(size + EXTERNAL_ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % EXTERNAL_ALIGNMENT
    return raw[start : start + size]


def scratch_memory(size: int) -> np.ndarray:
    """`size` bytes aligned to a cache line for buffers that calls use again and again: large ones are on huge pages."""
    return (
        large_memory.empty_region(size) if size >= large_memory.HUGE_PAGE else aligned_empty(size)
    )


_RESULTS = ResultMemory()

LARGE_BYTES = 1 << 15
"""Arrays from here on are worth a microsecond for their alignment: stores across cache lines cost twice."""


ALIASED_BYTES = 1 << 12
"""
Cores compare this much of the addresses of loads and of stores before they know more, and a way of L1 is as large.
(Intel 64 and IA-32 Architectures Optimization Reference Manual, "4-KByte Memory Aliasing".)
"""

APART_LINES = 25
"""Cache lines between where results begin: multiples of them spread over `ALIASED_BYTES` as evenly as those of the golden ratio."""


def new_array(
    shape: Sequence[int], dtype: np.dtype, beside: tuple[int, int] = (0, 1)
) -> np.ndarray:
    """As `np.empty`, and where it is large aligned to a cache line, in memory of results that are gone."""
    return array_maker(shape, dtype, beside)()


def array_maker(
    shape: Sequence[int], dtype: np.dtype, beside: tuple[int, int] = (0, 1)
) -> Callable[[], np.ndarray]:
    """
    What makes such an array, again and again. `beside` is its number among the results of a call, and how many these are:
    large ones that are written side by side begin at different places of their pages.
    """
    size = math.prod(shape) * dtype.itemsize
    if size < LARGE_BYTES:
        return partial(np.empty, shape, dtype)
    number, count = beside
    unit = EXTERNAL_ALIGNMENT if count == 1 else ALIASED_BYTES
    place = number * APART_LINES * EXTERNAL_ALIGNMENT % unit
    needed, take, array = size + unit, _RESULTS.take, np.ndarray

    def make() -> np.ndarray:
        raw = take(needed)
        return array(shape, dtype, raw, (place - address_of(raw)) % unit)

    return make
