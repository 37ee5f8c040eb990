"""
Control flow: operations with regions of graph operations, which may use the values around them.

Constant conditions and scans of no steps fold away, a loop that only counts is a scan, and what nobody asks for is not
carried; what is left goes down to te as operations of the same form.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from xdsl.interfaces import HasCanonicalizationPatternsInterface
from xdsl.ir import Block, Operation, OpResult, Region, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, lazy_traits_def, var_operand_def
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.rewriter import InsertPoint
from xdsl.traits import HasParent, IsTerminator, Pure
from xdsl.transforms.dead_code_elimination import is_trivially_dead, would_be_trivially_dead

from ..control_flow import If, Scan, While
from ..dtypes import numpy_dtype
from ..shaped import tensor_type
from .base import constant_array
from .constants import ConstantOp
from .counters import counter_of

MOST_NUMBERS = 1 << 20
"""A counter becomes a table of its numbers, in which a step looks up its own, up to this many."""
MOST_STEPS = np.iinfo(np.int64).max
"""What the number of a scan's steps has room for."""


@irdl_op_definition
class YieldOp(IRDLOperation):
    """Ends a region with the tensors that it gives."""

    name = "graph.yield"

    values = var_operand_def()
    traits = lazy_traits_def(lambda: (IsTerminator(), HasParent(ScanOp, WhileOp, IfOp), Pure()))
    assembly_format = "attr-dict ($values^ `:` type($values))?"

    def __init__(self, *values: SSAValue | Operation):
        super().__init__(operands=[values])


@irdl_op_definition
class ScanOp(Scan, HasCanonicalizationPatternsInterface):
    """A recurrence: `Scan` of graph operations. Cumulative sums, recurrent networks, counted loops."""

    name = "graph.scan"

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        return (_ScanOfNoSteps(), _UnusedInScan())


@irdl_op_definition
class WhileOp(While, HasCanonicalizationPatternsInterface):
    """A loop of a number of steps that is known when it runs: `While` of graph operations."""

    name = "graph.while"

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        return (_WhileNever(), _WhileCounts(), _UnusedInWhile())


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


class _WhileCounts(RewritePattern):
    """
    Before: `while i < 9: i, x = i + 1, f(i, x)` from a known i. After: a scan over the numbers i.

    A counter of more than `MOST_NUMBERS` stays part of the state.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: WhileOp, rewriter: PatternRewriter, /) -> None:
        counter = counter_of(op) if _known(op.condition) else None
        if counter is None or counter.trips > MOST_STEPS:
            return
        block, position, states = op.body.block, counter.position, range(len(op.carried))
        if counter.trips > MOST_NUMBERS:
            _keep(block, states, [n + 1 for n in states], rewriter)
            scan = ScanOp(counter.trips, op.carried, [], op.detach_region(op.body))
            rewriter.replace(op, scan)
            return
        arg = block.args[position]
        dtype = numpy_dtype(tensor_type(arg).get_element_type())
        numbers = ConstantOp(counter.numbers(dtype))
        last = ConstantOp(np.array(counter.last, dtype))
        number = rewriter.insert_block_argument(block, len(states), arg.type)
        number.name_hint = arg.name_hint
        rewriter.replace_all_uses_with(arg, number)
        kept = [n for n in states if n != position]
        _keep(block, [*kept, len(states)], [n + 1 for n in kept], rewriter)
        carried = [op.carried[n] for n in kept]
        scan = ScanOp(counter.trips, carried, [numbers.result], op.detach_region(op.body))
        results: list[SSAValue] = [*scan.outputs]
        results.insert(position, last.result)
        rewriter.replace(op, [numbers, last, scan], results)


class _UnusedInScan(RewritePattern):
    """A scan without states, sequences and stacked results that make no difference to what is asked for."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ScanOp, rewriter: PatternRewriter, /) -> None:
        block, count = op.body.block, len(op.carried)
        if all(value.first_use for value in (*op.outputs, *block.args)):
            return
        given = op.yielded(block)
        stacked = [n for n, value in enumerate(op.stacked, count) if value.first_use]
        states = _needed(op, given[:count], [given[n] for n in stacked])
        slices = [n for n in range(count, len(block.args)) if block.args[n].first_use]
        args, results = [*states, *slices], [*states, *stacked]
        if len(args) == len(block.args) and len(results) == len(op.outputs):
            return
        _keep(block, args, results, rewriter)
        scan = ScanOp(
            op.steps.value.data,
            [op.carried[n] for n in states],
            [op.sequences[n - count] for n in slices],
            op.detach_region(op.body),
            reverse=op.reverse is not None,
        )
        rewriter.replace(op, scan, _in_place(results, scan, op))


class _UnusedInWhile(RewritePattern):
    """A loop without states that make no difference to what is asked for."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: WhileOp, rewriter: PatternRewriter, /) -> None:
        if all(value.first_use for value in op.outputs):
            return
        go, *following = op.yielded(op.body.block)
        states = _needed(op, following, [go])
        if len(states) == len(following):
            return
        _keep(op.body.block, states, [0, *(n + 1 for n in states)], rewriter)
        carried = [op.carried[n] for n in states]
        loop = WhileOp(op.condition, carried, op.detach_region(op.body))
        rewriter.replace(op, loop, _in_place(states, loop, op))


def _needed(
    op: ScanOp | WhileOp, following: Sequence[SSAValue], asked: Iterable[SSAValue]
) -> list[int]:
    """
    The positions of the states that some of the values `asked`, or of the last states that have uses, depend on, or an
    operation with an effect.
    """
    block = op.body.block
    states = block.args[: len(following)]
    place: dict[SSAValue, int] = {arg: n for n, arg in enumerate(states)}
    used = {n for n, value in enumerate(op.outputs[: len(following)]) if value.first_use}
    found, seen = set[int](), set[SSAValue]()
    waiting = [*asked, *(following[n] for n in used)]
    for inner in block.ops:
        if inner is not block.last_op and not would_be_trivially_dead(inner):
            waiting += _operands_within(inner)
    while waiting:
        value = waiting.pop()
        if value in seen:
            continue
        seen.add(value)
        if value in place:
            found.add(place[value])
            waiting.append(following[place[value]])
        elif isinstance(value, OpResult) and value.owner.parent is block:
            waiting += _operands_within(value.owner)
    return sorted(found | used)


def _operands_within(op: Operation) -> list[SSAValue]:
    """The operands of an operation and of those in its regions."""
    return [operand for inner in op.walk() for operand in inner.operands]


def _keep(
    block: Block, args: Sequence[int], given: Sequence[int], rewriter: PatternRewriter
) -> None:
    """Leave a body these arguments and these of the values that it yields, with what they need."""
    terminator = block.last_op
    assert isinstance(terminator, YieldOp)
    rewriter.replace(terminator, YieldOp(*(terminator.values[n] for n in given)))
    for inner in reversed([*block.ops]):
        if is_trivially_dead(inner):
            rewriter.erase(inner)
    for arg in reversed(block.args):
        if arg.index not in args:
            rewriter.erase_block_argument(arg)


def _in_place(kept: Sequence[int], new: Operation, old: Operation) -> list[SSAValue | None]:
    """The results of the new operation at the places that they had among those of the old one."""
    results = dict(zip(kept, new.results, strict=True))
    return [results.get(n) for n in range(len(old.results))]


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
