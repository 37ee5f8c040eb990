"""
The rule for what goes between memory and the caches: results that are too large to stay are stored past
them, and the next row is fetched while one is worked on.
"""

from __future__ import annotations

from contextlib import suppress
from math import prod

from xdsl.dialects import func
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import BlockArgument, SSAValue

from ..dialects import loop
from ..dialects.loop import RunMode
from ..dialects.schedule.steps import Nontemporal, Prefetch, Unroll
from ..dialects.shaped import memref_type
from ..targets.core import LINE_BYTES
from ..targets.target import Target
from ..transforms.step_support.refusal import Refusal
from .facts import cache_bytes, element_bytes, stride_along
from .session import Session


def buffer_bytes(value: SSAValue) -> int:
    return prod(memref_type(value).get_shape()) * element_bytes(value)


def traffic(session: Session) -> int:
    """The bytes of the arrays that the function is given."""
    arguments = session.nest.function.body.block.args
    return sum(buffer_bytes(value) for value in arguments if isinstance(value.type, MemRefType))


def store_past_caches(session: Session, target: Target) -> None:
    """
    Mark results as nontemporal that the last cache would lose again, where all stores but those under
    conditions are of whole lines.

    These are results of the program, of kernels whose arrays fill more than a core's share of that cache;
    of what another kernel reads next, only what is larger than the whole.
    """
    function = session.nest.function
    last = max(target.caches, key=lambda cache: cache.level)
    is_large = traffic(session) > last.bytes // last.shared_by
    for number, value in enumerate(function.body.block.args):
        if not isinstance(value.type, MemRefType):
            continue
        is_lost = buffer_bytes(value) > last.bytes
        if not is_lost and (not is_large or _is_passed_on(function, number)):
            continue
        ops = [use.operation for use in value.uses]
        stores = [op for op in ops if isinstance(op, loop.StoreOp)]
        always = [store for store in stores if isinstance(store.parent_op(), loop.ForOp)]
        if always and len(stores) == len(ops) and all(map(_fills_lines, always)):
            session.apply(Nontemporal(session.named(loop.buffer_name(value) or "")))


def _is_passed_on(function: func.FuncOp, number: int) -> bool:
    """Whether the buffer of an argument is a scratch buffer of a caller, which other kernels then read."""
    module = function.parent_op()
    assert module is not None
    calls = [op for op in module.walk() if isinstance(op, func.CallOp)]
    return any(
        call.callee.string_value() == function.sym_name.data
        and not isinstance(call.arguments[number], BlockArgument)
        for call in calls
    )


def _fills_lines(store: loop.StoreOp) -> bool:
    """Whether lanes store neighbours, so many that rows of lines begin where one of them does."""
    lanes = _vector_loop(store)
    if lanes is None or stride_along(store, lanes) != 1:
        return False
    line = LINE_BYTES // element_bytes(store.buffer)
    if (lanes.constant_trip_count() or 0) % line:
        return False
    around = lanes.parent_op()
    while isinstance(around, loop.ForOp):
        stride = stride_along(store, around)
        if not stride or stride % line:
            return False
        around = around.parent_op()
    return True


def _vector_loop(access: loop.LoadOp | loop.StoreOp) -> loop.ForOp | None:
    """The innermost loop around, where it runs in lanes."""
    parent = access.parent_op()
    if not isinstance(parent, loop.ForOp) or parent.mode is None:
        return None
    return parent if parent.mode.data is RunMode.VECTOR else None


def fetch_next_row(session: Session, target: Target, row: str) -> None:
    """
    Ask for the next rows of arrays in the first loop that reads this one, where others read it again.

    The hardware fetches along a row by itself, but stops while the row in the caches is worked on.
    """
    row_loop = session.loop(row)
    if row_loop is None:
        return
    for value in session.nest.function.body.block.args:
        loads = [op for op in row_loop.walk() if isinstance(op, loop.LoadOp) and op.buffer is value]
        is_used_again = len({op.parent_op() for op in loads}) > 1
        if is_used_again and buffer_bytes(value) > cache_bytes(target, 2):
            _fetch(session, target, row_loop, loads[0])


def _fetch(session: Session, target: Target, row: loop.ForOp, load: loop.LoadOp) -> None:
    lanes = _vector_loop(load)
    block = None if lanes is None else lanes.parent_op()
    if lanes is None or not isinstance(block, loop.ForOp) or block is row:
        return
    length, step = stride_along(load, row), stride_along(load, block)
    if not length or not step or step < 0 or length < 2 * step:
        return
    most = cache_bytes(target, 1) // 8 // element_bytes(load.buffer)
    before = {op.loop_name.data for op in session.nest.loops()}
    name = loop.buffer_name(load.buffer) or ""
    with suppress(Refusal):
        distance = min(length, max(most, step)) // step
        session.apply(Prefetch(session.named(name), block.loop_name.data, distance))
    for made in [op.loop_name.data for op in session.nest.loops()]:
        if made not in before:
            session.apply(Unroll(session.named(made), mark=True))
