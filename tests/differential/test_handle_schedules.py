"""Random steps taken by handles, by names and as a printed script: all three lead to the same text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from random import Random
from typing import Any

import stepwell as sw
from hypothesis import given, settings
from hypothesis import strategies as st
from stepwell.analysis.verify import verify
from stepwell.dialects.schedule import Step
from stepwell.dialects.schedule.parameters import parameters, takes_handles
from stepwell.errors import StepwellError
from stepwell.frontend.text import parse_text
from stepwell.transforms.step_support.handles import Handle, buffer_handle, loop_handle
from stepwell.transforms.step_support.nest import Nest, Nests
from stepwell.transforms.step_support.planning import apply

from .random_nests import case_of_seed
from .random_steps import NotHere, implemented, random_step

MOST = 8
"""Steps tried on one program."""


class Held:
    """The handles of a function that are there at the start or that steps return, and what are copies of those."""

    def __init__(self, nest: Nest):
        self.nest = nest
        self.handles: list[Handle] = [loop_handle(nest, op) for op in nest.loops()]
        self.handles += [buffer_handle(nest, value) for value in nest.buffers()]

    def take(self, made: object) -> None:
        """Keep what a step made: each of its fields is a handle, several or something else."""
        self.handles += _handles_in(made)

    def of(self, name: str) -> Handle:
        """The handle of what has this name by now."""
        for handle in self.handles:
            for copy in handle.copies:
                if copy.name == name:
                    return copy
        raise AssertionError(f"no handle leads to '{name}' in\n{self.nest.function}")

    def check(self) -> None:
        """Each handle is gone, or has the name of what is in the function."""
        there = {op.loop_name.data for op in self.nest.loops()}
        there |= {buffer_handle(self.nest, value).name for value in self.nest.buffers()}
        for handle in self.handles:
            assert handle.is_gone or handle.name in there, f"{handle!r} in\n{self.nest.function}"


def _handles_in(value: object) -> Iterator[Handle]:
    if isinstance(value, Handle):
        yield value
    elif isinstance(value, tuple):
        for each in value:
            yield from _handles_in(each)
    elif is_dataclass(value):
        for field in fields(value):
            yield from _handles_in(getattr(value, field.name))


def by_handles(schedule: sw.Schedule, step: Step, held: Held) -> object:
    """Take a step with handles in the place of names; what it made."""

    def given(name: str) -> Any:
        value = getattr(step, name)
        if not takes_handles(type(step), name) or not value:
            return value
        if isinstance(value, tuple):
            return [held.of(each) for each in value]
        return held.of(value.rpartition("/")[2])

    arguments = {field.name: given(field.name) for field in parameters(type(step))}
    return getattr(schedule, step.keyword)(**arguments).made


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 1 << 30))
def test_handles_names_and_scripts_say_the_same(seed: int) -> None:
    text = str(case_of_seed(seed, 0).module)
    rng, keywords = Random(seed), implemented()
    schedule = sw.Schedule(text, "f")
    named = parse_text(text)
    nests = Nests(named)
    first = next(iter(nests.resolve("f/")[0].loops()))
    held = Held(schedule.loop(f"f/{first.loop_name.data}").nest)
    for _ in range(MOST):
        try:
            step = random_step(rng, held.nest, keywords)
        except NotHere:
            break
        try:
            held.take(by_handles(schedule, step, held))
        except StepwellError:
            continue
        apply(step, nests)
        held.check()
        assert str(schedule.module) == str(named), step
    verify(schedule.module)
    again = sw.Schedule(text, "f", script=str(schedule)).run()
    assert str(again.module) == str(schedule.module)
    assert again.steps == schedule.steps
