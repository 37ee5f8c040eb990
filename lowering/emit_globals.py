"""Globals at level 5 as constants of llvmlite, and the types of values."""

# llvmlite has no types.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportAttributeAccessIssue=false

from __future__ import annotations

import numpy as np
from llvmlite import ir
from xdsl.backend.llvm.convert_type import convert_type
from xdsl.dialects import llvm
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, DenseResourceAttr, StringAttr
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import LLVMTranslationException

from ..dialects.resources import elements_to_numpy
from ..errors import StepwellError


def untranslatable(op: Operation, why: str) -> StepwellError:
    return StepwellError(f"cannot emit '{op.name}': it {why}", op=op)


def type_of(op: Operation, type_: Attribute) -> ir.Type:
    try:
        return convert_type(type_)
    except LLVMTranslationException as error:
        raise untranslatable(op, f"has no translation to LLVM IR ({error})") from None


# Globals.


def elements(op: llvm.GlobalOp) -> np.ndarray | None:
    """The data of a global, or None when it is no array of elements."""
    if not isinstance(op.value, DenseIntOrFPElementsAttr | DenseResourceAttr):
        return None
    try:
        return elements_to_numpy(op.value)
    except KeyError:
        return None  # an element type that NumPy lacks


def initializer(op: llvm.GlobalOp, large: np.ndarray | None) -> tuple[ir.Type, ir.Constant | None]:
    type_ = type_of(op, op.global_type)
    value = op.value
    if large is not None:
        raw = bytearray(np.ascontiguousarray(large).tobytes())
        zero = not any(raw)
        type_ = ir.ArrayType(ir.IntType(8), len(raw))
        return type_, ir.Constant(type_, None if zero else raw)
    match value:
        case None:
            declared = op.linkage.linkage.data == "external"
            return type_, None if declared else ir.Constant(type_, ir.Undefined)
        case StringAttr():
            raw = bytearray(value.data.encode())
            type_ = ir.ArrayType(ir.IntType(8), len(raw))
            return type_, ir.Constant(type_, raw)
        case DenseIntOrFPElementsAttr() | DenseResourceAttr():
            array = elements(op)
            if array is None:
                raise untranslatable(op, f"holds elements of {value.get_type()}")
            return type_, ir.Constant(type_, array.reshape(-1).tolist())
        case _:
            return type_, _scalar_constant(op, type_, value)


def _scalar_constant(op: Operation, type_: ir.Type, value: Attribute) -> ir.Constant:
    data = getattr(getattr(value, "value", None), "data", None)
    if not isinstance(data, int | float):
        raise untranslatable(op, f"has the value {value}; give an integer, float or dense elements")
    return ir.Constant(type_, data)
