"""`memref.prefetch` as upstream has it: the one operation of level 4 that xDSL's `memref` lacks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from xdsl.dialects import memref
from xdsl.dialects.builtin import BoolAttr, IndexType, IntegerAttr, MemRefType, i32
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, prop_def, var_operand_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ..leaf_operations import bit_attribute, fill, half_word_attribute
from ..shaped import memref_type
from .extended import extended


@cache
def _hints(is_write: bool, locality: int, is_data_cache: bool) -> Mapping[str, Attribute]:
    """The properties of a prefetch."""
    return {
        "isWrite": bit_attribute(is_write),
        "localityHint": half_word_attribute(locality),
        "isDataCache": bit_attribute(is_data_cache),
    }


@irdl_op_definition
class PrefetchOp(IRDLOperation):
    """
    A hint to load an element's line: `memref.prefetch %A[%i], read, locality<3>, data : memref<8xf32>`.

    The indices may be outside of the buffer.
    """

    name = "memref.prefetch"

    memref = operand_def(MemRefType.constr())
    indices = var_operand_def(IndexType())
    isWrite = prop_def(BoolAttr)
    localityHint = prop_def(IntegerAttr.constr(i32))
    isDataCache = prop_def(BoolAttr)

    def __init__(
        self,
        buffer: SSAValue,
        indices: Sequence[SSAValue],
        *,
        is_write: bool,
        locality: int,
        is_data_cache: bool = True,
    ):
        fill(self, (buffer, *indices), (), _hints(is_write, locality, is_data_cache))

    def verify_(self) -> None:
        rank = memref_type(self.memref).get_num_dims()
        if len(self.indices) != rank:
            raise VerifyException(
                f"found {len(self.indices)} indices, expected {rank}, the rank of the memref; mend them"
            )
        if not 0 <= self.localityHint.value.data <= 3:
            raise VerifyException(
                f"found locality {self.localityHint.value.data}, expected 0 to 3; mend it"
            )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.memref)
        with printer.in_square_brackets():
            printer.print_list(self.indices, printer.print_ssa_value)
        printer.print_string(", write" if self.isWrite.value.data else ", read")
        printer.print_string(f", locality<{self.localityHint.value.data}>")
        printer.print_string(", data" if self.isDataCache.value.data else ", instr")
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.memref.type)

    @classmethod
    def parse(cls, parser: Parser) -> PrefetchOp:
        buffer = parser.parse_unresolved_operand()
        indices = parser.parse_comma_separated_list(
            parser.Delimiter.SQUARE, parser.parse_unresolved_operand
        )
        is_write = _parse_word(parser, "write", "read")
        parser.parse_punctuation(",")
        parser.parse_keyword("locality")
        with parser.in_angle_brackets():
            locality = parser.parse_integer(allow_boolean=False)
        is_data = _parse_word(parser, "data", "instr")
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        op = cls(
            parser.resolve_operand(buffer, parser.parse_type()),
            [parser.resolve_operand(index, IndexType()) for index in indices],
            is_write=is_write,
            locality=locality,
            is_data_cache=is_data,
        )
        op.attributes |= attributes
        return op


def _parse_word(parser: Parser, yes: str, no: str) -> bool:
    """`, yes` or `, no`."""
    parser.parse_punctuation(",")
    word = parser.expect(
        lambda: parser.parse_optional_keyword_in((yes, no)), f"'{yes}' or '{no}' expected"
    )
    return word == yes


MemRef = extended(memref.MemRef, PrefetchOp)
"""xDSL's dialect with what it lacks."""
