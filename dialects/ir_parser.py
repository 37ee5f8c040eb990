"""
xDSL's parser, made safe for text of any origin.

All text that a user gives is read by an `IRParser`. It differs from xDSL 0.74's `Parser` in that a string
without a closing quote is found out in linear time, and that an integer of more than 64 bits, which none of
our levels can hold, is refused where it stands, as is a number that its own type does not hold. What types dense
constants may have is worked out once.
"""

from __future__ import annotations

import re
import struct
from typing import NoReturn

from xdsl.context import Context
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyFloat,
    ComplexType,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    RankedStructure,
)
from xdsl.irdl import base
from xdsl.parser import Parser
from xdsl.parser.generic_parser import ParserState
from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Input, Position, Span
from xdsl.utils.mlir_lexer import MLIRLexer, MLIRToken, MLIRTokenKind

from ..spelling import one_line
from .int64 import is_int64

# xDSL's expression repeats a repetition, `(?:[^"]+|…)*"`, and without a closing quote tries all the ways to
# divide the text between the two: exponentially many. A possessive repetition (`++`, `*+`) gives nothing
# back. Nor need it: neither alternative may match a quote.
_STRING_START = re.compile(r'"(?:[^"\\\n\v\f]++|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*+')
"""A string literal up to its closing quote, or to what may not stand in one."""

_DECIMAL_DIGITS = len(str(2**64 - 1))
_HEXADECIMAL_DIGITS = 16

_DENSE_TYPE = base(RankedStructure[IntegerType | IndexType | AnyFloat | ComplexType])
"""xDSL makes this constraint anew for each dense constant, which takes several times as long as to parse it."""

PARSER_GIVES_UP = (
    AssertionError,
    AttributeError,
    LookupError,
    MemoryError,  # i77777777777
    NotImplementedError,
    OverflowError,
    TypeError,
    ValueError,
    struct.error,  # a number that its type does not hold
)
"""What xDSL's parser raises, besides its own exceptions, on text that it did not expect."""


class IRLexer(MLIRLexer):
    """xDSL's lexer with strings in linear time and integers of at most 64 bits."""

    _unescaped_characters_regex = re.compile(_STRING_START.pattern + '"')

    def _lex_string_literal(self, start_pos: Position) -> MLIRToken:
        try:
            return super()._lex_string_literal(start_pos)
        except ParseError as error:
            raise self._string_error(start_pos) from error

    def _string_error(self, start_pos: Position) -> ParseError:
        """Why no string literal begins at `start_pos`, where a quote stands."""
        start = _STRING_START.match(self.input.content, start_pos)
        assert start is not None
        if self.input.at(start.end()) != "\\":
            span = Span(start_pos, start_pos + 1, self.input)
            message = "found a string without a closing quote, expected '\"'; close it on its line"
            return ParseError(span, message)
        span = Span(start.end(), min(start.end() + 2, self.input.len), self.input)
        return ParseError(
            span,
            f'found the escape {one_line(span.text)} in a string, expected \\\\, \\", \\n, \\t or two '
            "hexadecimal digits after the backslash; mend it",
        )

    def _lex_number(self, start_pos: Position) -> MLIRToken:
        token = super()._lex_number(start_pos)
        if token.kind is MLIRTokenKind.INTEGER_LIT and _is_beyond_64_bits(token.text):
            raise ParseError(
                token.span,
                f"found the integer {one_line(token.text, 40)}, expected one of at most 64 bits; "
                "write a smaller one",
            )
        return token


def _is_beyond_64_bits(digits: str) -> bool:
    """Whether a literal is 2^64 or more. Python reads no more than 4300 digits, so they are counted first."""
    if digits[:2] == "0x":
        return len(digits[2:].lstrip("0")) > _HEXADECIMAL_DIGITS
    significant = digits.lstrip("0")
    if len(significant) != _DECIMAL_DIGITS:
        return len(significant) > _DECIMAL_DIGITS
    return int(significant) >= 2**64


class IRParser(Parser):
    """xDSL's parser of IR with the lexer above. Raises ParseError for the first token too."""

    def __init__(self, ctx: Context, text: str, name: str = "<unknown>"):
        super().__init__(ctx, "", name)  # makes a lexer of its own
        self._parser_state = ParserState(IRLexer(Input(text, name)))

    def parse_shape_dimension(self, allow_dynamic: bool = True) -> int:
        start = self.pos
        extent = super().parse_shape_dimension(allow_dynamic)
        if not is_int64(extent):
            self._refuse_number(start, "an extent below 2^63; write a smaller one")
        return extent

    def parse_optional_builtin_int_or_float_attr(self) -> IntegerAttr | FloatAttr | None:
        start = self.pos
        try:
            attr = super().parse_optional_builtin_int_or_float_attr()
        except (OverflowError, struct.error):
            self._refuse_number(start, "one that its type holds; mend the number or the type")
        # xDSL gives `index` no width; everything below has 64 bits for it.
        is_index = isinstance(attr, IntegerAttr) and isinstance(attr.type, IndexType)
        if isinstance(attr, IntegerAttr) and is_index and not is_int64(attr.value.data):
            self._refuse_number(start, "one of at most 64 bits; write a smaller one")
        return attr

    def _parse_dense_literal_type(
        self,
    ) -> RankedStructure[IntegerType | IndexType | AnyFloat | ComplexType]:
        found = self.expect(self.parse_optional_type, "Dense attribute must be typed!")
        if not _DENSE_TYPE.verifies(found):
            self.raise_error(
                "Expected memref, vector or tensor type of integer, index, float, or complex type"
            )
        if DYNAMIC_INDEX in found.get_shape():
            self.raise_error("Dense literal attribute should have a static shape.")
        return found

    def _refuse_number(self, start: Position, expected: str) -> NoReturn:
        found = one_line(self.lexer.input.content[start : self.pos], 40)
        self.raise_error(f"found the number {found}, expected {expected}", start, self.pos)
