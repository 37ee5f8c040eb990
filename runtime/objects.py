"""Object code of modules of LLVM IR: from the store of what was compiled before, or by LLVM."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..cache.store import Store, key_of
from ..cache.version import compiler_version
from .codegen import CodeGenerator

KIND = "objects"

START_BYTES = 1 << 16
"""
Text that LLVM compiles in about the time that a process takes to start, about 0.2 s: both are work of one core.
There is a process for each so many bytes at most.
"""


def objects_of(
    modules: Sequence[str],
    generator: CodeGenerator,
    store: Store | None = None,
    known: Mapping[str, bytes] | None = None,
) -> list[bytes]:
    """
    A relocatable object file of each module, in order. Equal modules are compiled once.

    `known` has those of some texts. What is not in the store either is compiled, the largest first, and put there.
    Raises StepwellError for text that LLVM refuses.
    """
    objects = {text: known[text] for text in modules if text in known} if known else {}
    keys = {text: object_key(text, generator) for text in modules if text not in objects}
    for text, key in keys.items():
        code = store.read(KIND, key) if store else None
        if code is not None:
            objects[text] = code
    if len(objects) < len({*modules}):
        _compile_missing(
            [text for text in keys if text not in objects], keys, generator, store, objects
        )
    return [objects[text] for text in modules]


def _compile_missing(
    texts: Sequence[str],
    keys: Mapping[str, str],
    generator: CodeGenerator,
    store: Store | None,
    objects: dict[str, bytes],
) -> None:
    """Put the object code of these texts into `objects`, and into the store under their keys."""
    # Late: it loads what starts processes, and what is in the store needs none.
    from .side_by_side import process_count, progress, workers

    missing = sorted(texts, key=len, reverse=True)
    worth = min(len(missing) - 1, sum(map(len, missing)) // START_BYTES)
    with progress("compiling kernels", min(worth, 1) * len(missing)) as advance:

        def keep(text: str, code: bytes) -> None:
            objects[text] = code
            if store is not None:
                store.write(KIND, keys[text], code)
            advance()

        with workers(process_count(worth), generator.__module__) as processes:
            processes.run(generator.object_code, missing, keep)


def object_key(text: str, generator: CodeGenerator) -> str:
    """
    What object code is found by: all that LLVM is given, and which LLVM it is.

    The text has all of a kernel's identity in it: what it computes in which order, the types, alignment and aliasing
    of its buffers, and the numerical contract, as flags of its operations.
    """
    said = (generator.triple, generator.cpu, generator.features, str(generator.quick))
    return key_of(compiler_version(), *said, text)
