"""Properties of operations of level 5. Many operations share them: they are remembered, and operations copy them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import cast

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    ArrayAttr,
    IntegerAttr,
    IntegerType,
    NoneAttr,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    i32,
    i64,
)
from xdsl.dialects.utils import FastMathAttrBase
from xdsl.ir import Attribute, Operation

from ...dialects.leaf_operations import (
    half_word_attribute,
    leaf,
    numbers_attribute,
    word_attribute,
)
from ...dialects.type_memo import remembered

NO_OVERFLOW = IntegerAttr(0, i32)
NSW = IntegerAttr(1, i32)
NO_FASTMATH = llvm.FastMathAttr(None)
_NO_BUNDLES = numbers_attribute(i32, ())
_C = llvm.CallingConventionAttr("ccc")
_MARK = UnitAttr()
_FIXED = NoneAttr()
_NONE: Mapping[str, Attribute] = MappingProxyType({})
VOID = llvm.LLVMVoidType()
EXTERNAL, INTERNAL = llvm.LinkageAttr("external"), llvm.LinkageAttr("internal")


@lru_cache(maxsize=1024)
def aligned(alignment: int) -> dict[str, Attribute]:
    """Of a plain load or store."""
    return {"ordering": IntegerAttr(0, i64), "alignment": IntegerAttr(alignment, i64)}


def integer(value: int, type_: Attribute) -> IntegerAttr:
    """A number, for a constant of an integer type."""
    if type_ is i64 and -(1 << 63) <= value < 1 << 63:
        return word_attribute(value)
    if type_ is i32 and -(1 << 31) <= value < 1 << 31:
        return half_word_attribute(value)
    assert isinstance(type_, IntegerType)
    return IntegerAttr(value, cast("IntegerType", type_))


@lru_cache(maxsize=1024)
def intrinsic_call(
    name: str, operands: int, fastmath: llvm.FastMathAttr | None
) -> dict[str, Attribute]:
    """Of a call of an intrinsic with so many operands."""
    return {
        "intrin": StringAttr(name),
        "fastmathFlags": fastmath or NO_FASTMATH,
        "op_bundle_sizes": _NO_BUNDLES,
        "operandSegmentSizes": numbers_attribute(i32, (operands, 0)),
    }


@lru_cache(maxsize=1024)
def call_of(name: str, operands: int) -> dict[str, Attribute]:
    """Of a call of a function with so many operands."""
    return {
        "callee": SymbolRefAttr(name),
        "fastmathFlags": NO_FASTMATH,
        "CConv": _C,
        "op_bundle_sizes": _NO_BUNDLES,
        "operandSegmentSizes": numbers_attribute(i32, (operands, 0)),
    }


@lru_cache(maxsize=1024)
def segments(*sizes: int) -> dict[str, Attribute]:
    """How many operands each of the groups has that an operation takes."""
    return {"operandSegmentSizes": numbers_attribute(i32, sizes)}


@lru_cache(maxsize=1024)
def comparison(name: str) -> dict[str, Attribute]:
    """Of a comparison of integers."""
    number = llvm.ICmpPredicateFlag(name).to_int()
    return {"predicate": IntegerAttr(number, i64)}


def function_type(inputs: Sequence[Attribute], output: Attribute) -> llvm.LLVMFunctionType:
    """As `LLVMFunctionType(inputs, output)`, which asks of each type whether LLVM has it, of types that it has."""
    made = object.__new__(llvm.LLVMFunctionType)
    for name, value in (("inputs", ArrayAttr(inputs)), ("output", output), ("variadic", _FIXED)):
        object.__setattr__(made, name, value)
    return made


def function_without_body(
    name: str,
    type_: llvm.LLVMFunctionType,
    linkage: llvm.LinkageAttr,
    properties: Mapping[str, Attribute] = _NONE,
    attributes: Mapping[str, Attribute] = _NONE,
) -> llvm.FuncOp:
    """As `llvm.FuncOp`, without its region."""
    own = {"sym_name": StringAttr(name), "function_type": type_, "CConv": _C, "linkage": linkage}
    return leaf(llvm.FuncOp, (), (), {**properties, **own}, attributes)


def element_address(
    raw: tuple[int, ...], element: Attribute, *, inbounds: bool
) -> dict[str, Attribute]:
    """Of an `llvm.getelementptr`; `raw` has its indices, or what stands for those that are operands."""
    properties: dict[str, Attribute] = {
        "rawConstantIndices": _numbers(raw),
        "elem_type": element,
        "noWrapFlags": NO_OVERFLOW,
    }
    if inbounds:
        properties["inbounds"] = _MARK
    return properties


@lru_cache(maxsize=1024)
def _numbers(raw: tuple[int, ...]) -> Attribute:
    return numbers_attribute(i32, raw)


def fastmath_of(op: Operation) -> llvm.FastMathAttr:
    """The fast-math flags of an arith, math or vector operation as LLVM's."""
    flags = op.properties.get("fastmath") or op.attributes.get("fastmath")
    if flags is None:
        return NO_FASTMATH
    assert isinstance(flags, FastMathAttrBase)
    return _flags(flags)


@remembered
def _flags(flags: FastMathAttrBase) -> llvm.FastMathAttr:
    return llvm.FastMathAttr(flags.data)
