"""Long chains of operations are planned in time that grows with their length, to the nests that going through them gives."""

from __future__ import annotations

import numpy as np
import pytest
import stepwell as sw
from stepwell.analysis.fusion import grouping, nests


def chain(x, y):
    """200 computes in a row, with reads of the same element twice, of rows and of columns on the way."""
    for step in range(100):
        x = sw.maximum(x + y[0] if step % 3 else x + y[:, :1], 0.5) * y
    return x


@pytest.fixture
def planned(monkeypatch):
    """A function that plans the chain, and gives the nests and how many bodies of computes were counted on the way."""

    def plan():
        counted, found = [0], []

        def cost(compute, of=nests.body_cost):
            counted[0] += 1
            return of(compute)

        def kept(self, fuse=grouping.NestGrouping.fuse):
            fuse(self)
            found.extend(self.nests().values())

        with monkeypatch.context() as patches:
            patches.setattr(nests, "body_cost", cost)
            patches.setattr(grouping.NestGrouping, "fuse", kept)
            x = np.ones((3, 5), np.float32)
            sw.jit(chain, cache=False).lower(x, x).as_text("te")
        return found, counted[0]

    return plan


def test_bodies_are_counted_a_few_times_each(planned):
    _, counted = planned()
    assert 300 <= counted < 300 * 10  # going through all that each absorbs would take 45,000


def test_nests_are_those_that_going_through_them_gives(planned, monkeypatch):
    found, _ = planned()
    monkeypatch.setattr(nests.Nest, "is_seen_unchanged", lambda *_: False)
    expected, _ = planned()
    assert [_facts(nest) for nest in found] == [_facts(nest) for nest in expected]


def _facts(nest):
    reads = [(read.source.name_hint, read.map, read.pad) for read in nest.reads]
    return nest.cost, nest.operations, len(nest.points), nest.is_movement, reads
