"""What is believed of measurements: what a core of a known kind does in a cycle is known, and others only ever make it slower."""

from __future__ import annotations

import pytest
from stepwell.runtime import probe
from stepwell.targets.belief import FAR_SLOWER, SLOWER, believed, bounded, doubted
from stepwell.targets.known_cores import known_cores
from stepwell.targets.rates import PEAK, Rate, is_tile
from stepwell.targets.target import Target
from stepwell.tools.probe import _doubted as lines_of_doubts

KNOWN = known_cores()["emerald-rapids"].facts(2)
CORE = Target.parse("emerald-rapids").core
TILES = {name for name in KNOWN if is_tile(name)}


def measured(**times: float) -> dict[str, Rate]:
    """What is known of the core, so many times as much."""
    factors = {name: times.get(name, 1.0) for name in KNOWN}
    return {
        name: Rate(factors[name] * rate.core, factors[name] * rate.machine)
        for name, rate in KNOWN.items()
    }


def slower_tiles(factor: float, **others: float) -> dict[str, Rate]:
    return measured(**dict.fromkeys(TILES, factor), **others)


def test_what_a_core_of_this_kind_has_is_not_doubted():
    assert doubted(CORE, KNOWN, measured()) == set()
    assert doubted(CORE, KNOWN, slower_tiles(1.02 / SLOWER)) == set()
    assert doubted(CORE, KNOWN, measured(read_l1=1.3, tile_near=1.1)) == set(), "faster"


def test_a_slow_tile_makes_all_tiles_doubtful():
    """They are measured in turns, and a neighbour is there for all of them."""
    assert doubted(CORE, KNOWN, measured(tile_rows_near=0.77)) == TILES


def test_what_the_machine_around_a_core_has_is_its_own():
    around = dict.fromkeys(("read_l3", "read_memory", "beyond_l2", "chase_memory"), 0.4)
    assert doubted(CORE, KNOWN, measured(**around)) == set()


def test_another_clock_explains_what_is_as_much_slower():
    near = ("read_l1", "read_l2", "copy_l1", "copy_l2", "pack_near")
    peaks = ("fma_f64", "fma_f32_narrow", "fma_f64_narrow")
    slow = slower_tiles(0.7, **dict.fromkeys((PEAK, *peaks, *near), 0.7))
    assert doubted(CORE, KNOWN, slow) == set()
    slow[PEAK] = Rate(slow[PEAK].core, slow[PEAK].machine, "busy")
    assert {PEAK, "read_l1", "pack_near"} <= doubted(CORE, KNOWN, slow), (
        "somebody else had a part of the core"
    )


@pytest.mark.parametrize(("factor", "is_doubted"), [(0.99 / FAR_SLOWER, True), (0.9, False)])
def test_of_an_unknown_core_a_tile_is_held_against_what_explains_it(
    factor: float, is_doubted: bool
):
    near = {
        name: rate
        for name, rate in slower_tiles(factor).items()
        if name in (PEAK, "read_l1", "read_l2", "tile_in_l1")
    }
    near["tile_in_l1"] = Rate(factor * near[PEAK].core, 2 * factor * near[PEAK].core)
    assert doubted(CORE, {}, near) == ({"tile_in_l1"} if is_doubted else set())


def test_known_rates_stand_where_doubt_remains():
    found = believed(CORE, KNOWN, slower_tiles(0.77, read_l3=0.6))
    assert {name: found[name].core for name in TILES} == {
        name: pytest.approx(KNOWN[name].core) for name in TILES
    }
    assert (
        found["read_l3"].core == 0.6 * KNOWN["read_l3"].core
        and found["read_l3"].source == "measured"
    )


def test_what_is_doubted_is_a_lower_bound():
    assert {
        name for name, rate in bounded(measured(), {"read_l1"}).items() if rate.source == "busy"
    } == {"read_l1"}


def test_a_busy_measurement_is_a_lower_bound():
    known = {"fma_f32": Rate(100, 100, "known"), "read_l1": Rate(10, 10, "known")}
    busy = {"fma_f32": Rate(90, 90, "busy"), "read_l1": Rate(20, 20, "busy")}
    found = believed(CORE, known, busy)
    assert found == {"fma_f32": known["fma_f32"], "read_l1": busy["read_l1"]}
    calm = {"fma_f32": Rate(90, 90)}
    assert believed(CORE, known, calm)["fma_f32"] == calm["fma_f32"]


def test_what_was_not_measured_is_in_proportion_to_what_was():
    names = ("beyond_l2", "rows_beyond_l2", "read_memory")
    known = {name: Rate(10.0, 20.0, "known") for name in names}
    found = believed(CORE, known, {"beyond_l2": Rate(15.0, 15.0)})
    assert found["rows_beyond_l2"] == Rate(15.0, 30.0, "estimated")
    assert found["read_memory"] == known["read_memory"]  # it follows from nothing that was measured
    both = {"beyond_l2": Rate(15.0, 15.0), "rows_beyond_l2": Rate(9.0, 9.0)}
    assert believed(CORE, known, both)["rows_beyond_l2"] == both["rows_beyond_l2"]
    busy = {"beyond_l2": Rate(5.0, 5.0, "busy")}
    assert believed(CORE, known, busy)["rows_beyond_l2"].core == 10.0


# Measuring again.


def probed(
    monkeypatch: pytest.MonkeyPatch,
    first: dict[str, Rate],
    then: dict[str, Rate],
    *,
    end: float = 1e9,
) -> tuple[probe.Probed, int]:
    """What a probe says of a machine that gives these rates at first and those from then on, and how often it measured."""
    found = iter([first])
    times = 0

    def measure(*_: object) -> dict[str, Rate]:
        nonlocal times
        times += 1
        return next(found, then)

    monkeypatch.setattr(probe, "_MEASUREMENTS", {PEAK: measure})
    monkeypatch.setattr(probe, "check_plausible", lambda *_: None)
    monkeypatch.setattr(probe, "_LAST_END", end)
    monkeypatch.setattr(Target, "known_rates", property(lambda _: KNOWN))
    return probe.probe(Target.parse("emerald-rapids")), times


def test_what_is_doubted_is_measured_again(monkeypatch: pytest.MonkeyPatch):
    result, times = probed(monkeypatch, slower_tiles(0.77), measured())
    assert times == 2 and result.doubted == ()
    assert result.rates["tile_near"].core == pytest.approx(KNOWN["tile_near"].core)
    assert result.rates["tile_near"].source == "measured"
    assert lines_of_doubts(result) == []


def test_what_is_not_doubted_is_measured_once(monkeypatch: pytest.MonkeyPatch):
    assert probed(monkeypatch, measured(), measured())[1] == 1


def test_what_stays_slow_counts_as_measured_on_a_busy_machine(monkeypatch: pytest.MonkeyPatch):
    seconds = iter(range(100))
    monkeypatch.setattr(probe, "perf_counter", lambda: float(next(seconds)))
    slow = slower_tiles(0.77)
    result, times = probed(monkeypatch, slow, slow, end=12.0)
    assert times > 2, "while there is time"
    assert set(result.doubted) == TILES
    assert all(result.rates[name].source == "busy" for name in TILES)
    assert f"{len(TILES)} rates, from tile_in_l1 on, stayed slower" in lines_of_doubts(result)[0]


def test_nothing_is_measured_again_without_time(monkeypatch: pytest.MonkeyPatch):
    result, times = probed(monkeypatch, slower_tiles(0.77), measured(), end=-1.0)
    assert times == 1 and set(result.doubted) == TILES
