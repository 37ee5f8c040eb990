"""The examples in the docstrings of public functions and classes are run, with `np` and `sw` imported."""

import doctest
import inspect

import numpy as np
import stepwell as sw


def documented():
    """Every public function and class, those of namespaces such as stepwell.linalg too, by name."""
    found = {f"stepwell.{name}": getattr(sw, name) for name in dir(sw) if name[0] != "_"}
    for room in ("fft", "linalg", "nn", "random"):
        members = vars(getattr(sw, room)).items()
        found |= {f"stepwell.{room}.{name}": value for name, value in members if name[0] != "_"}
    return {
        name: value
        for name, value in found.items()
        if (inspect.isfunction(value) or inspect.isclass(value))
        and value.__module__.startswith("stepwell")
    }


def test_examples_give_what_they_say():
    finder = doctest.DocTestFinder(recurse=False)
    options = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    runner = doctest.DocTestRunner(verbose=False, optionflags=options)
    said: list[str] = []
    seen: set[int] = set()
    with np.printoptions(precision=4, suppress=True):
        for name, value in documented().items():
            if id(value) in seen:
                continue
            seen.add(id(value))
            for test in finder.find(value, name, globs={"np": np, "sw": sw}):
                runner.run(test, out=said.append)
    assert not runner.failures, "".join(said)
    assert runner.tries > 10


def test_every_public_function_says_what_it_does():
    assert [name for name, value in documented().items() if not inspect.getdoc(value)] == []
