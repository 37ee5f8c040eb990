"""Compound graph operations (softmax, layer_norm, mean …) said with simpler ones."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from ...analysis.levels import Level
from ...analysis.operations import operations_in
from ...dialects.graph import GraphOp
from ...dialects.graph.expressions import Decomposable, DecomposableInParts, Expr, built_before
from ...dialects.interfaces import Elementwise
from ...dialects.shaped import shape_of, tensor_type
from ..stepwell_pass import StepwellPass


def decompose(op: Operation) -> None:
    """
    Replace `op`, when it decomposes, by simpler operations, and these likewise.

    Raises StepwellError when an extent it needs is `?`.
    """
    if not _decomposes(type(op)):
        return
    assert isinstance(op, Decomposable)
    behind = finishing(op) if isinstance(op, DecomposableInParts) else []
    last = behind[-1] if behind else op
    inserted: list[Operation] = []
    builder = built_before(last)
    builder.operation_insertion_handler.append(inserted.append)
    operands = [Expr(value, builder) for value in op.operands]
    if isinstance(op, DecomposableInParts):
        found = op.decompose_finished(lambda part: finished(part, op, behind), *operands)
    else:
        found = op.decompose(*operands)
    values = [e.value for e in ((found,) if isinstance(found, Expr) else found)]
    for value, old in zip(values, last.results, strict=True):
        if value.owner in inserted and old.name_hint is not None:
            value.name_hint = old.name_hint
    Rewriter.replace_op(last, [], values)
    for done in reversed([op, *behind][:-1]):
        Rewriter.erase_op(done)
    for new_op in inserted:
        decompose(new_op)


def finishing(op: DecomposableInParts) -> list[GraphOp]:
    """
    The functions of elements that an operation's result goes through, one after the other and nowhere else, and that take
    the same for all parts of it.
    """
    assert isinstance(op, Operation)
    found: list[GraphOp] = []
    value: SSAValue = op.results[0]
    while value.has_one_use():
        (use,) = value.uses
        user = use.operation
        if not isinstance(user, Elementwise) or not isinstance(user, GraphOp):
            break
        shape, others = shape_of(value), [v for v in user.operands if v is not value]
        if len(user.results) != 1 or shape_of(user.results[0]) != shape:
            break
        if user.parent is not op.parent or not all(_is_for_all_parts(v, op, shape) for v in others):
            break
        found.append(user)
        value = user.results[0]
    return found


def _is_for_all_parts(value: SSAValue, op: DecomposableInParts, shape: Sequence[int]) -> bool:
    own = (*[1] * (len(shape) - len(shape_of(value))), *shape_of(value))
    return all(extent == 1 for extent in own[op.WHOLE_AXES :])


def finished(part: Expr, op: DecomposableInParts, behind: Sequence[GraphOp]) -> Expr:
    """A part of an operation's result, after these functions of elements."""
    assert isinstance(op, Operation)
    value, old = part.value, op.results[0]
    for function in behind:
        (result,) = function.results
        element = tensor_type(result).get_element_type()
        made = type(function).create(
            operands=[value if operand is old else operand for operand in function.operands],
            result_types=[TensorType(element, shape_of(value))],
            properties=function.properties,
            attributes=function.attributes,
        )
        part.builder.insert(made)
        value, old = made.results[0], result
    return Expr(value, part.builder)


@cache
def _decomposes(kind: type[Operation]) -> bool:
    return issubclass(kind, Decomposable)


def decompose_all(module: ModuleOp) -> None:
    """`decompose` every operation of the module."""
    for op in operations_in(module):
        decompose(op)


class GraphDecomposePass(StepwellPass):
    """
    Express softmax, log_softmax, layer_norm and mean by simpler graph operations.

    Of what is made of parts of a result, as transposed convolutions are, each part goes through the functions of elements
    that the result goes through, before all are put together: where it is computed, rather than where they are.
    """

    name = "graph-decompose"
    level_in: ClassVar[Level] = Level.GRAPH
    level_out: ClassVar[Level] = Level.GRAPH

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        decompose_all(op)
