"""The pieces of te's text: iterators with their extents, reads with their subscripts."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DYNAMIC_INDEX, FloatAttr, IndexType, IntegerAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineExpr
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer

from ..affine_text import parse_affine


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


_ParsedRead = tuple[
    Parser.UnresolvedArgument,
    UnresolvedOperand,
    tuple[AffineExpr, ...] | None,
    FloatAttr | IntegerAttr | None,
]


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
                f"{operand.span.text} is not an iterator of this compute; "
                f"the iterators are {', '.join(dims)}",
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
    pad = None
    if exprs is not None and parser.parse_optional_keyword("else") is not None:
        position = parser.pos
        pad = parser.parse_attribute()
        if not isinstance(pad, FloatAttr | IntegerAttr):
            parser.raise_error(f"expected a number after 'else', found {pad}", position)
    return arg, source, None if exprs is None else tuple(exprs), pad


def shape_text(shape: Sequence[int]) -> str:
    return "x".join("?" if s == DYNAMIC_INDEX else str(s) for s in shape) or "()"


def types_text(types: Sequence[Attribute]) -> str:
    return ", ".join(str(type_) for type_ in types)
