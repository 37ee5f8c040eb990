"""
Affine expressions in text, with the names of loops or values in place of `d0` and `s0`.

Our dialects keep accesses as affine maps over dimensions only (no symbols): what a dimension stands
for, an iterator of `te.compute` or an SSA value of `loop`, is decided by the operation.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

from xdsl.dialects.builtin import IndexType
from xdsl.ir import SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineConstraintExpr,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
    AffineSet,
    AffineSymExpr,
)
from xdsl.parser import AffineParser, Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.utils.exceptions import ParseError
from xdsl.utils.mlir_lexer import MLIRToken

from .affine_atoms import constant_expr, dim_expr
from .affine_substitution import substituted

ValueT = TypeVar("ValueT", bound=Hashable)

_SYMBOL = {
    AffineBinaryOpKind.Mul: "*",
    AffineBinaryOpKind.Mod: "mod",
    AffineBinaryOpKind.FloorDiv: "floordiv",
    AffineBinaryOpKind.CeilDiv: "ceildiv",
}
_DIVISIONS = ("mod", "floordiv", "ceildiv")
_ADDITIVE, _MULTIPLICATIVE, _PRIMARY = 10, 20, 30


def write_affine(
    expr: AffineExpr,
    write: Callable[[str], object],
    write_dim: Callable[[int], object],
    binding: int = 0,
) -> None:
    """
    Write the expression so that it parses back to the same tree.

    `write_dim(i)` writes the name of dimension i. Parentheses are put where an operator binds weaker
    than `binding`, the operator around it.
    """
    match expr:
        case AffineConstantExpr():
            write(str(expr.value))
        case AffineDimExpr():
            write_dim(expr.position)
        case AffineSymExpr():
            write(f"s{expr.position}")
        case AffineBinaryOpExpr(kind=AffineBinaryOpKind.Mul) if expr.rhs == AffineConstantExpr(-1):
            write("-")
            write_affine(expr.lhs, write, write_dim, _PRIMARY)
        case AffineBinaryOpExpr():
            own = _ADDITIVE if expr.kind is AffineBinaryOpKind.Add else _MULTIPLICATIVE
            if own < binding:
                write("(")
            write_affine(expr.lhs, write, write_dim, own)
            _write_operator_and_rhs(expr, write, write_dim)
            if own < binding:
                write(")")
        case _:
            raise ValueError(f"not an affine expression: {expr}")


def _write_operator_and_rhs(
    expr: AffineBinaryOpExpr, write: Callable[[str], object], write_dim: Callable[[int], object]
) -> None:
    rhs = expr.rhs
    if expr.kind is not AffineBinaryOpKind.Add:
        write(f" {_SYMBOL[expr.kind]} ")
        write_affine(rhs, write, write_dim, _PRIMARY)
        return
    negated = _negated(rhs)
    if negated is None:
        write(" + ")
        write_affine(rhs, write, write_dim, _MULTIPLICATIVE)
    else:
        write(" - ")
        write_affine(negated, write, write_dim, _MULTIPLICATIVE)


def _negated(expr: AffineExpr) -> AffineExpr | None:
    """`x` when `expr` is `-x` in the form the parser makes of it, else None."""
    match expr:
        case AffineConstantExpr() if expr.value < 0:
            return constant_expr(-expr.value)
        case AffineBinaryOpExpr(kind=AffineBinaryOpKind.Mul, rhs=AffineConstantExpr(value=factor)):
            return expr.lhs * -factor if factor < 0 else None
        case _:
            return None


def format_affine(expr: AffineExpr, dims: Sequence[str]) -> str:
    """The expression as text with `dims[i]` for dimension i."""
    parts: list[str] = []
    write_affine(expr, parts.append, lambda i: parts.append(dims[i]))
    return "".join(parts)


class _NamedAffineParser(AffineParser):
    """xDSL's affine parser over names whose meaning the caller decides, refusing what is not affine."""

    def __init__(self, parser: Parser, leaf: Callable[[], AffineExpr | None]):
        super().__init__(parser._parser_state)
        self._leaf = leaf

    def expr(self) -> AffineExpr:
        return self._parse_affine_expr(self._leaf)

    def constraint(self) -> AffineConstraintExpr:
        return self._parse_affine_constraint(self._leaf)

    def _create_binop_expr(self, lhs: AffineExpr, rhs: AffineExpr, binop: MLIRToken) -> AffineExpr:
        number = rhs.value if isinstance(rhs, AffineConstantExpr) else None
        if binop.text == "*" and number is None and not isinstance(lhs, AffineConstantExpr):
            raise ParseError(
                binop.span,
                "found a product of two variables, expected an affine expression; "
                "multiply by a number",
            )
        if binop.text in _DIVISIONS and (number is None or number <= 0):
            found = "a variable" if number is None else number
            raise ParseError(
                binop.span,
                f"found '{binop.text}' by {found}, expected an affine expression; "
                "divide by a positive number",
            )
        return super()._create_binop_expr(lhs, rhs, binop)


def parse_affine(parser: Parser, leaf: Callable[[], AffineExpr | None]) -> AffineExpr:
    """
    Parse one affine expression at the parser's position.

    `leaf` parses a name there into an expression, or returns None when no name stands there.
    """
    return _NamedAffineParser(parser, leaf).expr()


def parse_constraint(parser: Parser, leaf: Callable[[], AffineExpr | None]) -> AffineConstraintExpr:
    """Parse one comparison (`>=`, `<=` or `==`) of affine expressions, as `parse_affine` does those."""
    return _NamedAffineParser(parser, leaf).constraint()


class ValueSpace:
    """The dimensions of an affine text over SSA values: the i-th new name is dimension i."""

    def __init__(self, parser: Parser):
        self._parser = parser
        self._dims: dict[str, int] = {}
        self._operands: list[UnresolvedOperand] = []

    def leaf(self) -> AffineExpr | None:
        operand = self._parser.parse_optional_unresolved_operand()
        if operand is None:
            return None
        key = f"{operand.span.text}#{operand.index}"
        if key not in self._dims:
            self._dims[key] = len(self._operands)
            self._operands.append(operand)
        return dim_expr(self._dims[key])

    def expr(self) -> AffineExpr:
        return parse_affine(self._parser, self.leaf)

    def constraint(self) -> AffineConstraintExpr:
        return parse_constraint(self._parser, self.leaf)

    def map(self, results: Sequence[AffineExpr]) -> AffineMap:
        return AffineMap(len(self._operands), 0, tuple(results))

    def set(self, constraints: Sequence[AffineConstraintExpr]) -> AffineSet:
        return AffineSet(len(self._operands), 0, tuple(constraints))

    def operands(self) -> list[SSAValue]:
        """The values named, all of type index, in the order of their dimensions."""
        return [self._parser.resolve_operand(operand, IndexType()) for operand in self._operands]


def print_affine(printer: Printer, expr: AffineExpr, values: Sequence[SSAValue]) -> None:
    """Print the expression with `values[i]` for dimension i."""
    write_affine(expr, printer.print_string, lambda i: printer.print_ssa_value(values[i]))


def print_affine_list(
    printer: Printer, exprs: Sequence[AffineExpr], values: Sequence[SSAValue]
) -> None:
    """Print the expressions separated by commas, with `values[i]` for dimension i."""
    printer.print_list(exprs, lambda expr: print_affine(printer, expr, values))


def compact(
    exprs: Sequence[AffineExpr], operands: Sequence[ValueT]
) -> tuple[tuple[AffineExpr, ...], list[ValueT]]:
    """The same expressions over each operand they use, once, in order of first use."""
    if not operands:  # numbers, as most bounds are
        return tuple(exprs), []
    used = dimensions_of(exprs)
    if len(operands) == 1:
        return tuple(exprs), list(operands) if used else []
    same = _first_positions(operands)
    kept = tuple(dict.fromkeys([same[i] for i in used]))
    if kept == tuple(range(len(same))):
        return tuple(exprs), list(operands)  # as it is
    return _over(tuple(exprs), same, kept), [operands[i] for i in kept]


def _first_positions(values: Sequence[Hashable]) -> tuple[int, ...]:
    """For each value the position at which it is for the first time."""
    if len(values) == 1:
        return (0,)
    if len(values) == 2:
        return (0, 0) if values[0] == values[1] else (0, 1)
    first: dict[Hashable, int] = {}
    return tuple([first.setdefault(value, i) for i, value in enumerate(values)])


def _over(
    exprs: tuple[AffineExpr, ...], same: tuple[int, ...], kept: tuple[int, ...]
) -> tuple[AffineExpr, ...]:
    """The expressions over the dimensions `kept`, where dimension i is the same as dimension `same[i]`."""
    position = {i: n for n, i in enumerate(kept)}
    dims = [dim_expr(position.get(i, 0)) for i in same]
    return tuple([substituted(expr, dims) for expr in exprs])


def dimensions_of(exprs: Sequence[AffineExpr]) -> list[int]:
    """The numbers of the dimensions in the order in which they are written, each as often as it is."""
    found: list[int] = []
    for expr in exprs:
        _add_dimensions(expr, found)
    return found


def _add_dimensions(expr: AffineExpr, found: list[int]) -> None:
    """Append the numbers of the dimensions in the order in which they are written."""
    if type(expr) is AffineDimExpr:
        found.append(expr.position)
    elif type(expr) is AffineBinaryOpExpr:
        _add_dimensions(expr.lhs, found)
        if type(expr.rhs) is not AffineConstantExpr:
            _add_dimensions(expr.rhs, found)
