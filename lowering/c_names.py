"""Functions of the C library that code generation may call, which a module cannot define as its own."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet

from xdsl.dialects import llvm

from ..errors import StepwellError

_C_NAMES = {"minnum": "fmin", "maxnum": "fmax", "sin": "sincos", "cos": "sincos"}
"""What code generation may call for an intrinsic besides the C function called as the intrinsic is."""
_C_NAMES_FOR_LOOPS = ("memcpy", "memmove", "memset")


def check_names(
    functions: Iterable[llvm.FuncOp], intrinsics: Iterable[str], generated: AbstractSet[str]
) -> None:
    """
    Refuse a function that code generation would call in place of the C library's.

    `generated` are those that instructions become calls of; `intrinsics`, by their full names, tell the others.

    Raises StepwellError, naming the function.
    """
    called = {name.split(".")[1] for name in intrinsics if name.startswith("llvm.")}
    called |= {_C_NAMES[name] for name in called if name in _C_NAMES} | generated
    called |= {f"{name}f" for name in called} | {*_C_NAMES_FOR_LOOPS}
    for op in functions:
        if op.body.blocks and op.sym_name.data in called:
            raise StepwellError(
                f"found a function called '{op.sym_name.data}', expected another name: the module may call the "
                "C function of that name; rename it",
                op=op,
            )
