"""Memory on huge pages: arrays share regions, which are used again when all in them are gone."""

import mmap
import resource
import sys

import numpy as np
import pytest
import stepwell as sw
from stepwell.targets.large_memory import (
    HUGE_PAGE,
    LARGE_BYTES,
    POPULATE_WRITE,
    Regions,
    bring_pages,
    empty_region,
    madvise,
)
from stepwell.targets.pages_ahead import PagesAhead


@pytest.mark.parametrize("size", [1, 100, LARGE_BYTES, LARGE_BYTES + 33, 1 << 20, 3 << 20])
def test_arrays_of_a_region_are_apart_and_aligned(size: int) -> None:
    regions = Regions(1 << 21)
    arrays = [regions.empty(size) for _ in range(5)]
    for number, array in enumerate(arrays):
        assert array.nbytes == size and array.ctypes.data % 64 == 0
        array[...] = number
    assert all((array == number).all() for number, array in enumerate(arrays))


def test_a_region_is_used_again_only_when_nothing_refers_to_it() -> None:
    regions = Regions(1 << 21)
    first, second = regions.empty(LARGE_BYTES), regions.empty(LARGE_BYTES)
    assert first.base is second.base
    place, view = first.ctypes.data, second[5:].view(np.int8)
    del first, second
    third = regions.empty(LARGE_BYTES)
    assert third.ctypes.data != place and not np.shares_memory(third, view)
    del third, view
    assert regions.empty(LARGE_BYTES).ctypes.data == place


def test_a_region_begins_with_a_huge_page() -> None:
    assert empty_region(5).ctypes.data % HUGE_PAGE == 0


@pytest.mark.skipif(sys.platform != "linux", reason="Linux brings pages at once")
@pytest.mark.parametrize("size", [LARGE_BYTES, 1 << 20, (5 << 20) + 100])
def test_pages_are_there_before_they_are_written_to(size: int) -> None:
    """They keep what is in them."""
    ask = madvise()
    if ask is None or not ask(0, 0, POPULATE_WRITE):
        pytest.skip("the system does not bring pages at once")
    memory = empty_region(size, huge_pages=False)
    memory[0] = 7
    bring_pages(memory)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    memory[1:] = 5
    assert resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before < size // mmap.PAGESIZE // 4
    assert memory[0] == 7


@pytest.mark.parametrize("expected", [0, 9 << 20, 40 << 20])
@pytest.mark.parametrize("size", [1 << 20, 20 << 20, 100 << 20])
def test_pages_asked_for_ahead_hold_what_is_written_meanwhile(expected: int, size: int) -> None:
    with PagesAhead(expected) as pages:
        regions = pages.regions(size)
        arrays = [regions.empty(size // 4) for _ in range(4)]
        for number, array in enumerate(arrays):
            array[...] = number
    assert all((array == number).all() for number, array in enumerate(arrays))


def test_a_large_constant_is_copied_to_a_huge_page() -> None:
    """A small one is not; and who has captured an array may change it."""
    large, small = np.full((512, 256), 2, np.float32), np.full(256, 3, np.float32)
    assert large.nbytes > LARGE_BYTES > small.nbytes
    x = np.ones(512, np.float32)
    run = sw.jit(lambda x: x @ large + small, cache=False).lower(x).compile()
    kept = run.native.source.external.values()
    assert [a.nbytes for a in kept if a.ctypes.data % HUGE_PAGE == 0] == [large.nbytes]
    large[...] = 5
    assert (run(x) == 2 * 512 + 3).all()
