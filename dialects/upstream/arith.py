"""
`arith` as upstream has it: comparisons and selections on vectors, where xDSL allows scalars only, and `remf`.

The operation registered here under a name of xDSL's is parsed as xDSL's own when it is on scalars, so that all
that is written for those goes on working.
"""

from __future__ import annotations

from typing import Any, ClassVar, cast

from xdsl.dialects import arith
from xdsl.dialects.arith import (
    CMPF_COMPARISON_OPERATIONS,
    CMPI_COMPARISON_OPERATIONS,
    FastMathFlagsAttr,
    FloatingPointLikeBinaryOperation,
)
from xdsl.dialects.builtin import IntegerAttr, VectorType, i64
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from .arith_casts import CASTS
from .conditions import MASK, Select, mask_like, parse_operands, parse_select, resolved
from .extended import extended

_CMPI = {word: int(number) for number, word in enumerate(CMPI_COMPARISON_OPERATIONS)}
_CMPF = {word: int(number) for number, word in enumerate(CMPF_COMPARISON_OPERATIONS)}
_NO_FASTMATH = FastMathFlagsAttr("none")


class _Compare(IRDLOperation):
    """What comparisons of `arith` have in common."""

    T: ClassVar = VarConstraint("T", AnyAttr())

    lhs = operand_def(T)
    rhs = operand_def(T)
    result = result_def(MASK)
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
        lhs, rhs = parse_operands(parser)
        a, b = resolved(parser, lhs, rhs)
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
        lhs, rhs = parse_operands(parser)
        fastmath = _NO_FASTMATH
        if parser.parse_optional_keyword("fastmath") is not None:
            fastmath = FastMathFlagsAttr(FastMathFlagsAttr.parse_parameter(parser))
        a, b = resolved(parser, lhs, rhs)
        if isinstance(a.type, VectorType):
            return cls(a, b, predicate, fastmath)
        return arith.CmpfOp(a, b, predicate, fastmath)


@irdl_op_definition
class VectorSelectOp(Select):
    """`arith.select %mask, %a, %b : vector<8xi1>, vector<8xf32>`"""

    name = "arith.select"

    result = result_def(Select.T)

    @classmethod
    def parse(cls, parser: Parser) -> Operation:
        operands, attributes = parse_select(parser)
        is_vector = isinstance(operands[0].type, VectorType)
        op = cls(*operands) if is_vector else arith.SelectOp(*operands)
        op.attributes |= attributes
        return op


@irdl_op_definition
class RemFOp(FloatingPointLikeBinaryOperation):
    """
    The one operation on floats that xDSL lacks: C's `fmod`, which is exact: `arith.remf %a, %b : f32`, the remainder with the dividend's sign.

    Of an infinite dividend or by zero it is NaN; by an infinite divisor it is the dividend.
    """

    name = "arith.remf"

    traits = traits_def(Pure())


Arith = extended(arith.Arith, RemFOp, VectorCmpiOp, VectorCmpfOp, VectorSelectOp, *CASTS.values())
"""xDSL's dialect with what it lacks."""
