"""
What all tests share: `@pytest.mark.sampled(COUNT)` above a test with many parameters. A seeded sample of so many
of its cases is run by `make test`, and the rest, which are marked `slow`, by `make test-slow`. With
`sampled(COUNT, by="operator")` there are so many of each value of the parameter `operator`, and with
`by=("operator", "dtype")` of each pair, so that none is lost.

What earlier processes compiled is not used: tests are of the compiler. Those of the cache have folders of their own.
Nor is what `stepwell probe` has measured here: plans would follow it.

Examples of hypothesis have no deadline.

A number minus an affine expression is an error: xDSL 0.74 takes `4 - d0` for `d0 - 4`, which is outside of a buffer.
"""

from __future__ import annotations

import gc
import os
import sys
from collections import defaultdict
from pathlib import Path
from random import Random
from typing import NoReturn

import pytest
from hypothesis import settings
from xdsl.ir.affine import AffineExpr

# For the processes that tests start, too.
_CACHE = Path(__file__).parents[1] / "build" / "cache"
os.environ["STEPWELL_CACHE"] = "off"
os.environ["XDG_CACHE_HOME"] = str(_CACHE)

# Each of these processes would compile all of Stepwell to bytecode anew where none is to be written, which takes three
# times as long as to import it: then it is kept apart from the sources.
if os.environ.pop("PYTHONDONTWRITEBYTECODE", None):
    os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix = str(_CACHE / "bytecode")
    sys.dont_write_bytecode = False

# An example takes as long as the machine lets it: where others use it, or stop this process, hypothesis would call it flaky.
settings.register_profile("stepwell", deadline=None)
settings.load_profile("stepwell")


def _from_number(self: AffineExpr, number: AffineExpr | int) -> NoReturn:
    raise AssertionError(f"found {number} - ({self}), which xDSL computes the other way round")


AffineExpr.__rsub__ = _from_number

gc.disable()  # until all tests are collected, which leaves next to no garbage


@pytest.hookimpl(tryfirst=True)  # before pytest leaves out what `-m` does not want
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    cases: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("sampled"):
            cases[item.nodeid.partition("[")[0]].append(item)
    for name, of_test in cases.items():
        marker = of_test[0].get_closest_marker("sampled")
        assert marker is not None
        (count,) = marker.args
        # By the test's name, so that every worker of pytest-xdist draws the same.
        random = Random(name)
        for group in _groups(of_test, **marker.kwargs):
            drawn = random.sample(range(len(group)), min(count, len(group)))
            for number in set(range(len(group))) - set(drawn):
                group[number].add_marker(pytest.mark.slow)


def _groups(cases: list[pytest.Item], by: str | tuple[str, ...] = ()) -> list[list[pytest.Item]]:
    """The cases in which the parameters `by` have the same values, in the order in which they are first met."""
    names = (by,) if isinstance(by, str) else by
    groups: dict[object, list[pytest.Item]] = defaultdict(list)
    for case in cases:
        assert isinstance(case, pytest.Function)
        for name in names:
            if name not in case.callspec.params:
                raise pytest.UsageError(f"{case.nodeid} is sampled by {name}, which it has not")
        groups[tuple(_key(case.callspec.params[name]) for name in names)].append(case)
    return list(groups.values())


def _key(value: object) -> object:
    """The same for the same value of a parameter, which may be a list or an array."""
    try:
        hash(value)
    except TypeError:
        return id(value)
    return value


def pytest_collection_finish() -> None:
    """Modules and the tests themselves stay: collections of garbage need not walk them again and again."""
    _leave_out_what_stays()
    # Modules die with their tests, by the hundred thousand objects. Collected as often as Python does it, which is by
    # 700 objects, most are walked several times while they are used.
    gc.set_threshold(20_000, 10, 10)
    gc.enable()


_file: Path | None = None


@pytest.hookimpl(tryfirst=True)  # before fixtures are made
def pytest_runtest_setup(item: pytest.Item) -> None:
    """
    What earlier files have left behind stays, in caches above all: a million objects, which take a collection of everything
    a second to walk. Each file has its own alone to walk, and what is garbage by then is gone.
    """
    global _file
    if item.path != _file:
        _file = item.path
        _leave_out_what_stays()


def _leave_out_what_stays() -> None:
    gc.collect()
    gc.freeze()
