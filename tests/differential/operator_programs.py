"""Programs that use a graph operation in every way that `operator_cases` lists."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from stepwell.dialects.graph.base import GraphOp
from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType
from xdsl.ir import Attribute, Block, Region

from .operator_case import Array, Case, example
from .operator_cases import cases_of, element_types_of
from .random_programs import Program


def _instances(
    op: type[GraphOp], elements: Sequence[Attribute]
) -> Iterator[tuple[Attribute, Case]]:
    for element in elements:
        for case in cases_of(op)(op, element):
            yield element, case


def operator_program(op: type[GraphOp], elements: Sequence[Attribute] | None = None) -> Program:
    """
    One function with every case of the operation, so that there is one module to lower and compile; for
    every element type it takes unless some are given.
    """
    block = Block()
    inputs: list[Array] = []
    ops: list[GraphOp] = []
    for element, case in _instances(op, elements or element_types_of(op)):
        operands: list[Any] = []
        for operand in case.operands:
            of, shape = element, operand
            if operand and isinstance(operand[0], Attribute):
                of, shape = operand
            operands.append(block.insert_arg(TensorType(of, shape), len(block.args)))
            operands[-1].name_hint = f"x{len(inputs)}"
            inputs.append(example(of, shape, len(inputs)))
        ops.append(case.build(*operands))
    block.add_ops(ops)
    results = [result for made in ops for result in made.results]
    block.add_op(func.ReturnOp(*results))
    types = FunctionType.from_lists(
        [arg.type for arg in block.args], [result.type for result in results]
    )
    return Program(ModuleOp([func.FuncOp("main", types, Region(block))]), inputs)
