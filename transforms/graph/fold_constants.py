"""What depends on no argument and is dear to compute, computed once and for all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint
from xdsl.traits import ConstantLike

from ...analysis.levels import Level
from ...analysis.operations import operations_in
from ...dialects.dtypes import numpy_dtype, signless
from ...dialects.graph.base import GraphOp, evaluated
from ...dialects.graph.expressions import built_before
from ...dialects.graph.shapes import element_count
from ...dialects.interfaces import Array, Elementwise
from ...dialects.scalar import ScalarBuilder
from ...dialects.shaped import shape_of, tensor_type
from ..remarks import remark
from ..stepwell_pass import StepwellPass
from ..unused import erase_unused
from .constant_operands import new_constant

LARGEST = 1 << 24
"""Bytes of a result that is kept."""

MOST_FLOPS = 1 << 28
"""What may be spent on one result and all it is computed from: NumPy takes half a second for it."""

_DIVISIONS = (
    arith.DivfOp
    | arith.DivSIOp
    | arith.DivUIOp
    | arith.FloorDivSIOp
    | arith.RemSIOp
    | arith.RemUIOp
)
_CHEAP = math.AbsFOp | math.AbsIOp | math.CeilOp | math.CopySignOp | math.FloorOp | math.TruncOp
"""of the operations of `math`, which are functions else"""


class GraphFoldConstantsPass(StepwellPass):
    """
    Compute at compile time what depends on no argument, where it is dearer than reading it.

    Before: `matmul(x, cos(iota * iota))`. After: `matmul(x, constant)`.

    Sums, products and numbers of positions stay in the kernels that use them element by element; what is replaced are
    results with functions, divisions or reductions in them, and any that are operands of what is no element-wise
    operation, as a product is, which would have to store them first. Results of a program stay, too: a program without
    arguments is run, not looked up. A result may have 16 MiB.
    """

    name = "graph-fold-constants"
    level_in: ClassVar[Level] = Level.GRAPH
    level_out: ClassVar[Level] = Level.GRAPH

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        known = _Known()
        chosen = [
            value
            for inner in operations_in(op)
            if known.add(inner)
            for value in inner.results
            if known.is_chosen(value)
        ]
        # Those that the others are computed from are still there.
        arrays = {value: known.array(value) for value in chosen}
        for value, array in arrays.items():
            _replace(value, array)


class _Known:
    """Values that depend on no argument."""

    def __init__(self) -> None:
        self._flops: dict[SSAValue, int] = {}
        """What a value costs with all that it is computed from."""
        self._is_dear: dict[SSAValue, bool] = {}
        self._arrays: dict[SSAValue, Array] = {}

    def add(self, op: Operation) -> bool:
        """Whether the results of the operation are known, those of its operands being known already."""
        if not isinstance(op, GraphOp) or op.regions:
            return False
        if any(operand not in self._flops for operand in op.operands):
            return False
        flops = op.flops() if op.COMPUTES else 0
        sizes = [_bytes(result) for result in op.results]
        if flops is None or any(size is None or size > LARGEST for size in sizes):
            return False
        total = flops + sum(self._flops[operand] for operand in op.operands)
        if total > MOST_FLOPS:
            return False
        is_dear = _is_dear(op) or any(self._is_dear[operand] for operand in op.operands)
        for result in op.results:
            self._flops[result], self._is_dear[result] = total, is_dear
        return True

    def is_chosen(self, value: SSAValue) -> bool:
        """Whether it is used by what is not known, and to be read rather than computed there."""
        op = value.owner
        assert isinstance(op, GraphOp)
        if op.has_trait(ConstantLike) or _repeats(op):
            return False
        users = [user for user in self._users(value) if not user.regions]
        if self._is_dear[value]:
            return bool(users)
        return self._flops[value] > 0 and any(
            user.COMPUTES and not isinstance(user, Elementwise) for user in users
        )

    def _users(self, value: SSAValue) -> Iterator[GraphOp]:
        """The operations that are not known, also of what repeats the elements."""
        for use in value.uses:
            op = use.operation
            if not isinstance(op, GraphOp):
                continue
            if not op.results or op.results[0] not in self._flops:
                yield op
            elif _repeats(op):
                for result in op.results:
                    yield from self._users(result)

    def array(self, value: SSAValue) -> Array:
        """The elements."""
        found = self._arrays.get(value)
        if found is None:
            op = value.owner
            assert isinstance(op, GraphOp)
            results = evaluated(op, *(self.array(operand) for operand in op.operands))
            self._arrays.update(zip(op.results, results, strict=True))
            found = self._arrays[value]
        return found


def _bytes(value: SSAValue) -> int | None:
    count = element_count(shape_of(value))
    return (
        None
        if count is None
        else count * numpy_dtype(tensor_type(value).get_element_type()).itemsize
    )


def _repeats(op: GraphOp) -> bool:
    """Whether it moves elements into a larger tensor, from which reading them would take longer."""
    if op.COMPUTES or not op.operands:
        return False
    sizes = [sum(_bytes(value) or 0 for value in values) for values in (op.operands, op.results)]
    return sizes[0] < sizes[1]


def _is_dear(op: GraphOp) -> bool:
    """Whether an element takes more than a few sums, products and comparisons."""
    if not op.COMPUTES:
        return False
    if not isinstance(op, Elementwise):
        return True
    elements = tuple(tensor_type(value).get_element_type() for value in op.operands)
    block = Block(arg_types=[signless(element) for element in elements])
    builder = ScalarBuilder(Builder(InsertPoint.at_end(block)), op.body_type)
    op.scalar(builder, *block.args)
    return any(
        isinstance(inner, _DIVISIONS)
        or (inner.name.startswith("math.") and not isinstance(inner, _CHEAP))
        for inner in block.ops
    )


def _replace(value: SSAValue, array: Array) -> None:
    op = value.owner
    assert isinstance(op, Operation)
    remark(op, f"computed at compile time: {array.size} elements that depend on no argument")
    constant = new_constant(array, value.name_hint or "constant", built_before(op)).value
    constant.name_hint = value.name_hint
    value.replace_all_uses_with(constant)
    erase_unused(op.results)
