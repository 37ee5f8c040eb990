"""
How long the bytes of a resource are kept: as long as an attribute refers to them.

xDSL keeps the bytes of all resources, as text, in one table for the whole process, out of which it takes nothing. So
every attribute that is made here or by our parser has the one `StringAttr` that is the resource's handle, and when that
is gone, so is the resource. It is cyclic garbage, as IR is: the collector has to come by.
"""

from __future__ import annotations

import weakref
from functools import partial
from typing import Any

from xdsl.dialect_interfaces.op_asm import OpAsmDialectInterface
from xdsl.dialects.builtin import Builtin, StringAttr

_handles: dict[str, weakref.ref[StringAttr]] = {}
"""Resource name -> its handle."""

_decoded: dict[str, tuple[str, Any]] = {}
"""Resource name -> (the text of its bytes, the array with them)."""


def storage() -> OpAsmDialectInterface:
    """xDSL's table."""
    interface = Builtin.get_interface(OpAsmDialectInterface)
    assert interface is not None
    return interface


def handle_of(name: str) -> StringAttr:
    """
    The handle of a resource, which is declared where it was not. As long as it is referenced, the bytes are kept.

    Resources that others have put into xDSL's table have attributes of their own and stay.
    """
    table, known = storage(), _handles.get(name)
    handle = known() if known is not None else None
    if handle is not None:
        return handle
    handle = StringAttr(name)
    if known is None and table.lookup(name):
        return handle
    _handles[name] = weakref.ref(handle, partial(_forget, name))
    if table.lookup(name) is None:
        table.declare_resource(name)
    return handle


def _forget(name: str, handle: weakref.ref[StringAttr]) -> None:
    """Let go of a resource whose handle is gone, unless it has got another one."""
    if _handles.get(name) is not handle:
        return
    del _handles[name]
    _decoded.pop(name, None)
    # xDSL 0.74 offers no way to take a resource out.
    storage()._blob_storage.pop(name, None)  # pyright: ignore[reportPrivateUsage]


def forget(name: str) -> None:
    """Let go of the bytes of a resource, though attributes may refer to it."""
    handle = _handles.get(name)
    if handle is not None:
        _forget(name, handle)


def decoded(name: str, blob: str) -> Any:
    """The array that was remembered of this very text, else None."""
    known = _decoded.get(name)
    return known[1] if known is not None and known[0] is blob else None


def remember(name: str, blob: str, array: Any) -> None:
    """Decoding takes long: keep the array with the bytes of a resource, as long as that is kept."""
    if name in _handles:
        _decoded[name] = (blob, array)
