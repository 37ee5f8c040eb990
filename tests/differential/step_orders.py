"""
The order of execution that a schedule step asks for, written down once more, for enumerated iterations.

`broken_pairs` tells which pairs of touches of one element that order turns around, or lets run at the same
time: when there is none, the step is legal, and refusing it is refusing too much.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from stepwell.dialects import loop
from stepwell.dialects.schedule import Step as ScheduleStep
from stepwell.dialects.schedule.steps import (
    Fission,
    FuseLoops,
    Parallel,
    Reorder,
    Reverse,
    Tile,
    UnrollAndJam,
    Vectorize,
)
from stepwell.transforms.loop.reorder import counting_origins
from stepwell.transforms.step_support.nest import Nest, Nests
from xdsl.ir import Block, Operation
from xdsl.traits import MemoryEffectKind, get_effects

from .iteration_trace import Touch, conflicts, key_of, racing
from .perfect_nests import perfect_nest

Time = tuple[int, ...]
Times = Callable[[Touch], Sequence[Time]]
"""When a touch happens in the order asked for: more than once when it is computed again."""


@dataclass(frozen=True)
class Asked:
    """What a step asks for: new times, or that the iterations of a loop run at once."""

    times: Times | None = None
    at_once: loop.ForOp | None = None


class Unclear(Exception):
    """The order that the step asks for is not written down here."""


def asked_for(step: ScheduleStep, nests: Nests) -> Asked:
    """The order of a step on the nests as they are. Raises Unclear for other steps than reorderings."""
    if type(step) not in _ORDERS:
        raise Unclear
    nest, name = nests.resolve(step.loop)
    return _ORDERS[type(step)](step, nest, nest.loop(name))


def broken_pairs(asked: Asked, touches: Sequence[Touch]) -> Iterator[tuple[Touch, Touch]]:
    """The pairs of touches, in the order they run, that the step would turn around or race."""
    if asked.at_once is not None:
        yield from racing(touches, asked.at_once, reductions=True)
        return
    assert asked.times is not None
    times: dict[int, Sequence[Time]] = {}
    for pair in conflicts(touches):
        first, second = (times.setdefault(id(t), asked.times(t)) for t in pair)
        if any(a >= b for a, b in product(first, second)):
            yield pair


# The steps.


def _reorder(step: Reorder, nest: Nest, outermost: loop.ForOp) -> Asked:
    chain = _chain(outermost, len(step.order))
    place = {op.loop_name.data: n for n, op in enumerate(chain)}
    if set(place) != set(step.order):
        raise Unclear
    order = [place[name] for name in step.order]
    # Bounds that are computed anew make loops with a step count their iterations, from their start, unless
    # that goes along with another loop and all values are a multiple of the step apart.
    origins = counting_origins(nest, chain)
    is_counted = [
        op.step.value.data != 1 and not _keeps_bounds(chain, order) and op not in origins
        for op in chain
    ]
    if any(
        counted and _has_several_starts(op) for counted, op in zip(is_counted, chain, strict=True)
    ):
        raise Unclear  # no affine bounds can be computed anew, whatever is counted

    def times(touch: Touch) -> Sequence[Time]:
        depth = touch.depth_of(outermost)
        if depth is None:
            return [touch.key()]
        way = list(touch.way)
        for n, source in enumerate(order):
            here = touch.way[depth + source]
            value = here.turn if is_counted[source] else here.value
            way[depth + n] = replace(way[depth + n], value=value)
        return [key_of(way, touch.place)]

    return Asked(times)


def _has_several_starts(op: loop.ForOp) -> bool:
    return len(op.lower_map.data.results) > 1


def _keeps_bounds(chain: Sequence[loop.ForOp], order: Sequence[int]) -> bool:
    """Whether every loop stays inside of those its bounds depend on."""
    for number, source in enumerate(order):
        inside = {chain[n].induction_variable for n in order[number:]}
        op = chain[source]
        if not inside.isdisjoint((*op.lower_operands, *op.upper_operands)):
            return False
    return True


def _tile(step: Tile, nest: Nest, outermost: loop.ForOp) -> Asked:
    """Tiles begin where the loop does, or at multiples when that depends on other loops of the nest."""
    chain = _chain(outermost, len(step.factors))
    variables = {op.induction_variable for op in chain}
    is_fixed = [variables.isdisjoint(op.lower_operands) for op in chain]

    def times(touch: Touch) -> Sequence[Time]:
        depth = touch.depth_of(outermost)
        if depth is None:
            return [touch.key()]
        inside = touch.way[depth : depth + len(chain)]
        tiles = [
            (here.turn if fixed else here.value // here.values.step) // factor
            for here, factor, fixed in zip(inside, step.factors, is_fixed, strict=True)
        ]
        around = key_of(touch.way[:depth], touch.way[depth].place)
        return [(*around, *tiles, *key_of(touch.way[depth:], touch.place))]

    return Asked(times)


def _unroll_and_jam(step: UnrollAndJam, nest: Nest, for_op: loop.ForOp) -> Asked:
    """Blocks of iterations; inside a block the loops further in, and in their bodies the iteration."""
    for inner in for_op.body.walk():
        if isinstance(inner, loop.ForOp):
            if for_op.induction_variable in (*inner.lower_operands, *inner.upper_operands):
                raise Unclear
        elif any(isinstance(deeper, loop.ForOp) for deeper in inner.walk()):
            raise Unclear

    def times(touch: Touch) -> Sequence[Time]:
        depth = touch.depth_of(for_op)
        if depth is None:
            return [touch.key()]
        here, inside = touch.way[depth], touch.way[depth + 1 :]
        count = sum(1 for way in inside if isinstance(way.region, loop.ForOp))
        block, rest = here.turn // step.factor, 0
        if step.tail == "peel" and block == len(here.values) // step.factor:
            rest = here.turn
        time = [*key_of(touch.way[:depth], here.place), block, rest]
        for way in inside[:count]:
            time += [_group(way.region), way.value]
        innermost = inside[count].region if count < len(inside) else touch.op
        return [(*time, _group(innermost), here.turn, *key_of(inside[count:], touch.place))]

    return Asked(times)


def _group(op: Operation) -> int:
    """The place of an operation among the loops of its block: even between them, odd for a loop."""
    assert op.parent is not None
    before = 0
    for other in op.parent.ops:
        if other is op:
            break
        before += isinstance(other, loop.ForOp)
    return 2 * before + isinstance(op, loop.ForOp)


def _reverse(step: Reverse, nest: Nest, for_op: loop.ForOp) -> Asked:
    def times(touch: Touch) -> Sequence[Time]:
        depth = touch.depth_of(for_op)
        if depth is None:
            return [touch.key()]
        way = list(touch.way)
        way[depth] = replace(way[depth], value=-way[depth].value)
        return [key_of(way, touch.place)]

    return Asked(times)


def _parallel(step: Parallel, nest: Nest, for_op: loop.ForOp) -> Asked:
    return Asked(at_once=for_op)


def _vectorize(step: Vectorize, nest: Nest, for_op: loop.ForOp) -> Asked:
    """Blocks of lanes; inside a block the place in the body, and there the lane."""

    def times(touch: Touch) -> Sequence[Time]:
        depth = touch.depth_of(for_op)
        if depth is None:
            return [touch.key()]
        here = touch.way[depth]
        width = step.width or len(here.values)
        block, rest = here.turn // width, 0
        if step.tail == "peel" and block == len(here.values) // width:
            rest = here.turn
        around = (*key_of(touch.way[:depth], here.place), block, rest)
        return [(*around, *key_of(touch.way[depth + 1 :], touch.place), here.turn)]

    return Asked(times)


def _fuse_loops(step: FuseLoops, nest: Nest, first: loop.ForOp) -> Asked:
    second = nest.loop(step.other.rpartition("/")[2])
    if first is second or first.parent is not second.parent:
        raise Unclear
    between = first.next_op
    while between is not second:
        if between is None or any(True for _ in _memory_effects(between)):
            raise Unclear
        between = between.next_op
    offset = step.shift * first.step.value.data

    def times(touch: Touch) -> Sequence[Time]:
        for which, op in enumerate((first, second)):
            depth = touch.depth_of(op)
            if depth is not None:
                here = touch.way[depth]
                place = _place(first)
                variable = here.value + which * offset
                around = (*key_of(touch.way[:depth], place), variable, which)
                return [(*around, *key_of(touch.way[depth + 1 :], touch.place))]
        return [touch.key()]

    return Asked(times)


def _fission(step: Fission, nest: Nest, for_op: loop.ForOp) -> Asked:
    parts = _parts(step, for_op)

    def times(touch: Touch) -> Sequence[Time]:
        depth = touch.depth_of(for_op)
        statement = for_op.body.block.find_ancestor_op_in_block(touch.op)
        if depth is None or statement is None:
            return [touch.key()]
        here = touch.way[depth]
        around = key_of(touch.way[:depth], here.place)
        inside = key_of(touch.way[depth + 1 :], touch.place)
        return [(*around, part, here.value, *inside) for part in parts[statement]]

    return Asked(times)


def _parts(step: Fission, for_op: loop.ForOp) -> dict[Operation, tuple[int, ...]]:
    """For each operation of the body in which of the two loops it runs."""
    block = for_op.body.block
    body = list(block.ops)
    cut = _cut(step.after, body)
    second = _slice(body[cut:], block)
    kept: set[Operation] = set()
    for op in reversed(body[:cut]):
        users = _users(op, block)
        writes = any(kind is not MemoryEffectKind.READ for kind in _memory_effects(op))
        if writes or not users & second or users & kept:
            kept.add(op)
    return {
        op: (1,) if n >= cut or op not in kept else (0, 1) if op in second else (0,)
        for n, op in enumerate(body)
    }


def _cut(after: str, body: Sequence[Operation]) -> int:
    """After the loop of that name, else after the last store to the buffer outside of inner loops."""
    for n, op in enumerate(body):
        if any(isinstance(o, loop.ForOp) and o.loop_name.data == after for o in op.walk()):
            return n + 1
    places = [
        (not op.regions, n)
        for n, op in enumerate(body)
        if any(isinstance(o, loop.StoreOp) and o.buffer.name_hint == after for o in op.walk())
    ]
    if not places:
        raise Unclear
    return max(places)[1] + 1


def _slice(ops: Sequence[Operation], block: Block) -> set[Operation]:
    """The operations and all of their block that they take values from."""
    found = set(ops)
    for op in reversed(list(block.ops)):
        if _users(op, block) & found:
            found.add(op)
    return found


def _users(op: Operation, block: Block) -> set[Operation]:
    users = (block.find_ancestor_op_in_block(u.operation) for r in op.results for u in r.uses)
    return {user for user in users if user is not None}


def _memory_effects(op: Operation) -> Iterator[MemoryEffectKind]:
    effects = get_effects(op)
    if effects is None:
        yield MemoryEffectKind.WRITE
    else:
        yield from (effect.kind for effect in effects)


def _chain(outermost: loop.ForOp, count: int) -> list[loop.ForOp]:
    """The loop and those perfectly nested in it, `count` in all."""
    found = perfect_nest(outermost)
    if len(found) < count:
        raise Unclear
    return found[:count]


def _place(op: Operation) -> int:
    assert op.parent is not None
    return list(op.parent.ops).index(op)


_ORDERS: dict[type[ScheduleStep], Callable[..., Asked]] = {
    Fission: _fission,
    FuseLoops: _fuse_loops,
    Parallel: _parallel,
    Reorder: _reorder,
    Reverse: _reverse,
    Tile: _tile,
    UnrollAndJam: _unroll_and_jam,
    Vectorize: _vectorize,
}


# What a refusal says.


@dataclass(frozen=True)
class Witness:
    """The pair of iterations that a refusal names, and the values it gives to symbols."""

    source: tuple[tuple[str, int], ...]
    sink: tuple[tuple[str, int], ...]
    symbols: Mapping[str, int]

    def is_among(self, pairs: Sequence[tuple[Touch, Touch]]) -> bool:
        return any(a.iteration() == self.source and b.iteration() == self.sink for a, b in pairs)


_WITNESS = re.compile(
    r"iterations \((?P<source>[^)]*)\) and \((?P<sink>[^)]*)\)"
    r"(?: with (?P<symbols>%[^ ]+=-?\d+(?:, %[^ ]+=-?\d+)*))? would be (?:swapped|raced)(?:;|$)"
)


def witness_of(message: str) -> Witness | None:
    """The witness in the message of a refusal, None when it has none of pairs swapped or raced."""
    match = _WITNESS.search(message)
    if match is None:
        return None
    symbols = {name.removeprefix("%"): value for name, value in _assignments(match["symbols"])}
    return Witness(_assignments(match["source"]), _assignments(match["sink"]), symbols)


def _assignments(text: str | None) -> tuple[tuple[str, int], ...]:
    parts = [part.partition("=") for part in (text or "").split(", ") if part]
    return tuple((name, int(value)) for name, _, value in parts)
