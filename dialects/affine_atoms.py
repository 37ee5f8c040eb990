"""
Affine dimensions and numbers, the same object each time, what is made of two expressions, and maps.

Steps ask for them by the thousand, and to make a frozen object takes several times as long as to find it, or as to fill in
what it has.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
)


@lru_cache(maxsize=256)
def dim_expr(position: int) -> AffineExpr:
    """The same as `AffineExpr.dimension(position)`."""
    return AffineDimExpr(position)


@lru_cache(maxsize=4096, typed=True)
def constant_expr(value: int) -> AffineExpr:
    """The same as `AffineExpr.constant(value)`."""
    return AffineConstantExpr(value)


def binary_expr(kind: AffineBinaryOpKind, lhs: AffineExpr, rhs: AffineExpr) -> AffineExpr:
    """The same as `AffineBinaryOpExpr(kind, lhs, rhs)`, as it is written."""
    made: Any = object.__new__(AffineBinaryOpExpr)
    own: dict[str, object] = made.__dict__
    own["kind"] = kind
    own["lhs"] = lhs
    own["rhs"] = rhs
    return made


def map_over(num_dims: int, results: tuple[AffineExpr, ...]) -> AffineMap:
    """The same as `AffineMap(num_dims, 0, results)`."""
    made: Any = object.__new__(AffineMap)
    own: dict[str, object] = made.__dict__
    own["num_dims"] = num_dims
    own["num_symbols"] = 0
    own["results"] = results
    return made
