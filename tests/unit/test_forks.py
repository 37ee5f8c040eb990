"""Copies of the process that are made while other threads are in the middle of something."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from typing import cast

import numpy as np
import pytest
import stepwell as sw
from stepwell.forks import Rank, held_over_forks
from stepwell.runtime.result_memory import ResultMemory

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are copied on POSIX")

X = np.arange(6, dtype=np.float32)


def status_of_child(work: Callable[[], object]) -> int:
    """How a copy of this process ends that does some work: 0 when it has, 14 when it waited for ever."""
    child = os.fork()
    if not child:
        signal.alarm(20)
        try:
            work()
        except BaseException:
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1]


def test_a_copy_compiles_that_was_made_while_another_thread_did():
    started = threading.Event()

    def slow(x: sw.Tensor) -> sw.Tensor:
        started.set()
        time.sleep(0.3)
        return x + 1

    compiled: list[np.ndarray] = []
    slowly = sw.jit(slow, opt="quick", cache=False)
    thread = threading.Thread(target=lambda: compiled.append(cast(np.ndarray, slowly(X))))
    thread.start()
    started.wait()

    def compile_another() -> None:
        double = sw.jit(lambda x: x * 2, opt="quick", cache=False)
        np.testing.assert_array_equal(cast(np.ndarray, double(X)), X * 2)
        np.testing.assert_array_equal(cast(np.ndarray, slowly(X)), X + 1)

    assert status_of_child(compile_another) == 0
    thread.join()
    np.testing.assert_array_equal(compiled[0], X + 1)


def test_a_copy_is_made_while_a_function_is_traced():
    statuses: list[int] = []

    def forks(x: sw.Tensor) -> sw.Tensor:
        statuses.append(status_of_child(lambda: sw.jit(lambda x: x - 1, opt="quick")(X)))
        return x + 1

    np.testing.assert_array_equal(
        cast(np.ndarray, sw.jit(forks, opt="quick", cache=False)(X)), X + 1
    )
    assert statuses == [0]


def test_locks_are_taken_in_their_order_and_given_back():
    outer = held_over_forks(threading.Lock(), Rank.PROGRAMS)
    inner = held_over_forks(threading.Lock(), Rank.INNERMOST)
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            with outer, inner:
                time.sleep(0.001)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()

    def take_both() -> None:
        with outer, inner:
            pass

    try:
        assert {status_of_child(take_both) for _ in range(10)} == {0}
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def test_memory_of_results_is_whole_in_a_copy():
    memory = ResultMemory()
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            memory.take(1 << 12)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        assert {status_of_child(lambda: memory.take(1 << 12)) for _ in range(50)} == {0}
    finally:
        stop.set()
        for thread in threads:
            thread.join()
