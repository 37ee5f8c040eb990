"""te → linalg → te, through text, keeps what a program computes."""

from __future__ import annotations

import pytest
from stepwell.analysis.verify import verify
from stepwell.driver.pass_manager import PassManager
from stepwell.driver.pipeline_spec import parse_passes
from stepwell.errors import StepwellError
from stepwell.frontend.text import make_context, parse_text
from stepwell.frontend.upstream_text import bring_in
from stepwell.interpreters.harness import interpret

from .te_programs import random_program
from .test_te_lowering import Agreement

REFUSED = ("found te.compute on",)
"""Extents that are values."""


def check_round_trip(seed: int) -> bool:
    """Whether the program could be written in linalg."""
    program = random_program(seed)
    ctx = make_context()
    module = parse_text(program.text, ctx=ctx)
    try:
        PassManager(parse_passes("convert-te-to-linalg")).run(ctx, module)
    except StepwellError as error:
        assert error.message.startswith(REFUSED), error
        return False
    verify(module)
    text = str(module)
    assert "te.compute" not in text
    again = parse_text(text)
    verify(again)
    bring_in(again)
    assert "linalg" not in str(again)
    found = interpret(again, program.inputs)
    Agreement(program.is_exact, program.magnitude).check(f"seed {seed}", found, program.expected)
    return True


def test_random_programs_survive_the_round_trip():
    assert sum(map(check_round_trip, range(8))) > 4


@pytest.mark.slow
def test_many_random_programs_survive_the_round_trip():
    assert sum(map(check_round_trip, range(8, 400))) > 280
