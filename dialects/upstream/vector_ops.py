"""
Operations of `arith` and `llvm` on vectors, where xDSL allows scalars only.

The text is upstream's. The operation registered under a name in `Arith` and `Llvm` below is parsed as
xDSL's own when it is on scalars, so that all that is written for those goes on working.
"""

from __future__ import annotations

from typing import Any, ClassVar, cast

from xdsl.dialects import arith, llvm
from xdsl.dialects.arith import (
    CMPF_COMPARISON_OPERATIONS,
    CMPI_COMPARISON_OPERATIONS,
    FastMathFlagsAttr,
)
from xdsl.dialects.builtin import IntegerAttr, IntegerType, VectorType, i1, i64
from xdsl.ir import Attribute, Dialect, Operation, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    ParsePropInAttrDict,
    VarConstraint,
    base,
    eq,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from .fence import FenceOp
from .remf import RemFOp
from .vector_casts import CASTS

_MASK = VectorType.constr(eq(i1)) | eq(i1)
_CMPI = {word: int(number) for number, word in enumerate(CMPI_COMPARISON_OPERATIONS)}
_CMPF = {word: int(number) for number, word in enumerate(CMPF_COMPARISON_OPERATIONS)}
_NO_FASTMATH = FastMathFlagsAttr("none")


def mask_like(type_: Attribute) -> Attribute:
    """`i1`, or the vector of `i1` with as many lanes as `type_`."""
    if isinstance(type_, VectorType):
        return VectorType(i1, cast("VectorType[Attribute]", type_).get_shape())
    return i1


class _Compare(IRDLOperation):
    """What comparisons of `arith` have in common."""

    T: ClassVar = VarConstraint("T", AnyAttr())

    lhs = operand_def(T)
    rhs = operand_def(T)
    result = result_def(_MASK)
    predicate = prop_def(IntegerAttr)
    traits = traits_def(Pure())

    def verify_(self) -> None:
        expected = mask_like(self.lhs.type)
        if self.result.type != expected:
            raise VerifyException(
                f"found a result of {self.result.type}, expected {expected}; mend its type"
            )


@irdl_op_definition
class VectorCmpiOp(_Compare):
    """`arith.cmpi sge, %a, %b : vector<8xindex>`"""

    name = "arith.cmpi"

    def __init__(self, lhs: SSAValue, rhs: SSAValue, predicate: str):
        super().__init__(
            operands=[lhs, rhs],
            result_types=[mask_like(lhs.type)],
            properties={"predicate": IntegerAttr(_CMPI[predicate], i64)},
        )

    def print(self, printer: Printer) -> None:
        arith.CmpiOp.print(cast(Any, self), printer)

    @classmethod
    def parse(cls, parser: Parser) -> Operation:
        predicate = parser.parse_optional_keyword_in(list(_CMPI))
        if predicate is None:
            parser.raise_error("found no integer predicate, expected one such as 'slt'")
        parser.parse_punctuation(",")
        lhs, rhs = _parse_operands(parser)
        a, b = _resolved(parser, lhs, rhs)
        if isinstance(a.type, VectorType):
            return cls(a, b, predicate)
        return arith.CmpiOp(a, b, predicate)


@irdl_op_definition
class VectorCmpfOp(_Compare):
    """`arith.cmpf ogt, %a, %b : vector<8xf32>`"""

    name = "arith.cmpf"

    fastmath = prop_def(FastMathFlagsAttr, default_value=_NO_FASTMATH)

    def __init__(
        self,
        lhs: SSAValue,
        rhs: SSAValue,
        predicate: str,
        fastmath: FastMathFlagsAttr = _NO_FASTMATH,
    ):
        super().__init__(
            operands=[lhs, rhs],
            result_types=[mask_like(lhs.type)],
            properties={"predicate": IntegerAttr(_CMPF[predicate], i64), "fastmath": fastmath},
        )

    def print(self, printer: Printer) -> None:
        arith.CmpfOp.print(cast(Any, self), printer)

    @classmethod
    def parse(cls, parser: Parser) -> Operation:
        predicate = parser.parse_optional_keyword_in(list(_CMPF))
        if predicate is None:
            parser.raise_error("found no float predicate, expected one such as 'olt'")
        parser.parse_punctuation(",")
        lhs, rhs = _parse_operands(parser)
        fastmath = _NO_FASTMATH
        if parser.parse_optional_keyword("fastmath") is not None:
            fastmath = FastMathFlagsAttr(FastMathFlagsAttr.parse_parameter(parser))
        a, b = _resolved(parser, lhs, rhs)
        if isinstance(a.type, VectorType):
            return cls(a, b, predicate, fastmath)
        return arith.CmpfOp(a, b, predicate, fastmath)


class _Select(IRDLOperation):
    """What `select` of `arith` and of `llvm` have in common; each calls its result otherwise."""

    T: ClassVar = VarConstraint("T", AnyAttr())

    cond = operand_def(_MASK)
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
        if self.name != VectorSelectOp.name or self.cond.type != i1:
            printer.print_attribute(self.cond.type)
            printer.print_string(", ")
        printer.print_attribute(self.results[0].type)


@irdl_op_definition
class VectorSelectOp(_Select):
    """`arith.select %mask, %a, %b : vector<8xi1>, vector<8xf32>`"""

    name = "arith.select"

    result = result_def(_Select.T)

    @classmethod
    def parse(cls, parser: Parser) -> Operation:
        operands, attributes = _parse_select(parser)
        is_vector = isinstance(operands[0].type, VectorType)
        op = cls(*operands) if is_vector else arith.SelectOp(*operands)
        op.attributes |= attributes
        return op


@irdl_op_definition
class VectorFCmpOp(IRDLOperation):
    """`llvm.fcmp "ogt" %a, %b : vector<8xf32>`"""

    name = "llvm.fcmp"

    T: ClassVar = VarConstraint("T", AnyAttr())

    lhs = operand_def(T)
    rhs = operand_def(T)
    res = result_def(_MASK)
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
        lhs, rhs = _parse_operands(parser)
        attributes = parser.parse_optional_attr_dict()
        a, b = _resolved(parser, lhs, rhs)
        if isinstance(a.type, VectorType):
            op = cls(a, b, predicate)
            op.attributes |= attributes
            return op
        return llvm.FCmpOp(a, b, predicate, attributes)


@irdl_op_definition
class VectorLlvmSelectOp(_Select):
    """`llvm.select %mask, %a, %b : vector<8xi1>, vector<8xf32>`"""

    name = "llvm.select"

    res = result_def(_Select.T)
    fastmathFlags = prop_def(llvm.FastMathAttr, default_value=llvm.FastMathAttr(None))
    irdl_options = (ParsePropInAttrDict(),)

    @classmethod
    def parse(cls, parser: Parser) -> Operation:
        operands, attributes = _parse_select(parser, with_condition=True)
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


def _resolved(
    parser: Parser, lhs: UnresolvedOperand, rhs: UnresolvedOperand
) -> tuple[SSAValue, SSAValue]:
    """The operands, of the type that follows after a colon."""
    parser.parse_punctuation(":")
    type_ = parser.parse_type()
    return parser.resolve_operand(lhs, type_), parser.resolve_operand(rhs, type_)


def _parse_operands(parser: Parser) -> tuple[UnresolvedOperand, UnresolvedOperand]:
    lhs = parser.parse_unresolved_operand()
    parser.parse_punctuation(",")
    return lhs, parser.parse_unresolved_operand()


def _parse_select(
    parser: Parser, *, with_condition: bool = False
) -> tuple[tuple[SSAValue, SSAValue, SSAValue], dict[str, Attribute]]:
    """
    The operands and attributes; the condition's type stands there always (llvm) or when it is a vector
    (arith).
    """
    condition = parser.parse_unresolved_operand()
    parser.parse_punctuation(",")
    lhs, rhs = _parse_operands(parser)
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


def _extended(dialect: Dialect, *ops: type[Operation]) -> Dialect:
    """The dialect with operations added, or put in the place of those of their names."""
    new = {op.name for op in ops}
    kept = [op for op in dialect.operations if op.name not in new]
    return Dialect(dialect.name, [*kept, *ops], [*dialect.attributes])


Arith = _extended(arith.Arith, RemFOp, VectorCmpiOp, VectorCmpfOp, VectorSelectOp, *CASTS.values())
Llvm = _extended(llvm.LLVM, VectorFCmpOp, VectorLlvmSelectOp, ExtractElementOp, FenceOp)
