"""Memory of large results: used again when nobody holds it, and never before."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import stepwell as sw
from stepwell.lowering.llvm_text import EXTERNAL_ALIGNMENT
from stepwell.runtime.engine import LARGE_BYTES, scratch_memory
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
def test_whatever_refers_to_a_part_holds_its_block(hold: Callable[[np.ndarray], object]):
    memory = ResultMemory()
    block = memory.take(1 << 16)
    held = address(block)
    view = np.ndarray((10, 10), np.float64, block, 64)[2:, ::3].T.view(np.int64)
    holder = hold(view)
    del block, view
    assert address(memory.take(1 << 16)) != held
    del holder
    gc.collect()
    blocks = [memory.take(1 << 16) for _ in range(2)]
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


def test_taking_a_kept_block_allocates_nothing():
    memory = ResultMemory()
    for size in range(1000, 1050):
        memory.take(size)
    tracemalloc.start()
    memory.take(1000)
    before, _ = tracemalloc.get_traced_memory()
    for _ in range(500):
        memory.take(1000)
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert abs(grown) < 200, "the order of the sizes is kept in place"


def test_threads_get_blocks_of_their_own():
    memory = ResultMemory()

    def fill(number: int) -> bool:
        block = memory.take(1 << 12)
        block[...] = number % 251
        return bool((block == number % 251).all())

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(fill, range(2000)))


def test_results_stay_as_they_are():
    """Whatever is computed after them, as long as anything of them is held."""
    double = sw.jit(lambda x: x * 2, opt="quick")
    x = np.arange(LARGE_BYTES, dtype=np.float64)
    kept = [double(x + step)[step:] for step in range(4)]
    del x
    for step, part in enumerate(kept):
        expected = 2 * (np.arange(LARGE_BYTES, dtype=np.float64) + step)[step:]
        np.testing.assert_array_equal(part, expected)
    place = kept.pop().base
    assert place is not None
    del place
    again = double(np.ones(LARGE_BYTES))
    np.testing.assert_array_equal(again, 2)
    for step, part in enumerate(kept):
        assert part[0] == 2 * (step + step)


@pytest.mark.parametrize("size", [1, HUGE_PAGE - 1, HUGE_PAGE, 3 * HUGE_PAGE + 5])
def test_large_scratch_memory_begins_with_a_huge_page(size: int):
    memory = scratch_memory(size)
    assert memory.nbytes == size
    assert memory.ctypes.data % (HUGE_PAGE if size >= HUGE_PAGE else EXTERNAL_ALIGNMENT) == 0
    memory[...] = 1


def test_memory_that_there_is_not_leaves_what_is_kept(monkeypatch: pytest.MonkeyPatch):
    memory = ResultMemory()
    block = memory.take(1000)

    def fail(*_: object) -> np.ndarray:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(np, "empty", fail)
        with pytest.raises(MemoryError):
            memory.take(1000)
    assert memory._kept[1000][0] is block
    assert memory._bytes == 1000
