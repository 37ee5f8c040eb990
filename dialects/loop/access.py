"""Affine subscripts and bounds of the loop dialect, as values, as text and verified."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, BlockArgument, OpResult, SSAValue
from xdsl.ir.affine import (
    AffineConstraintExpr,
    AffineConstraintKind,
    AffineExpr,
    AffineMap,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ..affine_atoms import constant_expr, dim_expr, map_over
from ..affine_bounds import why_not_affine
from ..affine_text import ValueSpace, compact, print_affine_list
from ..shaped import Buffer

Index = int | SSAValue | AffineExpr
"""A subscript or bound: a number, a value, or an expression over the operation's operands."""


def access(indices: Sequence[Index]) -> tuple[AffineMap, list[SSAValue]]:
    """
    The map and operands for a list of subscripts given as numbers and values.

    For subscripts that are expressions build the `AffineMap` yourself and pass it with its operands.
    """
    operands: list[SSAValue] = []
    exprs: list[AffineExpr] = []
    for index in indices:
        if type(index) is BlockArgument or type(index) is OpResult:  # as most are
            exprs.append(dim_expr(len(operands)))
            operands.append(index)
        elif isinstance(index, int):
            exprs.append(constant_expr(index))
        elif isinstance(index, AffineExpr):
            raise TypeError("an expression needs its operands; pass an AffineMap")
        else:
            exprs.append(dim_expr(len(operands)))
            operands.append(index)
    compacted, values = compact(exprs, operands)
    return map_over(len(values), compacted), values


def bound(bound: Index | tuple[AffineMap, Sequence[SSAValue]]) -> tuple[AffineMap, list[SSAValue]]:
    if isinstance(bound, tuple):
        exprs, values = compact(bound[0].results, bound[1])
        return map_over(len(values), exprs), values
    return access([bound])


def verify_map(what: str, map_: AffineMap, operands: Sequence[SSAValue]) -> None:
    if map_.num_symbols or map_.num_dims != len(operands):
        raise VerifyException(
            f"found {what} {map_}, expected one dimension for each of its {len(operands)} operands "
            "and no symbols; mend the map"
        )
    for expr in map_.results:
        verify_affine(what, expr)


def verify_affine(what: str, expr: AffineExpr) -> None:
    reason = why_not_affine(expr)
    if reason is not None:
        raise VerifyException(f"found {what} {expr}, expected an affine expression: {reason}")


def at_least_zero(expr: AffineExpr) -> AffineConstraintExpr:
    """The constraint `expr >= 0`."""
    return AffineConstraintExpr(AffineConstraintKind.ge, expr, constant_expr(0), canonicalize=False)


def parse_subscripts(parser: Parser) -> tuple[AffineMap, list[SSAValue]]:
    space = ValueSpace(parser)
    exprs = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, space.expr)
    return space.map(exprs), space.operands()


def parse_memref_type(parser: Parser) -> Buffer:
    position = parser.pos
    type_ = parser.parse_type()
    if not isinstance(type_, MemRefType):
        parser.raise_error(f"found the type {type_}, expected a memref; mend it", position)
    return cast(Buffer, type_)


def verify_subscripts(map_: AffineMap, operands: Sequence[SSAValue], type_: Buffer) -> None:
    verify_map("subscripts", map_, operands)
    rank = type_.get_num_dims()
    if len(map_.results) != rank:
        raise VerifyException(
            f"found {len(map_.results)} subscripts, expected {rank}, the rank of {type_}; mend them"
        )


def print_access(
    printer: Printer,
    buffer: SSAValue,
    map_: AffineMap,
    operands: Sequence[SSAValue],
    attributes: dict[str, Attribute],
) -> None:
    printer.print_ssa_value(buffer)
    with printer.in_square_brackets():
        print_affine_list(printer, map_.results, operands)
    printer.print_op_attributes(attributes)
    printer.print_string(" : ")
    printer.print_attribute(buffer.type)
