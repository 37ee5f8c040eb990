"""What comparisons and selections of `arith` and `llvm` have in common where they are on vectors."""

from __future__ import annotations

from typing import ClassVar, cast

from xdsl.dialects import arith, llvm
from xdsl.dialects.builtin import VectorType, i1
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import AnyAttr, IRDLOperation, VarConstraint, eq, operand_def, traits_def
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

MASK = VectorType.constr(eq(i1)) | eq(i1)
"""The type of a condition: `i1`, or a vector of it."""


def mask_like(type_: Attribute) -> Attribute:
    """`i1`, or the vector of `i1` with as many lanes as `type_`."""
    if isinstance(type_, VectorType):
        return VectorType(i1, cast("VectorType[Attribute]", type_).get_shape())
    return i1


class Select(IRDLOperation):
    """What `select` of `arith` and of `llvm` have in common; each calls its result otherwise."""

    T: ClassVar = VarConstraint("T", AnyAttr())

    cond = operand_def(MASK)
    lhs = operand_def(T)
    rhs = operand_def(T)
    traits = traits_def(Pure())

    def __init__(self, cond: SSAValue, lhs: SSAValue, rhs: SSAValue):
        super().__init__(operands=[cond, lhs, rhs], result_types=[lhs.type])

    def verify_(self) -> None:
        mask = mask_like(self.results[0].type)
        if self.cond.type not in (i1, mask):
            raise VerifyException(
                f"found a condition of {self.cond.type}, expected i1 or {mask}; mend it"
            )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_ssa_value)
        attributes = dict(self.attributes)
        flags = self.properties.get("fastmathFlags")
        if isinstance(flags, llvm.FastMathAttr) and flags.data:
            attributes["fastmathFlags"] = flags
        printer.print_op_attributes(attributes)
        printer.print_string(" : ")
        if self.name != arith.SelectOp.name or self.cond.type != i1:
            printer.print_attribute(self.cond.type)
            printer.print_string(", ")
        printer.print_attribute(self.results[0].type)


def resolved(
    parser: Parser, lhs: UnresolvedOperand, rhs: UnresolvedOperand
) -> tuple[SSAValue, SSAValue]:
    """The operands, of the type that follows after a colon."""
    parser.parse_punctuation(":")
    type_ = parser.parse_type()
    return parser.resolve_operand(lhs, type_), parser.resolve_operand(rhs, type_)


def parse_operands(parser: Parser) -> tuple[UnresolvedOperand, UnresolvedOperand]:
    lhs = parser.parse_unresolved_operand()
    parser.parse_punctuation(",")
    return lhs, parser.parse_unresolved_operand()


def parse_select(
    parser: Parser, *, with_condition: bool = False
) -> tuple[tuple[SSAValue, SSAValue, SSAValue], dict[str, Attribute]]:
    """
    The operands and attributes; the condition's type stands there always (llvm) or when it is a vector
    (arith).
    """
    condition = parser.parse_unresolved_operand()
    parser.parse_punctuation(",")
    lhs, rhs = parse_operands(parser)
    attributes = parser.parse_optional_attr_dict()
    parser.parse_punctuation(":")
    types = [parser.parse_type()]
    if parser.parse_optional_punctuation(",") is not None:
        types.append(parser.parse_type())
    elif with_condition:
        parser.raise_error("found one type, expected the condition's and the values'")
    of_condition = types[0] if len(types) == 2 else i1
    operands = (
        parser.resolve_operand(condition, of_condition),
        parser.resolve_operand(lhs, types[-1]),
        parser.resolve_operand(rhs, types[-1]),
    )
    return operands, attributes
