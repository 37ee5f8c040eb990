"""Memory of large results: used again when nobody holds it, and never before."""

from __future__ import annotations

import gc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import stepwell as sw
from stepwell.lowering.llvm_text import EXTERNAL_ALIGNMENT
from stepwell.runtime import result_memory
from stepwell.runtime.engine import ALIASED_BYTES, APART_LINES, LARGE_BYTES, scratch_memory
from stepwell.runtime.result_memory import ResultMemory
from stepwell.targets.large_memory import HUGE_PAGE


def address(block: np.ndarray) -> int:
    return block.ctypes.data


def test_a_block_that_nobody_holds_is_handed_out_again():
    memory = ResultMemory()
    first = memory.take(1000)
    held = address(first)
    assert address(memory.take(1000)) != held
    del first
    assert address(memory.take(1000)) == held
    assert address(memory.take(1001)) != held


@pytest.mark.parametrize(
    "hold", [np.asarray, memoryview, np.from_dlpack, iter, lambda view: view.flat]
)
@pytest.mark.parametrize("size", [1 << 16, result_memory.LARGE_BYTES])
def test_whatever_refers_to_a_part_holds_its_block(size: int, hold: Callable[[np.ndarray], object]):
    memory = ResultMemory()
    block = memory.take(size)
    held = address(block)
    view = np.ndarray((10, 10), np.float64, block, 64)[2:, ::3].T.view(np.int64)
    holder = hold(view)
    del block, view
    assert address(memory.take(size)) != held
    del holder
    gc.collect()
    blocks = [memory.take(size) for _ in range(2)]
    assert held in map(address, blocks)


def test_what_is_kept_is_bounded():
    memory = ResultMemory(most=3000)
    sizes = [1000, 1100, 900, 800, 5000]
    addresses = {size: address(memory.take(size)) for size in sizes}
    blocks = memory._kept
    assert memory._bytes == sum(size * len(found) for size, found in blocks.items()) <= 3000
    assert list(blocks) == [1100, 900, 800], "the size asked for longest ago is forgotten first"
    assert address(memory.take(900)) == addresses[900]
    assert list(blocks) == [1100, 800, 900]


def test_threads_get_blocks_of_their_own():
    memory = ResultMemory()

    def fill(number: int) -> bool:
        block = memory.take(1 << 12)
        block[...] = number % 251
        return bool((block == number % 251).all())

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(fill, range(2000)))


@pytest.mark.parametrize("elements", [LARGE_BYTES, result_memory.LARGE_BYTES // 8 + 3])
def test_results_stay_as_they_are(elements: int):
    """Whatever is computed after them, as long as anything of them is held."""
    double = sw.jit(lambda x: x * 2, opt="quick")
    x = np.arange(elements, dtype=np.float64)
    kept = [double(x + step)[step:] for step in range(4)]
    del x
    for step, part in enumerate(kept):
        expected = 2 * (np.arange(elements, dtype=np.float64) + step)[step:]
        np.testing.assert_array_equal(part, expected)
    place = kept.pop().base
    assert place is not None
    del place
    again = double(np.ones(elements))
    np.testing.assert_array_equal(again, 2)
    for step, part in enumerate(kept):
        assert part[0] == 2 * (step + step)


def test_very_large_results_begin_in_the_first_page_of_a_huge_one():
    """Those of one call at different places of theirs, and at others than arrays of NumPy, which begin with the page."""
    elements = result_memory.LARGE_BYTES // 4
    one = sw.jit(lambda x: x * 2, opt="quick")
    place = one(np.ones(elements, np.float32)).ctypes.data % HUGE_PAGE
    assert place == APART_LINES * EXTERNAL_ALIGNMENT
    two = sw.jit(lambda x: (x * 2, x + 1), opt="quick")
    places = [result.ctypes.data % HUGE_PAGE for result in two(np.ones(elements, np.float32))]
    assert places[0] == place < places[1] < ALIASED_BYTES
    small = one(np.ones(elements // 4, np.float32))
    assert small.ctypes.data % EXTERNAL_ALIGNMENT == 0
    np.testing.assert_array_equal(small, 2)


@pytest.mark.parametrize("size", [1, HUGE_PAGE - 1, HUGE_PAGE, 3 * HUGE_PAGE + 5])
def test_large_scratch_memory_begins_with_a_huge_page(size: int):
    memory = scratch_memory(size)
    assert memory.nbytes == size
    assert memory.ctypes.data % (HUGE_PAGE if size >= HUGE_PAGE else EXTERNAL_ALIGNMENT) == 0
    memory[...] = 1
