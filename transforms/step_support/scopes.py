"""How much memory there is where scratch buffers may live."""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import MemRefType

from ...dialects.dtypes import bit_width
from ...dialects.loop import Scope
from ...dialects.schedule import Step
from .refusal import refuse

LIMITS = {Scope.REGISTER: 32 * 64, Scope.STACK: 256 * 1024}
"""
Bytes of one buffer, at most. No instruction set we know has more vector registers than AVX-512's 32 of 64 bytes
(Intel 64 and IA-32 Architectures Software Developer's Manual, volume 1, 15.1). A thread's stack is 8 MiB by
default on Linux and as little as 512 KiB on macOS, for everything on it.
"""


def scope_of(step: Step, word: str) -> Scope:
    """The scope that a step names. Raises the refusal of a word that is none."""
    try:
        return Scope(word)
    except ValueError:
        words = ", ".join(scope.value for scope in Scope)
        raise refuse(step, f"scope is '{word}', expected one of {words}") from None


def check_room(step: Step, name: str, type_: MemRefType, scope: Scope) -> None:
    """Raise the refusal of `step` when a buffer of this type is known to be too large for `scope`."""
    limit = LIMITS.get(scope)
    if limit is None or not type_.has_static_shape():
        return
    size = prod(type_.get_shape()) * max(bit_width(type_.get_element_type()), 8) // 8
    if size > limit:
        larger = [other.value for other in Scope if LIMITS.get(other, size) >= size]
        raise refuse(
            step,
            f"'%{name}' has {size} bytes, expected at most {limit} for '{scope.value}'",
            remedy=f"stage a smaller region, or choose scope {_any_of(larger)}",
        )


def _any_of(scopes: list[str]) -> str:
    *first, last = (f"'{scope}'" for scope in scopes)
    return f"{', '.join(first)} or {last}" if first else last
