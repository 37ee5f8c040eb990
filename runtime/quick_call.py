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
from .engine import array_maker

Arena = tuple[int, Any]
"""The address of scratch memory and the object that owns it."""


def quick_call(
    inputs: Sequence[ArgSpec],
    results: Sequence[ArgSpec],
    native: Callable[..., Any],
    arenas: tuple[Callable[[], Arena], Callable[[Arena], None]] | None,
    *,
    into: bool = False,
) -> Callable[..., Any] | None:
    """
    A function of an Executable and the inputs, in order, that returns the new results; or one that takes, before the
    inputs, what the results are to be written `into`. Without results the inputs are read and written in place, and
    what `native` returns is returned.

    It runs `native` on the addresses of inputs and results, and of an arena taken from and given back to
    `arenas`. None where something is open, by value or empty.
    """
    specs = (*inputs, *results)
    if not inputs or any(spec.scalar or not spec.is_static for spec in specs):
        return None
    if any(0 in spec.shape for spec in specs):
        return None
    names: dict[str, Any] = {
        "ndarray": np.ndarray,
        "addressof": ctypes.addressof,
        "from_buffer": _from_bits if any(map(_is_foreign, specs)) else ctypes.c_char.from_buffer,
        "native": native,
    }
    for letter, own in (("a", inputs), ("r", results)):
        for i, spec in enumerate(own):
            names[f"shape_{letter}{i}"], names[f"dtype_{letter}{i}"] = spec.shape, spec.dtype
    for i, spec in enumerate(results):
        shape = tuple(extent or 0 for extent in spec.shape)
        names[f"make_r{i}"] = array_maker(shape, spec.dtype, (i, len(results)))
    if arenas is not None:
        names["take_arena"], names["give_back_arena"] = arenas
    write = _source_into if into else _source
    source = write(inputs, results, arenas is not None)
    exec(compile(source, "<stepwell quick call>", "exec"), names)
    return names["call"]


def _is_foreign(spec: ArgSpec) -> bool:
    """Whether the dtype is one that buffers do not have: bfloat16."""
    return spec.dtype.kind == "V"


def _from_bits(array: np.ndarray) -> Any:
    """`from_buffer` of an array, some of which are of such a dtype."""
    bits: Any = array.view(np.uint16) if array.dtype.kind == "V" else array
    return ctypes.c_char.from_buffer(bits)


def _bytes(spec: ArgSpec) -> int:
    return math.prod(extent or 0 for extent in spec.shape) * spec.dtype.itemsize


def _source(inputs: Sequence[ArgSpec], results: Sequence[ArgSpec], with_arena: bool) -> str:
    """
    The text of the function that makes new results, if there are any, for two inputs and one result:

        def call(self, a0, a1):
            if (type(a0) is ndarray and a0.shape == shape_a0 and a0.dtype == dtype_a0
                    and type(a1) is ndarray and a1.shape == shape_a1 and a1.dtype == dtype_a1):
                try:
                    p0 = addressof(from_buffer(a0))
                    p1 = addressof(from_buffer(a1))
                except (TypeError, ValueError):  # not contiguous, or read-only
                    return self._general(a0, a1)
                if not (p0 | p1) & 3:
                    r0 = make_r0()
                    native(p0, p1, addressof(from_buffer(r0)))
                    return r0
            return self._general(a0, a1)

    `from_buffer` is the quickest public way to an array's address.
    """
    args = [f"a{i}" for i in range(len(inputs))]
    made = [f"r{i}" for i in range(len(results))]
    pointers = [f"p{i}" for i in range(len(inputs))]
    general = f"self._general({', '.join(args)})"
    return "\n".join(
        [
            f"def call(self, {', '.join(args)}):",
            f"    if {_are_as_expected(args)}:",
            *_addresses(pointers, args, general),
            f"        if not ({' | '.join(pointers)}) & {_mask(inputs)}:",
            *(f"            {name} = make_{name}()" for name in made),
            *_native_call(
                [*pointers, *(f"addressof(from_buffer({name}))" for name in made)],
                with_arena,
                keeps="" if made else "returned = ",
            ),
            f"            return {', '.join(made) or 'returned'}",
            f"    return {general}",
        ]
    )


def _source_into(inputs: Sequence[ArgSpec], results: Sequence[ArgSpec], with_arena: bool) -> str:
    """
    The text of the function that writes to arrays it is given, for one input and one result of 32 bytes each:

        def call(self, out, a0):
            r0 = out
            if (type(a0) is ndarray and a0.shape == shape_a0 and a0.dtype == dtype_a0
                    and type(r0) is ndarray and r0.shape == shape_r0 and r0.dtype == dtype_r0):
                try:
                    p0 = addressof(from_buffer(a0))
                    q0 = addressof(from_buffer(r0))
                except (TypeError, ValueError):
                    return self._general(a0, out=out)
                if not (p0 | q0) & 3 and (p0 + 32 <= q0 or q0 + 32 <= p0):
                    native(p0, q0)
                    return r0
            return self._general(a0, out=out)

    Of several results, `out` is a tuple.
    """
    args = [f"a{i}" for i in range(len(inputs))]
    given = [f"r{i}" for i in range(len(results))]
    pointers = [f"p{i}" for i in range(len(inputs))] + [f"q{i}" for i in range(len(results))]
    sizes = [_bytes(spec) for spec in (*inputs, *results)]
    apart = [
        f"({one} + {sizes[i]} <= {other} or {other} + {sizes[j]} <= {one})"
        for j, other in enumerate(pointers[len(inputs) :], len(inputs))
        for i, one in enumerate(pointers[:j])
    ]
    general = f"self._general({', '.join(args)}, out=out)"
    unpacked = (
        ["    r0 = out"]
        if len(given) == 1
        else [
            f"    if type(out) is not tuple or len(out) != {len(given)}:",
            f"        return {general}",
            f"    {', '.join(given)} = out",
        ]
    )
    aligned = f"not ({' | '.join(pointers)}) & {_mask((*inputs, *results))}"
    return "\n".join(
        [
            f"def call(self, out, {', '.join(args)}):",
            *unpacked,
            f"    if {_are_as_expected([*args, *given])}:",
            *_addresses(pointers, [*args, *given], general),
            f"        if {' and '.join([aligned, *apart])}:",
            *_native_call(pointers, with_arena),
            f"            return {'r0' if len(given) == 1 else 'out'}",
            f"    return {general}",
        ]
    )


def _are_as_expected(arrays: Sequence[str]) -> str:
    return " and ".join(
        f"type({a}) is ndarray and {a}.shape == shape_{a} and {a}.dtype == dtype_{a}"
        for a in arrays
    )


def _addresses(pointers: Sequence[str], arrays: Sequence[str], general: str) -> list[str]:
    pairs = zip(pointers, arrays, strict=True)
    return [
        "        try:",
        *(f"            {pointer} = addressof(from_buffer({array}))" for pointer, array in pairs),
        "        except (TypeError, ValueError):",
        f"            return {general}",
    ]


def _mask(specs: Sequence[ArgSpec]) -> int:
    """The bits that are 0 in the addresses of aligned arrays."""
    return max(spec.dtype.itemsize for spec in specs) - 1


def _native_call(passed: Sequence[str], with_arena: bool, *, keeps: str = "") -> list[str]:
    """The lines of the call. `keeps` is what stands before it: an assignment, where its value is wanted."""
    if not with_arena:
        return [f"            {keeps}native({', '.join(passed)})"]
    return [
        "            arena = take_arena()",
        "            try:",
        f"                {keeps}native({', '.join(passed)}, arena[0])",
        "            finally:",
        "                give_back_arena(arena)",
    ]
