"""reverse_compute_at: a consumer computed in a loop of its producer, as soon as what it reads is complete."""

from __future__ import annotations

from collections.abc import Iterator

import islpy as isl
from xdsl.ir import Operation

from ...dialects import loop
from ...dialects.loop import LoopKind
from ...dialects.schedule.steps import ReverseComputeAt
from ...frozen import frozen
from ..step_support.common_block import (
    CommonBlock,
    check_may_move,
    common_block,
    new_names,
    rename,
    to_hoist,
)
from ..step_support.handles import loops_in
from ..step_support.made import SomeLoops
from ..step_support.narrow import Narrowing, time_in_body
from ..step_support.nest import Nest, Nests
from ..step_support.new_times import NewTimes, followed_by, set_kinds
from ..step_support.planning import planner, step_pass
from ..step_support.refusal import Refusal, refuse
from ..step_support.rewrite import body_ops
from ..step_support.scratch import check_certain, iteration_text


@frozen
class ReverseComputeAtPlan:
    """The consumers, the loop they go into, and how far their loops still run."""

    nest: Nest
    at: loop.ForOp
    head: Operation
    hoisted: tuple[Operation, ...]
    """buffers and constants of theirs that go in front of `head`"""
    consumers: tuple[Operation, ...]
    narrowing: Narrowing
    names: dict[loop.ForOp, str]
    kinds: dict[loop.ForOp, LoopKind]

    def apply(self) -> SomeLoops:
        """`for i: B[i] = …` and `for j: C[j] = g(B[j])` → `for i: B[i] = …; for j in i..i + 1: C[j] = …`."""
        block = self.head.parent
        last = self.at.body.block.last_op
        assert block is not None and last is not None
        for op in self.hoisted:
            op.detach()
            block.insert_op_before(op, self.head)
        self.narrowing.apply()
        for op in self.consumers:
            self.at.body.block.insert_op_before(self.narrowing.guarded(op), last)
        rename(self.names)
        set_kinds(self.kinds)
        return SomeLoops(loops_in(self.nest, self.consumers))


@planner(ReverseComputeAt)
def plan_reverse_compute_at(step: ReverseComputeAt, nests: Nests) -> ReverseComputeAtPlan:
    """
    Legal when each iteration of the consumer finds one iteration of the loop after which all it reads is
    there, and no other dependence is turned around. Where the consumer's bounds cannot say which one, it
    gets a condition.
    """
    nest, name = nests.resolve(step.buffer)
    at = nest.loop(step.at)
    scop = nest.dependences.scop
    buffer = scop.aliases.root(nest.buffer(name))
    writers = [a.op for a in scop.accesses if a.buffer is buffer and a.is_write]
    if not writers:
        raise refuse(step, f"nothing computes '%{name}'")
    common = common_block(step, at, writers, f"the computation of '%{name}'")
    consumers = common.others
    _check(step, nest, at, common, name)
    moved = [a for op in consumers for a in scop.inside(op)]
    for access in moved:
        check_certain(step, access)
    narrowing = _narrowed(step, nest, at, common)
    end = time_in_body(nest, at, len(body_ops(at)))
    times = NewTimes(
        nest,
        {a: followed_by(narrowing.into(a).apply_range(end), [a.time]) for a in moved},
    )
    times.check(step, "choose a loop further out, or fuse the loops with a shift")
    loops = [(op, nest.time_position(op)) for op in narrowing.outer[common.depth :]]
    return ReverseComputeAtPlan(
        nest,
        at,
        common.head,
        to_hoist(step, common, consumers),
        consumers,
        narrowing,
        new_names(nest, consumers),
        times.kinds(step, loops),
    )


def _check(
    step: ReverseComputeAt, nest: Nest, at: loop.ForOp, common: CommonBlock, name: str
) -> None:
    check_may_move(step, at, common.others)
    for op in common.others:
        if op.is_before_in_block(common.head):
            raise refuse(
                step, f"'%{name}' is computed before loop '{step.at}'", remedy="use compute_at"
            )
        if any(result.uses for result in op.results):
            raise refuse(step, f"'{op.name}', which computes '%{name}', has results")


def _narrowed(step: ReverseComputeAt, nest: Nest, at: loop.ForOp, common: CommonBlock) -> Narrowing:
    """
    The consumers' loops with the bounds of those iterations that become possible in one of `at`.

    As many of their loops as can be are narrowed: what is left for a later iteration of `at` comes with
    the outermost loop that knows which one that is. Where no loop does, as at the last iteration of a
    reduction, the consumer gets a condition on `at` and the loops around it.
    """
    narrowing = Narrowing(nest, at, common.depth)
    if not narrowing.certain:
        raise refuse(step, f"a bound or condition around the body of '{step.at}' is not affine")
    for consumer in common.others:
        chain = _shared_loops(nest, consumer)
        problem: Refusal | None = None
        for depth, limited in _ways(len(chain)):
            if not _narrow(nest, narrowing, at, consumer, chain[:depth], limited=limited):
                continue
            found = _problem(step, nest, narrowing, consumer)
            problem = problem or found
            if found is None:
                break
        else:
            assert problem is not None
            raise problem
    return narrowing


def _ways(depth: int) -> Iterator[tuple[int, bool]]:
    """How many loops to narrow and whether to set a condition, the best first."""
    for limited in (False, True):
        for count in range(depth, -1, -1):
            yield count, limited


def _shared_loops(nest: Nest, consumer: Operation) -> list[loop.ForOp]:
    """The loops, outermost first, around everything that the consumer touches."""
    chain: list[loop.ForOp] = []
    accesses = nest.dependences.scop.inside(consumer)
    current = consumer
    while isinstance(current, loop.ForOp):
        chain.append(current)
        inner = {current.body.block.find_ancestor_op_in_block(a.op) for a in accesses}
        if len(inner) != 1:
            break
        (only,) = inner
        assert only is not None
        current = only
    return chain


def _narrow(
    nest: Nest,
    narrowing: Narrowing,
    at: loop.ForOp,
    consumer: Operation,
    chain: list[loop.ForOp],
    *,
    limited: bool,
) -> bool:
    """
    Narrow the loops of `chain` to when all that an iteration of them waits for is done.

    With `limited` the consumer runs only where there is such an iteration. False when that cannot be said.
    """
    wanted: dict[loop.ForOp, isl.Set] = {}
    latest = _latest(nest, narrowing, at, consumer, len(chain))
    when: isl.Set | None = None
    if latest is not None:
        depth = len(narrowing.outer)
        together = narrowing.lift(latest.reverse())
        for n, for_op in enumerate(chain):
            extra = len(chain) - n - 1
            wanted[for_op] = together.project_out(isl.dim_type.set, depth + n + 1, extra)
        when = together.project_out(isl.dim_type.set, depth, len(chain))
    if limited and when is None:
        return False
    if not narrowing.limit(consumer, when if limited else None):
        return False
    narrowing.narrow([consumer], wanted.get)
    return True


def _latest(
    nest: Nest, narrowing: Narrowing, at: loop.ForOp, consumer: Operation, inner: int
) -> isl.Map | None:
    """
    The last iteration of `at` that iterations of the consumer's `inner` outermost loops depend on.

    None when they depend on none.
    """
    common, depth = narrowing.common, len(narrowing.outer)
    found: isl.Map | None = None
    for dependence in nest.dependences.all:
        source, sink = dependence.source, dependence.sink
        if not at.is_ancestor(source.op) or not consumer.is_ancestor(sink.op):
            continue
        pairs = dependence.relation
        for n in range(common):
            pairs = pairs.equate(isl.dim_type.in_, n, isl.dim_type.out, n)
        pairs = pairs.set_tuple_name(isl.dim_type.in_, "").set_tuple_name(isl.dim_type.out, "")
        pairs = pairs.project_out(isl.dim_type.in_, depth, len(source.loops) - depth)
        pairs = pairs.project_out(
            isl.dim_type.out, common + inner, len(sink.loops) - common - inner
        )
        found = pairs if found is None else found.union(pairs)
    return None if found is None else found.reverse().lexmax()


def _problem(
    step: ReverseComputeAt, nest: Nest, narrowing: Narrowing, consumer: Operation
) -> Refusal | None:
    """Why the narrowed loops would not run each iteration exactly once; None when they do."""
    for access in nest.dependences.scop.inside(consumer):
        into = narrowing.into(access)
        missing = access.domain.subtract(into.domain())
        name = loop.buffer_name(access.buffer)
        what = f"the {'store to' if access.is_write else 'load of'} '%{name}'"
        if not missing.is_empty():
            return refuse(
                step,
                f"{what} in iteration {iteration_text(access, missing)} would never run, as loop "
                f"'{step.at}' has no iteration for it",
                remedy="peel those iterations off first",
            )
        if not into.is_single_valued():
            return refuse(
                step,
                f"{what} would run in more than one iteration of '{step.at}', because neither bounds of its "
                "loops nor one condition on the loops around say when what it reads is complete (an "
                "approximation: other conditions are not looked for)",
                remedy="choose a loop further out",
            )
    return None


LoopReverseComputeAtPass = step_pass(ReverseComputeAt, numerics="reassociates")
