"""
Every program of examples/, the digits network too: at each level from its own down its text is a fixed
point, and it gives what a NumPy formula gives, natively too.
"""

from __future__ import annotations

import pytest
from differential.agreement import LEVELS, check_agreement, check_fixed_point
from differential.example_programs import FOLDER, NAMES, digits_example, example


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", NAMES)
def test_agrees_at_every_level(name: str):
    for seed in (0, 1):
        program = example(name, seed)
        texts = () if seed else LEVELS
        check_agreement(program.module, program.inputs, program.expected, fixed_points=texts)


@pytest.mark.parametrize("name", NAMES)
def test_begins_by_saying_what_it_shows(name: str):
    lines = (FOLDER / f"{name}.mlir").read_text().splitlines()
    assert all(line.startswith("// ") for line in lines[:2])
    assert not lines[2].startswith("//")
    assert f"`{name}.mlir`" in (FOLDER / "README.md").read_text()


def test_digits_agrees_at_every_level():
    program = digits_example()
    check_fixed_point(program.module)
    check_agreement(program.module, program.inputs, program.expected)
