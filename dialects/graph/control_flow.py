"""
Control flow: operations with regions of graph operations, which may use the values around them.

Constant conditions and scans of no steps fold away; what is left goes down to te as operations of the same form.
"""

from __future__ import annotations

import numpy as np
from xdsl.interfaces import HasCanonicalizationPatternsInterface
from xdsl.ir import Operation, Region, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, traits_def, var_operand_def
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.rewriter import InsertPoint
from xdsl.traits import IsTerminator, Pure

from ..control_flow import If, Scan, While
from ..dtypes import numpy_dtype
from ..shaped import tensor_type
from .base import constant_array
from .constants import ConstantOp


@irdl_op_definition
class YieldOp(IRDLOperation):
    """Ends a region with the tensors that it gives."""

    name = "graph.yield"

    values = var_operand_def()
    traits = traits_def(IsTerminator(), Pure())
    assembly_format = "attr-dict ($values^ `:` type($values))?"

    def __init__(self, *values: SSAValue | Operation):
        super().__init__(operands=[values])


@irdl_op_definition
class ScanOp(Scan, HasCanonicalizationPatternsInterface):
    """A recurrence: `Scan` of graph operations. Cumulative sums, recurrent networks, counted loops."""

    name = "graph.scan"

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        return (_ScanOfNoSteps(),)


@irdl_op_definition
class WhileOp(While, HasCanonicalizationPatternsInterface):
    """A loop of a number of steps that is known when it runs: `While` of graph operations."""

    name = "graph.while"

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        return (_WhileNever(),)


@irdl_op_definition
class IfOp(If, HasCanonicalizationPatternsInterface):
    """One of two computations, of which the other is not run: `If` of graph operations."""

    name = "graph.if"

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        return (_IfKnown(),)


class _ScanOfNoSteps(RewritePattern):
    """scan of 0 steps → the initial state, and empty tensors"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ScanOp, rewriter: PatternRewriter, /) -> None:
        if op.steps.value.data:
            return
        types = [tensor_type(value) for value in op.stacked]
        empty = [
            ConstantOp(np.zeros(type_.get_shape(), numpy_dtype(type_.get_element_type())))
            for type_ in types
        ]
        rewriter.replace(op, empty, [*op.carried, *(constant.result for constant in empty)])


class _WhileNever(RewritePattern):
    """while false → the initial state"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: WhileOp, rewriter: PatternRewriter, /) -> None:
        if _known(op.condition) is False:
            rewriter.replace(op, (), op.carried)


class _IfKnown(RewritePattern):
    """if true then a else b → a"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: IfOp, rewriter: PatternRewriter, /) -> None:
        known = _known(op.condition)
        if known is not None:
            _inline(op, op.then if known else op.otherwise, rewriter)


def _known(condition: SSAValue) -> bool | None:
    """The condition, where it is a constant."""
    array = constant_array(condition)
    return None if array is None else bool(array)


def _inline(op: Operation, region: Region, rewriter: PatternRewriter) -> None:
    """Replace an operation by what one of its regions does, which takes no arguments."""
    block = region.block
    terminator = block.last_op
    assert isinstance(terminator, YieldOp)
    given = list(terminator.values)
    rewriter.erase(terminator)
    rewriter.inline_block(block, InsertPoint.before(op))
    rewriter.replace(op, (), given)
