"""Attributes of instances that are worked out when they are first read."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

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
