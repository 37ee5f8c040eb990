"""How the times of nests that share their rows pass together."""

from __future__ import annotations

import pytest
from stepwell.analysis.plans.rows_waiting import Times, passing

# Of 100 rows: a sum whose end is waited for, and arithmetic that needs it.
SUM = Times(computing=1.0, accessing=1.0, chained=2.0, ended=4.0, moving=0.5, issued=3000)
SCALE = Times(computing=2.0, accessing=1.0, chained=0.0, ended=0.0, moving=2.0, issued=6000)


def test_nests_one_after_the_other_take_the_sum_of_their_times():
    assert passing([SUM, SCALE], None, 512).seconds == SUM.total + SCALE.total


def test_fused_rows_take_at_least_what_they_compute_and_move():
    cost = passing([SUM, SCALE], 100, 1 << 20)
    assert cost.seconds == pytest.approx(max(1 + 2, 1 + 0.5 + 1 + 2), rel=1e-3)


def test_rows_wait_for_each_other_as_far_as_the_window_does_not_reach():
    """Rows of 90 instructions: none is begun before the one in front ends where no more are under way."""
    times = [passing([SUM, SCALE], 100, window).seconds for window in (1, 45, 90, 180, 512)]
    assert times == sorted(times, reverse=True) and len(set(times)) == len(times)
    alone = SUM.in_registers + SCALE.in_registers
    assert times[0] >= max(SUM.total + SCALE.total, 0.9 * alone)


def test_instructions_before_the_first_sum_do_not_wait():
    """They leave the schedulers at once, which those behind the sum fill."""
    fewer = Times(2.0, 1.0, 0.0, 0.0, 2.0, 600)
    more = Times(1.0, 1.0, 2.0, 4.0, 0.5, 8400)
    assert passing([more, fewer], 100, 64).seconds < passing([SUM, SCALE], 100, 64).seconds


def test_rows_that_are_worked_on_together_begin_together():
    assert passing([SUM, SCALE], 25, 128).seconds > passing([SUM, SCALE], 100, 128).seconds
