"""
Affine dimensions and numbers, the same object each time.

Steps ask for them by the thousand, and to make a frozen object takes several times as long as to find it.
"""

from __future__ import annotations

from functools import lru_cache

from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr


@lru_cache(maxsize=256)
def dim_expr(position: int) -> AffineExpr:
    """The same as `AffineExpr.dimension(position)`."""
    return AffineDimExpr(position)


@lru_cache(maxsize=4096, typed=True)
def constant_expr(value: int) -> AffineExpr:
    """The same as `AffineExpr.constant(value)`."""
    return AffineConstantExpr(value)
