"""
Affine expressions with others in place of their dimensions.

Steps do this for every subscript and bound that they rewrite. xDSL's expressions are of abstract classes, whose
isinstance takes several times as long as a look at the type, and its operators ask it again and again.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
)

from .affine_atoms import binary_expr, constant_expr

_ADD, _MUL = AffineBinaryOpKind.Add, AffineBinaryOpKind.Mul


def substituted(expr: AffineExpr, dims: Sequence[AffineExpr]) -> AffineExpr:
    """
    The expression with `dims[n]` in place of dimension n: the same as `expr.replace_dims_and_symbols(dims, ())`, and the very
    one where nothing changes.
    """
    if type(expr) is AffineDimExpr:
        position = expr.position
        if position >= len(dims):
            return expr
        dim = dims[position]
        return expr if type(dim) is AffineDimExpr and dim.position == position else dim
    if type(expr) is AffineConstantExpr:
        return expr
    if type(expr) is not AffineBinaryOpExpr:
        return expr.replace_dims_and_symbols(dims, ())
    lhs, rhs = substituted(expr.lhs, dims), expr.rhs
    if type(rhs) is not AffineConstantExpr:
        rhs = substituted(rhs, dims)
    if lhs is expr.lhs and rhs is expr.rhs:
        return expr
    if expr.kind is _ADD:
        return _sum(lhs, rhs)
    if expr.kind is _MUL:
        return _product(lhs, rhs)
    return _quotient(expr.kind, lhs, rhs)


def value_at(expr: AffineExpr, point: Sequence[int]) -> int:
    """The value where dimension n is `point[n]`: the same as `expr.eval(point, ())`."""
    number, factor = 0, 1
    while type(expr) is AffineBinaryOpExpr:  # sums grow on their left
        rhs = expr.rhs
        value = rhs.value if type(rhs) is AffineConstantExpr else value_at(rhs, point)
        if expr.kind is _ADD:
            number += factor * value
        elif expr.kind is _MUL:
            factor *= value
        elif expr.kind is AffineBinaryOpKind.CeilDiv:
            return number + factor * -(-value_at(expr.lhs, point) // value)
        else:
            return number + factor * expr.eval(point, ())
        expr = expr.lhs
    if type(expr) is AffineDimExpr:
        return number + factor * point[expr.position]
    if type(expr) is AffineConstantExpr:
        return number + factor * expr.value
    return number + factor * expr.eval(point, ())


def difference(a: AffineExpr, b: AffineExpr) -> AffineExpr:
    """The same as `a - b`."""
    return _sum(a, _product(b, _MINUS_ONE))


def sum_of(a: AffineExpr, b: AffineExpr) -> AffineExpr:
    """The same as `a + b`."""
    return _sum(a, b)


def used_dims(expr: AffineExpr) -> set[int]:
    """The same as `expr.used_dims()`."""
    found: set[int] = set()
    _add_used(expr, found)
    return found


def _add_used(expr: AffineExpr, found: set[int]) -> None:
    if type(expr) is AffineDimExpr:
        found.add(expr.position)
    elif type(expr) is AffineBinaryOpExpr:
        _add_used(expr.lhs, found)
        _add_used(expr.rhs, found)


def plus(expr: AffineExpr, number: int) -> AffineExpr:
    """The same as `expr + number`."""
    return _sum(expr, constant_expr(number))


def product(expr: AffineExpr, factor: int) -> AffineExpr:
    """The same as `expr * factor`."""
    return _product(expr, constant_expr(factor))


def quotient(expr: AffineExpr, divisor: int) -> AffineExpr:
    """The same as `expr // divisor`."""
    return _quotient(AffineBinaryOpKind.FloorDiv, expr, constant_expr(divisor))


def remainder(expr: AffineExpr, divisor: int) -> AffineExpr:
    """The same as `expr % divisor`."""
    return _quotient(AffineBinaryOpKind.Mod, expr, constant_expr(divisor))


_MINUS_ONE = constant_expr(-1)


def _sum(a: AffineExpr, b: AffineExpr) -> AffineExpr:
    """`a + b` as xDSL simplifies it: numbers on the right, and added up."""
    if type(a) is AffineConstantExpr:
        a, b = b, a
    if type(b) is AffineConstantExpr:
        if type(a) is AffineConstantExpr:
            return constant_expr(a.value + b.value)
        if b.value == 0:
            return a
        if type(a) is AffineBinaryOpExpr and a.kind is _ADD and type(a.rhs) is AffineConstantExpr:
            return _sum(a.lhs, constant_expr(a.rhs.value + b.value))
    return binary_expr(_ADD, a, b)


def _product(a: AffineExpr, b: AffineExpr) -> AffineExpr:
    """`a * b` as xDSL simplifies it: numbers on the right, multiplied, and distributed over sums."""
    if type(a) is AffineConstantExpr:
        a, b = b, a
    if type(b) is not AffineConstantExpr:
        return a * b  # which it refuses
    if type(a) is AffineConstantExpr:
        return constant_expr(a.value * b.value)
    if b.value == 1:
        return a
    if type(a) is AffineBinaryOpExpr:
        if a.kind is _MUL and type(a.rhs) is AffineConstantExpr:
            return _product(a.lhs, constant_expr(a.rhs.value * b.value))
        if a.kind is _ADD:
            return _sum(_product(a.lhs, b), _product(a.rhs, b))
    return binary_expr(_MUL, a, b)


def _quotient(kind: AffineBinaryOpKind, a: AffineExpr, b: AffineExpr) -> AffineExpr:
    """A floordiv, ceildiv or mod as xDSL simplifies it: worked out for two numbers."""
    if type(a) is AffineConstantExpr or type(b) is not AffineConstantExpr:
        return AffineExpr.binary(kind, a, b)
    return binary_expr(kind, a, b)
