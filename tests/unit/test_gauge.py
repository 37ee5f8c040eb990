"""The gauge that tells how quick the cores are, and races in which turns that neighbours slowed do not count."""

from __future__ import annotations

from stepwell.runtime.gauge import Gauge
from stepwell.runtime.measure import Pace, Race, Turn, interleaved
from stepwell.targets.machine import core_cpus
from stepwell.targets.target import Target


def paced(readings: list[float], turns: dict[str, list[float]]) -> Race:
    """A race with the samples of each contestant's turns, and what a gauge of one piece tells before, between and after them."""
    told = iter(readings)
    taking = {name: iter(samples) for name, samples in turns.items()}
    contestants = {
        name: (lambda _, left=left: Turn([next(left)], [], 0.1)) for name, left in taking.items()
    }
    pace = Pace(lambda: [next(told, readings[-1])])
    return interleaved(contestants, seconds=0.1, pace=pace)


def test_turns_that_a_neighbour_slows_do_not_count():
    """The gauge is slow before the second turn and after the third: both are left out, and others are made."""
    race = paced(
        [1.0, 1.0, 1.3, 1.1, 1.3, *[1.0] * 8], {"a": [1.0, 7.0, 7.0, 7.0, 7.0, *[2.0] * 8]}
    )
    assert race.timings["a"].samples == (1.0, 2.0, 2.0)
    assert race.readings == [(1.0,)] * 3


def test_what_quick_is_shows_later():
    """The first turns were slow, which nobody could know before the machine was quicker."""
    race = paced([1.5, 1.5, *[1.0] * 9], {"a": [9.0, 9.0, *[2.0] * 9]})
    assert race.timings["a"].samples == (2.0,) * 3


def test_all_turns_count_where_one_contestant_has_too_few():
    """Otherwise one would be compared at its best with another in its worst time."""
    readings = [1.0] + [1.0, 1.5, 1.5, 1.0] * 20
    race = paced(readings, {"a": [1.0] * 40, "b": [2.0] * 40})
    tried = sorted(len(timing.samples) for timing in race.timings.values())
    assert tried == [5, 9]  # of five turns of one three were quick


def test_what_was_quick_is_judged_by_what_is_known_now():
    told = iter([[1.5, 2.0], [1.5, 2.1], [1.0, 2.0]])
    pace = Pace(lambda: next(told))
    first = [pace.read(), pace.read()]
    assert pace.was_quick(first)
    last = pace.read()
    assert not pace.was_quick(first)
    assert pace.was_quick([*first, last, last])


def test_a_gauge_tells_two_times_for_each_core():
    gauge = Gauge(Target.host())
    cores = core_cpus()
    reading = gauge.read()
    assert len(reading) == 2 * len(cores)
    assert all(1e-5 < seconds < 1 for seconds in reading)
    assert gauge.flops == 2e5 * (3 * Target.host().vector_registers // 4) * Target.host().lanes(4)
    assert core_cpus() == cores
