"""
`llvm.fence`, which xDSL 0.74 lacks: stores before it are seen by other threads before stores after it.

Upstream's syntax, of the strongest ordering alone.
"""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.irdl import IRDLOperation, irdl_op_definition, prop_def
from xdsl.parser import Parser
from xdsl.printer import Printer

SEQ_CST = IntegerAttr(7, i64)
"""Upstream's number of the ordering."""


@irdl_op_definition
class FenceOp(IRDLOperation):
    """`llvm.fence seq_cst`"""

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
