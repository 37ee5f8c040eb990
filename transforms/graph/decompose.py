"""Compound graph operations (softmax, layer_norm, mean …) said with simpler ones."""

from __future__ import annotations

from functools import cache
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.rewriter import Rewriter

from ...analysis.levels import Level
from ...analysis.operations import operations_in
from ...dialects.graph.expressions import Decomposable, Expr, built_before
from ..stepwell_pass import StepwellPass


def decompose(op: Operation) -> None:
    """
    Replace `op`, when it decomposes, by simpler operations, and these likewise.

    Raises StepwellError when an extent it needs is `?`.
    """
    if not _decomposes(type(op)):
        return
    assert isinstance(op, Decomposable)
    inserted: list[Operation] = []
    builder = built_before(op)
    builder.operation_insertion_handler.append(inserted.append)
    found = op.decompose(*(Expr(value, builder) for value in op.operands))
    values = [e.value for e in ((found,) if isinstance(found, Expr) else found)]
    for value, old in zip(values, op.results, strict=True):
        if value.owner in inserted and old.name_hint is not None:
            value.name_hint = old.name_hint
    Rewriter.replace_op(op, [], values)
    for new_op in inserted:
        decompose(new_op)


@cache
def _decomposes(kind: type[Operation]) -> bool:
    return issubclass(kind, Decomposable)


def decompose_all(module: ModuleOp) -> None:
    """`decompose` every operation of the module."""
    for op in operations_in(module):
        decompose(op)


class GraphDecomposePass(StepwellPass):
    """Say softmax, log_softmax, layer_norm and mean with simpler graph operations."""

    name = "graph-decompose"
    level_in: ClassVar[Level] = Level.GRAPH
    level_out: ClassVar[Level] = Level.GRAPH

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        decompose_all(op)
