"""What a nest keeps from one step to the next is what is found by looking at the rewritten function anew."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest
from differential.random_nests import case_of_seed
from differential.random_steps import NotHere, implemented, random_step
from stepwell.analysis.domains import Moment
from stepwell.analysis.frames import Frames
from stepwell.analysis.operations import operations_in
from stepwell.analysis.scop import Access, extract
from stepwell.dialects import loop
from stepwell.dialects.schedule.steps import Simplify
from stepwell.errors import StepwellError
from stepwell.transforms.step_support.nest import Nest, Nests
from stepwell.transforms.step_support.planning import apply
from xdsl.ir.affine import AffineConstantExpr, AffineExpr

SEED = 2026
STEPS = 8


def is_same(kept: Access, found: Access) -> bool:
    return (
        kept.op is found.op
        and kept.buffer is found.buffer
        and kept.is_write == found.is_write
        and kept.loops == found.loops
        and kept.around == found.around
        and kept.place == found.place
        and kept.exact == found.exact
        and kept.certain == found.certain
    )


def in_order(moments: Sequence[Moment]) -> list[tuple[AffineExpr | int, ...]]:
    """
    Moments with the number of each place among those of accesses in its block: hints, which are none, may have come between them.
    """
    places: dict[Moment, set[int]] = {}
    for moment in moments:
        for n, entry in enumerate(moment):
            if isinstance(entry, AffineConstantExpr):
                places.setdefault(moment[:n], set()).add(entry.value)
    ranks = {before: {at: n for n, at in enumerate(sorted(of))} for before, of in places.items()}
    return [
        tuple(
            ranks[moment[:n]][entry.value] if isinstance(entry, AffineConstantExpr) else entry
            for n, entry in enumerate(moment)
        )
        for moment in moments
    ]


def check(nest: Nest) -> None:
    assert nest.operations() == operations_in(nest.function)
    kept, found = nest.dependences.scop, extract(Frames(nest.function))
    assert kept.parameters == found.parameters
    assert kept.time_length == found.time_length
    assert len({access.name for access in kept.accesses}) == len(kept.accesses)
    assert len(kept.accesses) == len(found.accesses)
    for one, other in zip(kept.accesses, found.accesses, strict=True):
        assert is_same(one, other), f"{one} is kept, {other} was found"
    moments = ([access.moment for access in each.accesses] for each in (kept, found))
    assert in_order(next(moments)) == in_order(next(moments))
    updates = nest.dependences.updates
    loads = {update.load for op, update in updates.items() if op is update.store}
    assert {
        op for op in nest.operations() if isinstance(op, loop.LoadOp) and op in updates
    } == loads


def test_what_was_not_asked_before_a_change_is_not_found_after_it():
    nests = Nests(case_of_seed(SEED, 0).module)
    nest, _ = nests.resolve("f/")
    access = next(a for a in nest.dependences.scop.accesses if a.loops)
    apply(Simplify("f"), nests)
    with pytest.raises(AssertionError, match="rewritten"):
        _ = access.place


@pytest.mark.parametrize("start", range(0, 60, 10))
def test_facts_follow_random_steps(start: int):
    taken = 0
    for index in range(start, start + 10):
        rng, case = Random(f"{SEED}/{index}/steps"), case_of_seed(SEED, index)
        nests = Nests(case.module)
        nest, _ = nests.resolve("f/")
        for _ in range(STEPS):
            try:
                apply(random_step(rng, nest, implemented()), nests)
                taken += 1
            except NotHere:
                break
            except StepwellError:
                pass
            check(nest)
    assert taken > 10
