"""What is worked out once: attributes of instances when they are first read, and answers of a function."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, ParamSpec, TypeVar, cast

P = ParamSpec("P")
T = TypeVar("T")


def remembered(function: Callable[P, T]) -> Callable[P, T]:
    """The function, with some thousand of its last answers: its parameters stay, where `lru_cache` by itself has any."""
    return cast("Callable[P, T]", lru_cache(maxsize=4096)(function))


if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property as cached_property
else:

    class cached_property:
        """As Python 3.12 has it; before, it took a lock at each first reading, which took longer than most answers."""

        def __init__(self, function):
            self.function, self.name = function, function.__name__
            self.__doc__ = function.__doc__

        def __get__(self, instance, owner=None):
            if instance is None:
                return self
            found = instance.__dict__[self.name] = self.function(instance)
            return found
