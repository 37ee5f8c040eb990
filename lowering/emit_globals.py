"""Globals at level 5 as lines of LLVM IR."""

from __future__ import annotations

from typing import cast

import numpy as np
from xdsl.dialects import llvm
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, DenseResourceAttr, StringAttr
from xdsl.ir import Attribute, Operation

from ..dialects.resources import ElementsAttr, elements_to_numpy
from .core_to_llvm.types import element_bytes
from .emit_function import ModuleParts
from .emit_values import escaped, number_text, type_of, untranslatable


def global_line(
    op: llvm.GlobalOp,
    parts: ModuleParts,
    large: np.ndarray | None,
    *,
    is_bound: bool,
    alignment: int | None,
) -> str:
    """
    The definition of a global, or its declaration where its data is bound to it when the code is loaded.

    `large` are elements that are written as raw bytes, and `alignment` is in bytes.
    """
    type_, value = (type_of(op, op.global_type), None) if is_bound else _initializer(op, large)
    linkage = "external" if value is None else op.linkage.linkage.data
    words = [
        parts.symbol(op.sym_name.data),
        "=",
        *([linkage] if value is None or linkage != "external" else []),
        "constant" if op.constant is not None else "global",
        type_,
        *([value] if value is not None else []),
    ]
    return " ".join(words) + (f", align {alignment}" if alignment is not None else "")


def bytes_without_contents(op: llvm.GlobalOp) -> int:
    """How large a global of the module's own is that nothing is said of; 0 of any other."""
    type_ = op.global_type
    is_own = op.linkage.linkage.data in ("internal", "private")
    if op.value is not None or op.constant is not None or not is_own:
        return 0
    if not isinstance(type_, llvm.LLVMArrayType):
        return 0
    return type_.size.data * element_bytes(type_.type)


def elements(op: llvm.GlobalOp) -> np.ndarray | None:
    """The data of a global, or None when it is no array of elements."""
    value = op.value
    if not isinstance(value, DenseIntOrFPElementsAttr | DenseResourceAttr):
        return None
    try:
        return elements_to_numpy(cast(ElementsAttr, value))
    except KeyError:
        return None  # an element type that NumPy lacks


def _initializer(op: llvm.GlobalOp, large: np.ndarray | None) -> tuple[str, str | None]:
    """The type and the value, None for a declaration."""
    type_ = type_of(op, op.global_type)
    value = op.value
    if large is not None:
        return _bytes(np.ascontiguousarray(large).tobytes())
    match value:
        case None:
            # Bytes that are not defined would stand in an object file, zeros do not.
            return type_, None if op.linkage.linkage.data == "external" else "zeroinitializer"
        case StringAttr():
            return _bytes(value.data.encode())
        case DenseIntOrFPElementsAttr() | DenseResourceAttr():
            array = elements(op)
            if array is None:
                raise untranslatable(op, f"holds elements of {value.get_type()}")
            element = type_[1:-1].partition(" x ")[2]
            numbers = array.reshape(-1).tolist()
            items = ", ".join(f"{element} {number_text(element, n)}" for n in numbers)
            return type_, f"{type_[0]}{items}{type_[-1]}"
        case _:
            return type_, _scalar_constant(op, type_, value)


def _bytes(raw: bytes) -> tuple[str, str]:
    value = f'c"{escaped(raw)}"' if any(raw) else "zeroinitializer"
    return f"[{len(raw)} x i8]", value


def _scalar_constant(op: Operation, type_: str, value: Attribute) -> str:
    data = getattr(getattr(value, "value", None), "data", None)
    if not isinstance(data, int | float):
        raise untranslatable(op, f"has the value {value}; give an integer, float or dense elements")
    return number_text(type_, data)
