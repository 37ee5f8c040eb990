"""What an operation of the graph level is predicted to take in a kernel of its own: what rewrites of graphs ask."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseResourceAttr
from xdsl.ir import Block, Region, SSAValue
from xdsl.rewriter import InsertPoint

from ...dialects import te
from ...dialects.graph import GraphOp
from ...dialects.interfaces import DefinedInTe
from ...dialects.shaped import Tensor, tensor_type
from ...dialects.te.builder import TeBuilder, signless_tensor
from ...targets.target import Target
from ..facts import KernelFacts, facts_of_kernel
from .cost import Cost, kept_bytes
from .predictions import predicted_each


def predicted_alone(op: GraphOp, constant: Collection[int], target: Target) -> Cost | None:
    """
    The predicted time of one call on one thread, the operands of the numbers `constant` being known at compile time.

    None where the operation has no definition element by element, or no family plans its kernel.
    """
    (cost,) = predicted_alone_each([(op, constant)], target)
    return cost


def predicted_alone_each(
    asked: Sequence[tuple[GraphOp, Collection[int]]], target: Target
) -> list[Cost | None]:
    """The same for each of some operations with the numbers of its constant operands, perhaps side by side."""
    kernels = [_facts_alone(op, constant) for op, constant in asked]
    known = [facts for facts in kernels if facts is not None]
    costs = iter(predicted_each(known, target))
    return [None if facts is None else next(costs) for facts in kernels]


def _facts_alone(op: GraphOp, constant: Collection[int]) -> KernelFacts | None:
    """The facts of a kernel of an operation, which is made, looked at and dropped."""
    if not isinstance(op, DefinedInTe):
        return None
    types = [signless_tensor(tensor_type(operand)) for operand in op.operands]
    outside = Block(arg_types=types)
    inputs = [
        _some_constant(type_) if number in constant else outside.args[number]
        for number, type_ in enumerate(types)
    ]
    kernel = _kernel(op, inputs)
    facts = facts_of_kernel(kernel)
    kernel.erase()
    return facts


def copying(size: float, target: Target) -> float:
    """Seconds in which so many bytes are read and written."""
    rates, core = target.rates, target.core
    last = core.caches[-1]
    if size <= kept_bytes(core.cache(2)):
        return size / rates.copy_l2.core
    is_cached = last.level > 2 and size <= last.bytes // last.shared_by
    return size / (rates.copy_l3 if is_cached else rates.copy_memory).core


def _kernel(op: GraphOp, inputs: Sequence[SSAValue]) -> te.KernelOp:
    """The kernel of an operation that has these for operands."""
    assert isinstance(op, DefinedInTe)
    block = Block(arg_types=[value.type for value in inputs])
    builder = TeBuilder(
        Builder(InsertPoint.at_end(block)), dict(zip(op.operands, block.args, strict=True))
    )
    made = op.define(builder)
    values = (made,) if isinstance(made, SSAValue) else tuple(made)
    block.add_op(te.YieldOp(*values))
    return te.KernelOp(op.name, inputs, [value.type for value in values], Region(block))


def _some_constant(type_: Tensor) -> SSAValue:
    """A constant of a type: its elements do not matter here, and are nowhere."""
    return arith.ConstantOp(DenseResourceAttr.from_params("none", type_), type_).result
