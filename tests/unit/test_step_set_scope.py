"""Where scratch buffers live."""

import pytest
from stepwell.dialects.schedule.steps import SetScope

from .loop_nests import check_extents, reason
from .nest_texts import SCRATCH


@pytest.mark.parametrize("scope", ["register", "stack", "thread", "arena"])
def test_extents(scope: str) -> None:
    check_extents(SCRATCH, SetScope("f/T", scope))


def test_refusals() -> None:
    program = SCRATCH.replace("{n}", "9")
    assert "expected one of register, stack, thread, arena" in reason(
        program, SetScope("f/T", "disk")
    )
    assert "is not a scratch buffer" in reason(program, SetScope("f/A", "stack"))
    large = SCRATCH.replace("{n}", "99999")
    assert "expected at most 262144 for 'stack'" in reason(large, SetScope("f/T", "stack"))
    threads = program.replace('parallel "k"', 'parallel threads "k"')
    for scope in ("register", "thread"):
        assert "the threads of loop 'k' share '%T'" in reason(threads, SetScope("f/T", scope))
