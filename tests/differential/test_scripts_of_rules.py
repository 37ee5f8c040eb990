"""
The script of a random program, applied by hand, leads to the text that rules lead to, byte for byte.

Compared a level below loops: copies of constants are made after rules, and only later after a script.
"""

from __future__ import annotations

import stepwell as sw
from hypothesis import given
from hypothesis import strategies as st
from stepwell.frontend.lowered import Lowered

from .campaigns import campaign
from .random_programs import program_of_seed


@campaign(12, 0)
@given(st.integers(0, 1 << 30))
def test_scripts_say_what_rules_do(index: int) -> None:
    low = Lowered(program_of_seed(5, index).module)
    schedule = sw.Schedule(low, script=low.script())
    assert schedule.run().lowered().as_text("core") == low.as_text("core")
