"""What values stand for, looked up by their addresses: xDSL's hash of a value is a function of Python's, which takes several times as long."""

from __future__ import annotations

from typing import NoReturn, TypeVar

T = TypeVar("T")


class UndefinedValue(KeyError):
    """A value was asked for that nothing stands for yet."""


class ByAddress(dict[int, T]):
    """By the `id` of each value, which has to live as long as this does. What is not there is an `UndefinedValue`."""

    def __missing__(self, address: int) -> NoReturn:
        raise UndefinedValue(address)
