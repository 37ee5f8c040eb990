"""What Python's garbage collector does beside passes."""

import gc

from stepwell.driver.garbage import collector_paused

MADE = 2000
"""More objects than the collector waits for."""


def collected_generations(work, threshold=700):
    """The generations that are collected while something runs when a collection of all but the oldest objects is due."""
    found = []

    def watch(phase, info):
        if phase == "start":
            found.append(info["generation"])

    before = gc.get_threshold()
    gc.set_threshold(threshold, 5, 1000)
    gc.collect()
    for _ in range(8):
        gc.collect(0)
    gc.callbacks.append(watch)
    try:
        work()
    finally:
        gc.callbacks.remove(watch)
        gc.set_threshold(*before)
    return found


def test_what_was_made_while_the_collector_paused_is_walked_alone():
    kept = []

    def work():
        with collector_paused():
            kept.extend([] for _ in range(MADE))
        kept.extend([] for _ in range(10))

    assert collected_generations(work) == [0]


def test_nothing_is_collected_where_the_program_does_without_collections():
    """A threshold of 0 says so, as `gc.disable()` does."""
    kept = []

    def work():
        with collector_paused():
            kept.extend([] for _ in range(MADE))

    assert collected_generations(work, threshold=0) == []


def test_few_objects_are_left_for_the_collector():
    def work():
        with collector_paused():
            assert not gc.isenabled()

    assert collected_generations(work) == []
    assert gc.isenabled()
