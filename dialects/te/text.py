"""The pieces of te's text: iterators with their extents, reads with their subscripts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias, cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyFloat,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineExpr
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer

from ..affine_text import parse_affine
from ..combiner import Combiner


def print_iterators(
    printer: Printer, args: Sequence[SSAValue], extents: Sequence[int | SSAValue]
) -> None:
    def print_one(pair: tuple[SSAValue, int | SSAValue]) -> None:
        printer.print_ssa_value(pair[0])
        printer.print_string(" = ")
        if isinstance(pair[1], int):
            printer.print_string(str(pair[1]))
        else:
            printer.print_ssa_value(pair[1])

    with printer.in_square_brackets():
        printer.print_list(zip(args, extents, strict=True), print_one)


def parse_iterators(parser: Parser, names: list[Parser.UnresolvedArgument]) -> list[int | SSAValue]:
    def parse_one() -> int | SSAValue:
        names.append(parser.parse_argument(expect_type=False))
        parser.parse_punctuation("=")
        extent = parser.parse_optional_integer(allow_boolean=False, allow_negative=True)
        return extent if extent is not None else parser.parse_operand(IndexType())

    return parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parse_one)


def parse_combiners(parser: Parser) -> list[Combiner]:
    """Combiners between commas; none when the text goes on with something else."""
    first = _parse_combiner(parser, "'(' or a combiner")
    found = [] if first is None else [first]
    while found and parser.parse_optional_punctuation(",") is not None:
        position = parser.pos
        further = _parse_combiner(parser, "a combiner")
        if further is None:
            parser.raise_error("found a comma, expected a combiner after it; drop it", position)
        found.append(further)
    return found


def _parse_combiner(parser: Parser, expected: str) -> Combiner | None:
    position = parser.pos
    word = parser.parse_optional_identifier()
    if word is None:
        return None
    if word not in tuple(Combiner):
        parser.raise_error(
            f"found '{word}', expected {expected}; the combiners are {', '.join(Combiner)}",
            position,
            parser.pos,
        )
    return Combiner(word)


Number: TypeAlias = "FloatAttr[AnyFloat] | IntegerAttr[IntegerType | IndexType]"
"""The constant a read outside of its tensor gives."""

_ParsedRead: TypeAlias = "tuple[Parser.UnresolvedArgument, UnresolvedOperand, tuple[AffineExpr, ...] | None, Number | None]"


def parse_read(parser: Parser, names: Sequence[Parser.UnresolvedArgument]) -> _ParsedRead:
    dims = {name.name.text: i for i, name in enumerate(names)}

    def leaf() -> AffineExpr | None:
        position = parser.pos
        operand = parser.parse_optional_unresolved_operand()
        if operand is None:
            return None
        dim = dims.get(operand.span.text)
        if dim is None:
            parser.raise_error(
                f"found {operand.span.text} in a subscript, expected iterators of this compute; "
                f"they are {', '.join(dims) or 'none'}",
                position,
                parser.pos,
            )
        return AffineExpr.dimension(dim)

    arg = parser.parse_argument(expect_type=False)
    parser.parse_punctuation("=")
    source = parser.parse_unresolved_operand()
    exprs = parser.parse_optional_comma_separated_list(
        parser.Delimiter.SQUARE, lambda: parse_affine(parser, leaf)
    )
    if exprs is None:
        return arg, source, None, None
    pad = _parse_number(parser) if parser.parse_optional_keyword("else") is not None else None
    return arg, source, tuple(exprs), pad


def _parse_number(parser: Parser) -> Number:
    position = parser.pos
    number = parser.parse_attribute()
    if not isinstance(number, FloatAttr | IntegerAttr):
        parser.raise_error(
            f"found {number} after 'else', expected a number; write it as in '0.0 : f32'", position
        )
    return cast(Number, number)


def shape_text(shape: Sequence[int]) -> str:
    return "x".join("?" if s == DYNAMIC_INDEX else str(s) for s in shape) or "()"


def types_text(types: Sequence[Attribute]) -> str:
    return ", ".join(str(type_) for type_ in types)


_LETTERS = "ijklmn"


def axis_names(rank: int) -> list[str]:
    """Names for the iterators of a tensor's axes: i, j, k, … as in mathematics."""
    return [_LETTERS[axis] if axis < len(_LETTERS) else f"d{axis}" for axis in range(rank)]
