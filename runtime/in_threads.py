"""One function called with many things in threads, for work that goes on without the interpreter: reading and hashing."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from threading import Thread
from typing import TypeVar

from ..background import try_start
from ..targets.machine import allowed_cpus

ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")


def in_threads(function: Callable[[ItemT], ResultT], items: Sequence[ItemT]) -> list[ResultT]:
    """
    The result for each item, in their order, computed here and in as many threads as this process has other processors.

    An error ends the work, and the first one is raised here, once all threads have ended.
    """
    left = deque(enumerate(items))
    results: dict[int, ResultT] = {}
    errors: list[BaseException] = []

    def work() -> None:
        while not errors:
            try:
                number, item = left.popleft()
            except IndexError:
                return
            try:
                results[number] = function(item)
            except BaseException as error:  # raised below, in the thread that asked
                errors.append(error)

    others = [Thread(target=work) for _ in range(min(len(allowed_cpus()), len(items)) - 1)]
    threads = [thread for thread in others if try_start(thread)]
    work()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return [results[number] for number in range(len(items))]
