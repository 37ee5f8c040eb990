"""Comparisons and clamps of integers that always find the same."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i1
from xdsl.ir import SSAValue

from ...analysis.integer_ranges import IntegerRanges
from ...analysis.levels import Level
from ...analysis.operations import operations_of_kind
from ...dialects import te
from ...frozen import frozen
from ..stepwell_pass import StepwellPass
from ..unused import erase_unused_in

_DECIDABLE = (arith.CmpiOp, arith.MaxSIOp, arith.MinSIOp, arith.MaxUIOp, arith.MinUIOp)


@frozen
class TeIntRangeOptimizationsPass(StepwellPass):
    """
    Leave out comparisons and extremes of integers whose result follows from the ranges of their operands.

    Before: `%j = min(max(%i < 0 ? %i + 256 : %i, 0), 255)`, with `%i` extended from eight unsigned bits. After: `%i`. An
    index that is what a table's elements are counted by, or that an iterator is, needs neither to be counted from the end nor
    to be clamped, and what reads at it is no arithmetic.
    """

    name = "te-int-range-optimizations"
    level_in = Level.TE
    level_out = Level.TE

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for compute in operations_of_kind(op, te.ComputeOp):
            _optimize(compute)


def _optimize(compute: te.ComputeOp) -> None:
    block = compute.body.block
    if not any(isinstance(op, _DECIDABLE) for op in block.ops):
        return
    ranges = IntegerRanges(compute)
    constants: dict[bool, SSAValue] = {}
    has_changed = False
    for op in list(block.ops):
        found = ranges.chosen(op)
        if isinstance(op, arith.CmpiOp) and (known := ranges.decided(op)) is not None:
            if known not in constants:
                constant = arith.ConstantOp(IntegerAttr(int(known), i1))
                block.insert_op_before(constant, block.first_op or op)
                constants[known] = constant.result
            found = constants[known]
        elif isinstance(op, arith.SelectOp) and op.cond in constants.values():
            found = op.lhs if op.cond is constants.get(True) else op.rhs
        if found is None:
            ranges.add(op)
        else:
            op.results[0].replace_all_uses_with(found)
            has_changed = True
    if has_changed:
        erase_unused_in(block)
