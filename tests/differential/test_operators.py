"""
Every operation of the graph dialect, on element types it takes and on ragged, size-1, zero-size and 0-d
shapes: at each level it gives what NumPy gives, natively too. On one element type, drawn for a sample of the operations
of each kind, without a schedule; the others, and all types, scheduled, among the slow tests. The text is a fixed point at
the levels that have operations for it, and at one of those below, where all are made of the same few: another one from
operation to operation.
"""

from __future__ import annotations

from random import Random

import pytest
from differential.agreement import QUICK, check_agreement
from differential.operator_cases import element_types_of
from differential.operator_programs import operator_program
from differential.random_operations import maker_of
from stepwell.analysis.levels import Level
from stepwell.dialects import graph
from stepwell.dialects.dtypes import ELEMENT_TYPES
from stepwell.dialects.graph.base import OPERATIONS
from xdsl.dialects.builtin import TensorType
from xdsl.dialects.test import TestOp
from xdsl.utils.exceptions import VerifyException

EVERY_OPERATION = pytest.mark.parametrize(
    "op", OPERATIONS, ids=[op.name.removeprefix("graph.") for op in OPERATIONS]
)


def kind_of(op: type[graph.GraphOp]) -> str:
    """What it has in common with others: element-wise with how many operands, a reduction, and so on."""
    return op.__bases__[0].__name__


def texts_of(op: type[graph.GraphOp], types: str) -> tuple[Level, ...]:
    """Levels whose text is looked at."""
    below = Random(f"{op.name}, {types}").choice((Level.LOOP, Level.CORE, Level.LLVM))
    return Level.GRAPH, Level.TE, below


@pytest.mark.sampled(1, by="kind")
@pytest.mark.parametrize(
    ("kind", "op"),
    [pytest.param(kind_of(op), op, id=op.name.removeprefix("graph.")) for op in OPERATIONS],
)
def test_agrees_at_every_level(kind: str, op: type[graph.GraphOp]):
    elements = list(element_types_of(op))
    drawn = [Random(op.name).choice(elements)]
    program = operator_program(op, drawn)
    texts = texts_of(op, "one type")
    check_agreement(
        program.module, program.inputs, program.expected(), fixed_points=texts, options=QUICK
    )


@pytest.mark.slow
@EVERY_OPERATION
def test_agrees_on_every_element_type(op: type[graph.GraphOp]):
    program = operator_program(op)
    texts = texts_of(op, "all types")
    check_agreement(program.module, program.inputs, program.expected(), fixed_points=texts)


@EVERY_OPERATION
def test_is_generated_by_the_fuzzer(op: type[graph.GraphOp]):
    assert maker_of(op) is not None


@pytest.mark.parametrize(
    "op",
    [
        op
        for op in OPERATIONS
        if issubclass(op, graph.UnaryElementwiseOp | graph.BinaryElementwiseOp)
    ],
    ids=lambda op: op.name,
)
def test_refuses_other_element_types(op: type[graph.GraphOp]):
    for element in set(ELEMENT_TYPES) - set(element_types_of(op)):
        operand = TestOp(result_types=[TensorType(element, [3])]).results[0]
        binary = issubclass(op, graph.BinaryElementwiseOp)
        made = op(operand, operand) if binary else op(operand)
        with pytest.raises(VerifyException, match=r"found element type .*, expected one of"):
            made.verify_()
