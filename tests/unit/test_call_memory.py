"""What calls of compiled functions allocate."""

from __future__ import annotations

import ctypes
import gc
import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest
import stepwell as sw


class _MallocInfo(ctypes.Structure):
    """glibc's `struct mallinfo2`."""

    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
            *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
        )
    )


def _allocated_bytes() -> int:
    """What malloc has given out and not got back."""
    try:
        function = ctypes.CDLL(None).mallinfo2
    except AttributeError:
        pytest.skip("the C library has no mallinfo2")
    function.restype = _MallocInfo
    info = function()
    return info.uordblks + info.hblkhd


@pytest.mark.sampled(1)
@pytest.mark.parametrize("rows", [3, 300])
def test_calls_allocate_their_results_only(rows: int):
    w = np.ones((40, 50), np.float32)
    x = np.ones((rows, 40), np.float32)
    run = sw.jit(lambda x: sw.softmax(x @ w, axis=-1) @ w.T).lower(x).compile(threads=1)
    out = np.empty((rows, 40), np.float32)
    np.testing.assert_array_equal(run(x), run(x, out=out))

    def grown(call: Callable[[], object], calls: int = 200) -> tuple[int, int]:
        gc.collect()
        tracemalloc.start()
        kept = [call() for _ in range(10)]
        kept.clear()
        native = _allocated_bytes()
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(calls):
            call()
        after = tracemalloc.get_traced_memory()[0] - before, _allocated_bytes() - native
        tracemalloc.stop()
        return after

    for call in (lambda: run(x), lambda: run(x, out=out)):
        traced, native = grown(call)
        assert abs(traced) < 1000 and abs(native) < 5000
