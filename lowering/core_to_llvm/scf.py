"""
`scf` to `llvm`: structured control flow as blocks.

xDSL's `convert-scf-to-cf` does the same one level up for `for`, `if` and `index_switch`; this pass takes
either form. Doing it here needs no second walk, and covers `while` and `execute_region`. What becomes
of `parallel` is in parallel.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import arith, llvm, scf, vector
from xdsl.dialects.builtin import IndexType, VectorType, i1, i64
from xdsl.ir import Block, Operation, Region, SSAValue

from ...analysis.frames import constant_value
from ...analysis.operations import blocks_of, operands_of, operations_of
from ...dialects.dtypes import bit_width
from ...dialects.loop import UNROLLED
from ...errors import StepwellError
from .advancing import AdvancingPointers
from .cf import branch_on, lower_region
from .emitter import Emitter, Handler, unsupported
from .loop_hints import (
    NO_UNROLL,
    NO_VECTORS,
    UNROLL,
    branch_back,
    is_written_out,
)
from .parallel import convert_parallel
from .properties import NO_OVERFLOW, NSW
from .types import POINTER, element_bytes

SHORT = 4
"""
Iterations of a loop that LLVM may write out as it sees fit. Of longer ones a schedule says it (`unroll`): LLVM would
write out whole rows of the size of a cache, and keep them in registers that there are not.
"""

MOST_LOADED = 1024
"""
Bytes of vectors that all iterations of such a loop load, or fill with a number, from which it is left as it is: what they load is
kept for a later loop that is written out too, and half of the largest register files (32 vectors of 64 bytes) are as many.
"""


def _block(region: Region, op: Operation) -> Block:
    """The one block of a region."""
    blocks = region.blocks
    if len(blocks) != 1 or blocks.first is None:
        raise unsupported(op, f"with {len(blocks)} blocks in a region")
    return blocks.first


def _lower_body(e: Emitter, block: Block) -> list[SSAValue]:
    """Lower a block at the current place; the values of the `scf.yield` it ends with."""
    e.lower_block(block)
    assert block.last_op is not None
    return e.flatten(block.last_op.operands)


def _convert_for(e: Emitter, op: Operation) -> None:
    """
    entry: br header(lower, inits, pointers)
    header(i, carried, pointers): cond_br i < upper, inside, after
    inside: ...; br header(i + step, yielded, pointers further on)
    """
    assert isinstance(op, scf.ForOp)
    _check_counts(op)
    body = _block(op.body, op)
    header = e.block_for(body.args, op)
    inside, after = Block(), Block()
    operands = list(operands_of(op))
    lower, upper, step = e.values(operands[:3])
    advancing = AdvancingPointers(e, op, body)
    e.branch(header, [lower, *e.flatten(operands[3:]), *advancing.start])
    e.start(header)
    carried = len(header.args)
    pointers = [header.insert_arg(POINTER, len(header.args)) for _ in advancing.start]
    e.unflatten(body.args, header.args[:carried])
    counter = header.args[0]
    advancing.enter(pointers)
    e.branch_if(e.compare("slt", counter, upper, i1), inside, after)
    e.start(inside)
    yielded = _lower_body(e, body)
    # An index counts elements in memory and stays far from wrapping; narrower integers may not.
    flags = NSW if counter.type == i64 else NO_OVERFLOW
    following = e.emit(llvm.AddOp, (counter, step), counter.type, {"overflowFlags": flags})
    branch_back(e, header, [following, *yielded, *advancing.advanced(pointers)], _hints(op, body))
    e.start(after)
    e.unflatten(op.results, header.args[1:carried])


def _check_counts(op: scf.ForOp) -> None:
    """Raise StepwellError for a loop that would never end: its counter wraps before it is at an end that is a number."""
    lower, upper, step = map(constant_value, _bounds(op))
    if lower is None or upper is None or step is None or step < 1 or lower >= upper:
        return
    type_ = op.body.block.args[0].type
    bits = 64 if isinstance(type_, IndexType) else bit_width(type_)
    beyond = upper + step - 1 - (upper - 1 - lower) % step
    if beyond >= 2 ** (bits - 1):
        raise StepwellError(
            f"found a loop from {lower} to {upper} by {step} whose counter would be {beyond} after the last iteration, "
            f"expected it to fit into {bits} bits with a sign; count from zero",
            op=op,
        )


def _hints(op: scf.ForOp, body: Block) -> list[str]:
    hints = [NO_VECTORS] if UNROLLED in op.attributes or _has_extremes(body) else []
    if is_written_out(op):
        hints.append(UNROLL)
    elif UNROLLED in op.attributes or not _is_short(op, body):
        hints.append(NO_UNROLL)
    return hints


def _has_extremes(block: Block) -> bool:
    """
    Whether the greater or lesser number is taken of scalars in a block, or under a condition in it, and not in a loop there. LLVM 22 may end the
    process where it puts a loop that carries one into lanes: by an assertion that two of its models of cost agree, one of which leaves out
    what NaNs take. (`LoopVectorizationPlanner::computeBestVF`)
    """
    for op in operations_of(block):
        if isinstance(op, (arith.MaxnumfOp, arith.MinnumfOp)):
            if not isinstance(op.result.type, VectorType):
                return True
        elif type(op) is scf.IfOp and any(map(_has_extremes, blocks_of(op))):
            return True
    return False


def _bounds(op: scf.ForOp) -> tuple[SSAValue, SSAValue, SSAValue]:
    """The lower bound, the upper one and the step."""
    lower, upper, step, *_ = operands_of(op)
    return lower, upper, step


def _is_short(op: scf.ForOp, body: Block) -> bool:
    """Whether the loop has a few iterations only, as numbers in its bounds say, and they load few vectors."""
    lower, upper, step_value = _bounds(op)
    step = constant_value(step_value)
    if step is None or step < 1:
        return False
    most = min(_distances(lower, upper), default=None)
    if most is None or most > SHORT * step:
        return False
    return -(-most // step) * _loaded(body) < MOST_LOADED


def _loaded(body: Block) -> int:
    """Bytes of vectors that a loop's body loads, in all iterations of the loops in it that numbers tell."""
    found = 0
    for op in operations_of(body):
        if type(op) in _FILLING:
            (result,) = op.results
            found += element_bytes(result.type)
        inside = sum(map(_loaded, blocks_of(op))) if op.regions else 0
        if inside and isinstance(op, scf.ForOp):
            lower, upper, step_value = _bounds(op)
            step = constant_value(step_value)
            most = min(_distances(lower, upper), default=None)
            inside *= -(-most // step) if step and most is not None else 1
        found += inside
    return found


_FILLING = frozenset((vector.LoadOp, vector.MaskedLoadOp, vector.BroadcastOp))
"""What fills vectors from memory; a number that stands in all lanes was mostly loaded, too."""


def _distances(lower: SSAValue, upper: SSAValue) -> Iterator[int]:
    """Numbers that the difference of two values is at most: of a minimum, those for its terms."""
    first, last, term = constant_value(lower), constant_value(upper), upper.owner
    if first is not None and last is not None:
        yield last - first
    elif type(term) is arith.MinSIOp:
        for operand in operands_of(term):
            yield from _distances(lower, operand)
    elif type(term) is arith.AddiOp and lower in operands_of(term):
        offsets = (constant_value(operand) for operand in operands_of(term) if operand is not lower)
        yield from (offset for offset in offsets if offset is not None)


def _convert_if(e: Emitter, op: Operation) -> None:
    assert isinstance(op, scf.IfOp)
    then, after = Block(), e.block_for(op.results, op)
    has_else = bool(op.false_region.blocks)
    otherwise = Block() if has_else else after
    e.branch_if(e.value(op.cond), then, otherwise)
    e.start(then)
    e.branch(after, _lower_body(e, _block(op.true_region, op)))
    if has_else:
        e.start(otherwise)
        e.branch(after, _lower_body(e, _block(op.false_region, op)))
    e.start(after)
    e.unflatten(op.results, after.args)


def _convert_while(e: Emitter, op: Operation) -> None:
    """
    entry: br before(inits)
    before(args): ...; cond_br condition, body(forwarded), after(forwarded)
    body(forwarded): ...; br before(yielded)
    """
    assert isinstance(op, scf.WhileOp)
    old_before, old_body = _block(op.before_region, op), _block(op.after_region, op)
    before, body = e.block_for(old_before.args, op), e.block_for(old_body.args, op)
    after = e.block_for(op.results, op)
    e.branch(before, e.flatten(op.arguments))
    e.start(before)
    e.unflatten(old_before.args, before.args)
    e.lower_block(old_before)
    condition = old_before.last_op
    assert isinstance(condition, scf.ConditionOp)
    forwarded = e.flatten(condition.args)
    e.branch_if(e.value(condition.condition), body, after, forwarded, forwarded)
    e.start(body)
    e.unflatten(old_body.args, body.args)
    e.branch(before, _lower_body(e, old_body))
    e.start(after)
    e.unflatten(op.results, after.args)


def _convert_index_switch(e: Emitter, op: Operation) -> None:
    assert isinstance(op, scf.IndexSwitchOp)
    after = e.block_for(op.results, op)
    starts: list[tuple[Region, Block]] = [(region, Block()) for region in op.case_regions]
    branch_on(
        e,
        e.value(op.arg),
        [
            (value, block, ())
            for value, (_, block) in zip(op.cases.get_values(), starts, strict=True)
        ],
    )
    e.branch(after, _lower_body(e, _block(op.default_region, op)))
    for region, start in starts:
        e.start(start)
        e.branch(after, _lower_body(e, _block(region, op)))
    e.start(after)
    e.unflatten(op.results, after.args)


def _convert_execute_region(e: Emitter, op: Operation) -> None:
    assert isinstance(op, scf.ExecuteRegionOp)
    after = e.block_for(op.results, op)
    e.exits.append(after)
    lower_region(e, op.region, op)
    e.exits.pop()
    e.start(after)
    e.unflatten(op.results, after.args)


def _convert_yield(e: Emitter, op: Operation) -> None:
    """Only `execute_region` has several; the other operations read theirs themselves."""
    if isinstance(op.parent_op(), scf.ExecuteRegionOp):
        e.branch(e.exits[-1], e.flatten(op.operands))


def _convert_nothing(e: Emitter, op: Operation) -> None:
    """A terminator that the operation around it has taken care of."""


SCF: dict[type[Operation], Handler] = {
    scf.ConditionOp: _convert_nothing,
    scf.ExecuteRegionOp: _convert_execute_region,
    scf.ForOp: _convert_for,
    scf.IfOp: _convert_if,
    scf.IndexSwitchOp: _convert_index_switch,
    scf.ParallelOp: convert_parallel,
    scf.ReduceOp: _convert_nothing,
    scf.ReduceReturnOp: _convert_nothing,
    scf.WhileOp: _convert_while,
    scf.YieldOp: _convert_yield,
}
