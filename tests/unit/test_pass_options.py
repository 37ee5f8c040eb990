"""Options that several passes have are checked when a pass is made, whatever the program is."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
import stepwell as sw
from stepwell.universe import multiverse


def passes_with(option: str) -> list[Any]:
    made = (load() for load in multiverse().all_passes.values())
    ours = (one for one in made if one.__module__.startswith("stepwell."))
    return [one for one in ours if option in {field.name for field in dataclasses.fields(one)}]


@pytest.mark.parametrize(
    ("option", "expected"), [("fp", "strict, contract"), ("target", "host or")]
)
def test_every_pass_refuses_what_is_no_choice(option: str, expected: str):
    passes = passes_with(option)
    assert len(passes) > 5
    for one in passes:
        with pytest.raises(sw.StepwellError, match=f"nonsense.*expected .*{expected}"):
            one(**{option: "nonsense"})
