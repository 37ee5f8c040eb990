"""One function called with many things in threads: results in order, and the first error."""

import os

import pytest
from stepwell.runtime import in_threads as module
from stepwell.runtime.in_threads import in_threads


@pytest.mark.parametrize("processors", [1, 2, 5])
@pytest.mark.parametrize("count", [0, 1, 3, 17])
def test_results_are_in_the_order_of_the_items(monkeypatch, processors, count):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(processors)), raising=False)
    assert in_threads(lambda n: n * n, range(count)) == [n * n for n in range(count)]


@pytest.mark.parametrize("error", [IndexError, ValueError])
def test_an_error_in_any_thread_is_raised(monkeypatch, error):
    monkeypatch.setattr(module, "allowed_cpus", lambda: range(3))

    def fail(number):
        if number == 5:
            raise error("five")
        return number

    with pytest.raises(error, match="five"):
        in_threads(fail, range(20))
