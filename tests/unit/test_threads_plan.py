"""Which loops plans run on threads, by the time that it takes."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import stepwell as sw
from stepwell.analysis.plans.threads import (
    PAYING,
    TEAM_SECONDS,
    chosen_for_threads,
    least_seconds,
    pays,
    seconds_on_threads,
)
from stepwell.targets.target import Target

TARGET = Target.of("zen4")  # two threads at least, as many as it has cores
LONG, SHORT = 1e-2, 40e-6


@pytest.mark.parametrize(
    ("trips", "seconds", "expected"),
    [
        ((8, 100), LONG, 0),
        ((9, 56), SHORT, 0),  # five of nine, and one team
        ((3, 56), LONG, 1),  # three teams cost less than a third thread's share
        ((1, 5, 64), SHORT, 1),
        ((1,), LONG, None),
        ((), LONG, None),
        ((7, 7, 4), SHORT, 0),
        ((2,), TEAM_SECONDS, None),  # a team takes longer to start
    ],
)
def test_the_loop_with_which_a_nest_is_done_first(
    trips: tuple[int, ...], seconds: float, expected: int | None
):
    assert chosen_for_threads(trips, seconds, TARGET) == expected


def test_what_is_beside_a_loop_runs_on_one_thread():
    assert chosen_for_threads((3, 30), LONG, TARGET) == 1
    beside = seconds_on_threads((3, 30), LONG, TARGET, (1.0, 0.5))
    assert least_seconds(beside, LONG) == 0
    first_is_serial = seconds_on_threads((4, 30), LONG, TARGET, (0.0, 1.0))
    assert least_seconds(first_is_serial, LONG) == 1


@pytest.mark.parametrize(("outer", "inner", "expected"), [(0, 0, 0), (4, 0, 1), (4, 4, 0)])
def test_what_all_iterations_read_comes_from_other_threads(outer: int, inner: int, expected: int):
    """Two iterations of a loop are left to one team, unless more comes from beyond L2 than two teams take."""
    fetching = (outer * TEAM_SECONDS, inner * TEAM_SECONDS)
    found = seconds_on_threads((2, 60), LONG, TARGET, (), fetching)
    assert least_seconds(found, LONG) == expected


def test_threads_share_an_image_by_rows_and_large_weights_by_columns():
    """Each of them would read all of the other, which takes longer than to start one more team."""
    taps, image = np.zeros((32, 3, 3, 3), np.float32), np.zeros((1, 3, 224, 224), np.float32)
    weights, small = np.zeros((512, 512, 3, 3), np.float32), np.zeros((1, 512, 7, 7), np.float32)
    found = _loops_on_threads(
        lambda x: sw.clip(sw.conv(x, taps, stride=2, padding=1), 0, 6),
        image,
        target="sapphire-rapids",
    )
    assert any(name.startswith("oh.") for name in found)
    assert not any(name.startswith("f.") for name in found)
    found = _loops_on_threads(lambda x: sw.conv(x, weights, padding=1), small)
    assert found[-1].startswith("f.tile")


def test_the_last_tiles_are_charged_with_the_weights_that_they_read():
    """A few channels are left beside whole tiles: threads share their pixels, as each reads few of the weights."""
    weights, image = (
        np.zeros((304, 1152, 1, 1), np.float32),
        np.zeros((1, 1152, 14, 14), np.float32),
    )
    found = _loops_on_threads(lambda x: sw.conv(x, weights), image, target="sapphire-rapids")
    assert found[-1] == "oh_ow.tile.back"


def test_a_nest_pays_from_a_few_starts_of_a_team_on():
    assert pays(PAYING * TEAM_SECONDS) and not pays(PAYING * TEAM_SECONDS / 2)


def _on_threads(f: Callable[..., Any], *args: Any) -> bool:
    return bool(_loops_on_threads(f, *args))


def _loops_on_threads(f: Callable[..., Any], *args: Any, target: str = "zen4") -> list[str]:
    text = sw.jit(f, target=target).lower(*args).as_text("loop")
    return re.findall(r'loop\.for parallel threads "(\S+)"', text)


def test_constants_that_are_read_count_and_tables_do_not():
    weights = np.ones((960, 1280), np.float32)
    assert _on_threads(lambda x: x @ weights, np.ones((1, 960), np.float32))
    assert not _on_threads(lambda x: x @ weights[:16, :64], np.ones((1, 16), np.float32))
    table = np.ones((100_000, 64), np.float32)
    assert not _on_threads(lambda i: sw.take(table, i, axis=0) * 2, np.arange(5))


def test_what_stands_beside_a_loop_on_threads_has_a_team_of_its_own():
    """Rows of blocks of columns are dealt out: the tiles of the first rows, which pack each block, run on threads as the others do."""
    a = np.zeros((1024, 1024))
    low = sw.jit(lambda a, b: a @ b, target="zen3:cores=2", threads=2).lower(a, a)
    text = low.as_text("loop")
    names = re.findall(r'loop.for parallel threads "([\w.]+)"', text)
    assert names == ["right.panel", "i.block"], text
    assert text.index('loop.for parallel "j.block"') < text.index('"right.panel"')


def test_few_long_iterations_are_shared_out_with_those_inside():
    """One image, an eighth of a layer, may last as long as a thread is late; of a short layer it does not."""
    weights = np.zeros((64, 64, 3, 3), np.float32)
    found = [
        _loops_on_threads(lambda x: sw.conv(x, weights, padding=1), x, target="sapphire-rapids")
        for x in (np.zeros((8, 64, size, size), np.float32) for size in (56, 3))
    ]
    long, short = (names[-1] for names in found)
    assert long == "n.init.oh.init" and ".init." not in short and ".tile." not in short, found


def test_loops_that_are_shared_out_as_one_compute_the_same():
    rng = np.random.default_rng(0)
    weights = rng.standard_normal((32, 31, 3, 3), np.float32)
    program = sw.jit(lambda x: sw.conv(x, weights, padding=1), target="host:cores=2", threads=2)
    for images in (2, 6):
        x = rng.standard_normal((images, 31, 57, 56), np.float32)
        low = program.lower(x)
        assert re.search(r'parallel threads "\S+\.\S+\.\S+"', low.as_text("loop"))
        alone = sw.jit(lambda x: sw.conv(x, weights, padding=1), threads=1, opt="quick")(x)
        np.testing.assert_allclose(program(x), alone, rtol=1e-4, atol=1e-4)
