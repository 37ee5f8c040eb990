"""What is worked out of types and other attributes, remembered."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar

from xdsl.ir import Attribute

A = TypeVar("A", bound=Attribute)
T = TypeVar("T")

CAPACITY = 4096
"""Attributes that each function remembers."""


def remembered(function: Callable[[A], T]) -> Callable[[A], T]:
    """
    The function of one attribute, worked out once for each.

    Attributes are compared by their content, and xDSL hashes a memref's type anew each time, part by part: that takes
    longer than most answers. So the object itself is looked for first, and kept, so that its id is no other's.
    """
    by_content = lru_cache(maxsize=CAPACITY)(function)
    by_identity: dict[int, tuple[A, T]] = {}

    def look_up(attribute: A) -> T:
        try:
            return by_identity[id(attribute)][1]
        except KeyError:
            answer = by_content(attribute)
        if len(by_identity) >= CAPACITY:
            by_identity.clear()
        by_identity[id(attribute)] = attribute, answer
        return answer

    look_up.__doc__ = function.__doc__
    return look_up
