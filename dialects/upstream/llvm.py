"""
`llvm` as upstream has it: comparisons and selections on vectors, where xDSL allows scalars only, an element of
a vector by its number, the conversion of unsigned integers to floats, the fence, and the atomic addition.

The operation registered here under a name of xDSL's is parsed as xDSL's own when it is on scalars, so that all
that is written for those goes on working.
"""

from __future__ import annotations

from typing import Any, ClassVar, cast

from xdsl.dialects import llvm
from xdsl.dialects.builtin import I64, IntegerAttr, IntegerType, VectorType, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    ParsePropInAttrDict,
    VarConstraint,
    base,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure

from .conditions import MASK, Select, mask_like, parse_operands, parse_select, resolved
from .extended import extended


@irdl_op_definition
class VectorFCmpOp(IRDLOperation):
    """`llvm.fcmp "ogt" %a, %b : vector<8xf32>`"""

    name = "llvm.fcmp"

    T: ClassVar = VarConstraint("T", AnyAttr())

    lhs = operand_def(T)
    rhs = operand_def(T)
    res = result_def(MASK)
    predicate = prop_def(IntegerAttr)
    fastmathFlags = prop_def(llvm.FastMathAttr, default_value=llvm.FastMathAttr(None))
    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)

    def __init__(self, lhs: SSAValue, rhs: SSAValue, predicate: IntegerAttr[IntegerType]):
        super().__init__(
            operands=[lhs, rhs],
            result_types=[mask_like(lhs.type)],
            properties={"predicate": predicate},
        )

    def print(self, printer: Printer) -> None:
        llvm.FCmpOp.print(cast(Any, self), printer)

    @classmethod
    def parse(cls, parser: Parser) -> Operation:
        word = parser.parse_str_literal()
        if word not in set(llvm.FCmpPredicateFlag):
            parser.raise_error(f'found predicate "{word}", expected one such as "olt"')
        predicate = IntegerAttr(llvm.FCmpPredicateFlag(word).to_int(), i64)
        lhs, rhs = parse_operands(parser)
        attributes = parser.parse_optional_attr_dict()
        a, b = resolved(parser, lhs, rhs)
        if isinstance(a.type, VectorType):
            op = cls(a, b, predicate)
            op.attributes |= attributes
            return op
        return llvm.FCmpOp(a, b, predicate, attributes)


@irdl_op_definition
class VectorLlvmSelectOp(Select):
    """`llvm.select %mask, %a, %b : vector<8xi1>, vector<8xf32>`"""

    name = "llvm.select"

    res = result_def(Select.T)
    fastmathFlags = prop_def(llvm.FastMathAttr, default_value=llvm.FastMathAttr(None))
    irdl_options = (ParsePropInAttrDict(),)

    @classmethod
    def parse(cls, parser: Parser) -> Operation:
        operands, attributes = parse_select(parser, with_condition=True)
        is_vector = isinstance(operands[0].type, VectorType)
        flags = attributes.pop("fastmathFlags", None)
        op = cls(*operands) if is_vector else llvm.SelectOp(*operands)
        if flags is not None:
            op.properties["fastmathFlags"] = flags
        op.attributes |= attributes
        return op


@irdl_op_definition
class ExtractElementOp(IRDLOperation):
    """`llvm.extractelement %v[%lane : i32] : vector<8xf32>`"""

    name = "llvm.extractelement"

    vector = operand_def(VectorType)
    position = operand_def(base(IntegerType))
    res = result_def(AnyAttr())
    traits = traits_def(Pure())

    def __init__(self, vector: SSAValue, position: SSAValue):
        element = cast("VectorType[Attribute]", vector.type).element_type
        super().__init__(operands=[vector, position], result_types=[element])

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.vector)
        with printer.in_square_brackets():
            printer.print_ssa_value(self.position)
            printer.print_string(" : ")
            printer.print_attribute(self.position.type)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.vector.type)

    @classmethod
    def parse(cls, parser: Parser) -> ExtractElementOp:
        vector = parser.parse_unresolved_operand()
        with parser.in_square_brackets():
            position = parser.parse_unresolved_operand()
            parser.parse_punctuation(":")
            lane = parser.resolve_operand(position, parser.parse_type())
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        op = cls(parser.resolve_operand(vector, parser.parse_type()), lane)
        op.attributes |= attributes
        return op


SEQ_CST = IntegerAttr(7, i64)
"""Upstream's number of the ordering."""


@irdl_op_definition
class FenceOp(IRDLOperation):
    """`llvm.fence seq_cst`: stores before it are seen by other threads before stores after it."""

    name = "llvm.fence"

    ordering = prop_def(IntegerAttr)

    def __init__(self) -> None:
        super().__init__(properties={"ordering": SEQ_CST})

    def print(self, printer: Printer) -> None:
        printer.print_string(" seq_cst")
        printer.print_op_attributes(self.attributes)

    @classmethod
    def parse(cls, parser: Parser) -> FenceOp:
        parser.parse_keyword("seq_cst")
        op = cls()
        op.attributes |= parser.parse_optional_attr_dict()
        return op


_ADD, _MONOTONIC = IntegerAttr(1, i64), IntegerAttr(2, i64)
"""Upstream's numbers of the operation and of the ordering."""


@irdl_op_definition
class AtomicRMWOp(IRDLOperation):
    """
    `%before = llvm.atomicrmw add %place, %number monotonic : !llvm.ptr, i64`

    Adds to a number in memory in one step, in no order with other accesses: what claiming iterations needs.
    """

    name = "llvm.atomicrmw"

    ptr = operand_def(llvm.LLVMPointerType)
    val = operand_def(I64)
    res = result_def(I64)
    bin_op = prop_def(IntegerAttr)
    ordering = prop_def(IntegerAttr)

    def __init__(self, ptr: SSAValue, val: SSAValue) -> None:
        super().__init__(
            operands=[ptr, val],
            result_types=[i64],
            properties={"bin_op": _ADD, "ordering": _MONOTONIC},
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" add ")
        printer.print_list((self.ptr, self.val), printer.print_ssa_value)
        printer.print_string(" monotonic")
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_list((self.ptr.type, self.val.type), printer.print_attribute)

    @classmethod
    def parse(cls, parser: Parser) -> AtomicRMWOp:
        parser.parse_keyword("add")
        ptr = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        val = parser.parse_unresolved_operand()
        parser.parse_keyword("monotonic")
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        pointer_type = parser.parse_type()
        parser.parse_punctuation(",")
        op = cls(
            parser.resolve_operand(ptr, pointer_type),
            parser.resolve_operand(val, parser.parse_type()),
        )
        op.attributes |= attributes
        return op


@irdl_op_definition
class UIToFPOp(llvm.GenericCastOp):
    """`llvm.uitofp %a : i64 to f32`"""

    name = "llvm.uitofp"


@irdl_op_definition
class FPToSIOp(llvm.GenericCastOp):
    """`llvm.fptosi %a : i64 to f32`"""

    name = "llvm.fptosi"


@irdl_op_definition
class FPToUIOp(llvm.GenericCastOp):
    """`llvm.fptoui %a : i64 to f32`"""

    name = "llvm.fptoui"


Llvm = extended(
    llvm.LLVM,
    VectorFCmpOp,
    VectorLlvmSelectOp,
    ExtractElementOp,
    FenceOp,
    AtomicRMWOp,
    UIToFPOp,
    FPToSIOp,
    FPToUIOp,
)
"""xDSL's dialect with what it lacks."""
