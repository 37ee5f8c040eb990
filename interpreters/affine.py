"""Affine maps and sets as Python functions, on ints and on whole NumPy arrays of ints."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
    AffineSet,
    AffineSymExpr,
)

_OPERATOR = {
    AffineBinaryOpKind.Add: "({} + {})",
    AffineBinaryOpKind.Mul: "({} * {})",
    AffineBinaryOpKind.Mod: "({} % {})",
    AffineBinaryOpKind.FloorDiv: "({} // {})",
    AffineBinaryOpKind.CeilDiv: "(-(-{} // {}))",
}


@lru_cache(maxsize=4096)
def compile_map(map_: AffineMap) -> Callable[..., tuple[Any, ...]]:
    """A function of the dimensions, then the symbols, that gives the tuple of results."""
    results = "".join(f"{_source(expr)}, " for expr in map_.results)
    return _function(map_.num_dims, map_.num_symbols, f"({results})")


@lru_cache(maxsize=4096)
def compile_bound(map_: AffineMap, join: str) -> Callable[..., int]:
    """A function that gives the `join` ("max" or "min") of the map's results."""
    results = [_source(expr) for expr in map_.results]
    body = results[0] if len(results) == 1 else f"{join}({', '.join(results)})"
    return _function(map_.num_dims, map_.num_symbols, body)


@lru_cache(maxsize=4096)
def compile_set(set_: AffineSet) -> Callable[..., bool]:
    """A function that tells whether all constraints hold."""
    constraints = [
        f"{_source(constraint.lhs)} {constraint.kind.value} {_source(constraint.rhs)}"
        for constraint in set_.constraints
    ]
    return _function(set_.num_dims, set_.num_symbols, " and ".join(constraints) or "True")


def selected_dims(exprs: Sequence[AffineExpr]) -> tuple[int, ...] | None:
    """The dimensions when every expression is one dimension and no two are the same, else None."""
    dims = tuple(expr.position for expr in exprs if isinstance(expr, AffineDimExpr))
    return dims if len(dims) == len(exprs) == len(set(dims)) else None


def _function(num_dims: int, num_symbols: int, body: str) -> Callable[..., Any]:
    names = [f"d{i}" for i in range(num_dims)] + [f"s{i}" for i in range(num_symbols)]
    # The text holds only integers, the names above and operators.
    return eval(f"lambda {', '.join(names)}: {body}")


def _source(expr: AffineExpr) -> str:
    match expr:
        case AffineConstantExpr():
            return f"({expr.value})" if expr.value < 0 else str(expr.value)
        case AffineDimExpr():
            return f"d{expr.position}"
        case AffineSymExpr():
            return f"s{expr.position}"
        case AffineBinaryOpExpr():
            return _OPERATOR[expr.kind].format(_source(expr.lhs), _source(expr.rhs))
        case _:
            raise ValueError(f"not an affine expression: {expr}")
