"""
The quick way to call compiled code: a Python function written for one signature.

Calls on small arrays are bound by the interpreter, so the loops over arguments are unrolled, as
`collections.namedtuple` and `dataclasses` do for their methods. Whatever is not an ordinary array of the
right shape and dtype is left to the general way, which converts it or says what is wrong with it.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..analysis.call_signature import ArgSpec
from .engine import LARGE_BYTES, new_array

Arena = tuple[int, Any]
"""The address of scratch memory and the object that owns it."""


def quick_call(
    inputs: Sequence[ArgSpec],
    results: Sequence[ArgSpec],
    native: Callable[..., Any],
    arenas: tuple[Callable[[], Arena], Callable[[Arena], None]] | None,
) -> Callable[..., Any] | None:
    """
    A function of an Executable and the inputs, in order, that returns the new results.

    It runs `native` on the addresses of inputs and results, and of an arena taken from and given back to
    `arenas`. None where something is open, by value or empty, or of a dtype that NumPy has from another package.
    """
    if not inputs or any(spec.scalar or not spec.is_static for spec in (*inputs, *results)):
        return None
    if any(0 in spec.shape for spec in (*inputs, *results)):
        return None
    if any(spec.dtype.kind == "V" for spec in (*inputs, *results)):
        return None  # bfloat16: the buffer protocol has no such number
    names: dict[str, Any] = {
        "ndarray": np.ndarray,
        "empty": new_array if _has_large(results) else np.empty,
        "addressof": ctypes.addressof,
        "from_buffer": ctypes.c_char.from_buffer,
        "native": native,
    }
    for i, spec in enumerate(inputs):
        names[f"shape{i}"], names[f"dtype{i}"] = spec.shape, spec.dtype
    for i, spec in enumerate(results):
        names[f"result_shape{i}"], names[f"result_dtype{i}"] = spec.shape, spec.dtype
    if arenas is not None:
        names["take_arena"], names["give_back_arena"] = arenas
    mask = max(spec.dtype.itemsize for spec in inputs) - 1
    source = _source(len(inputs), len(results), mask, arenas is not None)
    exec(compile(source, "<stepwell quick call>", "exec"), names)
    return names["call"]


def _has_large(results: Sequence[ArgSpec]) -> bool:
    return any(
        math.prod(extent or 0 for extent in spec.shape) * spec.dtype.itemsize >= LARGE_BYTES
        for spec in results
    )


def _source(inputs: int, results: int, mask: int, with_arena: bool) -> str:
    """
    The text of the function, for two inputs and one result:

        def call(self, a0, a1):
            if (type(a0) is ndarray and a0.shape == shape0 and a0.dtype == dtype0
                    and type(a1) is ndarray and a1.shape == shape1 and a1.dtype == dtype1):
                try:
                    p0 = addressof(from_buffer(a0))
                    p1 = addressof(from_buffer(a1))
                except (TypeError, ValueError):  # not contiguous, or read-only
                    return self._general(a0, a1)
                if not (p0 | p1) & 3:
                    r0 = empty(result_shape0, result_dtype0)
                    native(p0, p1, addressof(from_buffer(r0)))
                    return r0
            return self._general(a0, a1)

    `from_buffer` is the quickest public way to an array's address.
    """
    args = ", ".join(f"a{i}" for i in range(inputs))
    checks = " and ".join(
        f"type(a{i}) is ndarray and a{i}.shape == shape{i} and a{i}.dtype == dtype{i}"
        for i in range(inputs)
    )
    addresses = [f"            p{i} = addressof(from_buffer(a{i}))" for i in range(inputs)]
    allocations = [
        f"            r{i} = empty(result_shape{i}, result_dtype{i})" for i in range(results)
    ]
    passed = [f"p{i}" for i in range(inputs)]
    passed += [f"addressof(from_buffer(r{i}))" for i in range(results)]
    returned = "r0" if results == 1 else f"({''.join(f'r{i}, ' for i in range(results))})"
    return "\n".join(
        [
            f"def call(self, {args}):",
            f"    if {checks}:",
            "        try:",
            *addresses,
            "        except (TypeError, ValueError):",
            f"            return self._general({args})",
            f"        if not ({' | '.join(f'p{i}' for i in range(inputs))}) & {mask}:",
            *allocations,
            *_native_call(passed, with_arena),
            f"            return {returned}",
            f"    return self._general({args})",
        ]
    )


def _native_call(passed: Sequence[str], with_arena: bool) -> list[str]:
    if not with_arena:
        return [f"            native({', '.join(passed)})"]
    return [
        "            arena = take_arena()",
        "            try:",
        f"                native({', '.join(passed)}, arena[0])",
        "            finally:",
        "                give_back_arena(arena)",
    ]
