"""What a nest keeps from one step to the next is what is found by looking at the rewritten function anew."""

from __future__ import annotations

from random import Random

import pytest
from differential.random_nests import case_of_seed
from differential.random_steps import NotHere, implemented, random_step
from stepwell.analysis.frames import Frames
from stepwell.analysis.operations import operations_in
from stepwell.analysis.scop import Access, Scop, extract
from stepwell.dialects import loop
from stepwell.dialects.schedule.steps import Simplify
from stepwell.errors import StepwellError
from stepwell.transforms.step_support.nest import Nest, Nests
from stepwell.transforms.step_support.planning import apply

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


def check_accesses(kept: Scop, found: Scop) -> None:
    assert kept.parameters == found.parameters
    assert len({access.name for access in kept.accesses}) == len(kept.accesses)
    assert len(kept.accesses) == len(found.accesses)
    for one, other in zip(kept.accesses, found.accesses, strict=True):
        assert is_same(one, other), f"{one} is kept, {other} was found"


def check(nest: Nest) -> None:
    assert nest.operations() == operations_in(nest.function)
    found = extract(Frames(nest.function))
    check_accesses(nest.scop, found)
    kept = nest.dependences.scop
    check_accesses(kept, found)
    assert kept.time_length == found.time_length
    for one, other in zip(kept.accesses, found.accesses, strict=True):
        assert one.moment == other.moment, f"{one} is kept, {other} was found"
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
