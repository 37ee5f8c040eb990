"""Object code put into this process by LLVM's own linker, for whatever elf_linker.py is not made for."""

# llvmlite has no types.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import itertools
import threading
from collections.abc import Mapping, Sequence
from functools import lru_cache

from llvmlite import binding

from ..errors import StepwellError
from ..forks import Rank, held_over_forks
from ..targets.target import Target
from .elf_linker import LinkedCode
from .process_symbols import process

_lock = held_over_forks(threading.RLock(), Rank.LINKER)
_library_numbers = itertools.count()


def link(
    objects: Sequence[bytes], imported: Mapping[str, int], exported: Sequence[str]
) -> LinkedCode:
    """As elf_linker.py has it. Raises StepwellError for a symbol that nobody defines."""
    library = binding.JITLibraryBuilder()
    for code in objects:
        library.add_object_img(code)
    for name, address in imported.items():
        library.import_symbol(name, address)
    for name in exported:
        library.export_symbol(name)
    library.add_current_process()
    with _lock:
        try:
            tracker = library.link(_jit(), f"stepwell.{next(_library_numbers)}")
        except RuntimeError as error:
            raise StepwellError(
                f"cannot load the code ({' '.join(str(error).split())}), expected every symbol in it to "
                "be defined; define or remove the ones that this process does not have"
            ) from None
    return LinkedCode({name: tracker[name] for name in exported}, tracker)


@lru_cache(maxsize=1)
def _jit() -> binding.LLJIT:
    """The one JIT of the process; what is linked together is a library of its own in it."""
    process()  # with the mathematics library
    return binding.create_lljit_compiler(Target.host().machine(), suppress_errors=True)
