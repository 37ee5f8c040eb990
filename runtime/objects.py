"""Object code of modules of LLVM IR: from the store of what was compiled before, or by LLVM."""

from __future__ import annotations

from collections.abc import Sequence

from ..cache.store import Store, key_of
from ..cache.version import compiler_version
from .codegen import CodeGenerator
from .side_by_side import compile_modules

KIND = "objects"


def objects_of(
    modules: Sequence[str], generator: CodeGenerator, store: Store | None = None
) -> list[bytes]:
    """
    A relocatable object file of each module, in order. Equal modules are compiled once.

    What is not in the store is put there. Raises StepwellError for text that LLVM refuses.
    """
    keys = {text: object_key(text, generator) for text in modules}
    found = {text: store.read(KIND, key) if store else None for text, key in keys.items()}
    objects = {text: code for text, code in found.items() if code is not None}

    def keep(text: str, code: bytes) -> None:
        objects[text] = code
        if store is not None:
            store.write(KIND, keys[text], code)

    compile_modules([text for text in keys if text not in objects], generator, keep)
    return [objects[text] for text in modules]


def object_key(text: str, generator: CodeGenerator) -> str:
    """
    What object code is found by: all that LLVM is given, and which LLVM it is.

    The text has all of a kernel's identity in it: what it computes in which order, the types, alignment and aliasing
    of its buffers, and the numerical contract, as flags of its operations.
    """
    said = (generator.triple, generator.cpu, generator.features, str(generator.quick))
    return key_of(compiler_version(), *said, text)
