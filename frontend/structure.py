"""
Nested tuples, lists and dictionaries as a flat list of leaves and a structure, and back.

The structure is hashable: equal structures mean the same nesting, the same keys in the same order and the
same named tuples.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Leaf:
    """The place of one leaf."""


LEAF = Leaf()


@dataclass(frozen=True)
class Node:
    """A container: its type, its keys if it is a dictionary, and what is in it."""

    kind: type
    keys: tuple[Any, ...]
    children: tuple[Structure, ...]


Structure = Leaf | Node


def flatten(value: Any, path: str, leaves: list[tuple[str, Any]]) -> Structure:
    """Append the leaves of `value`, each with its path (`params.w1`, `layers.0`), to `leaves`."""
    kind = _kind_of(value)
    keys: tuple[Any, ...] = ()
    if kind is dict:
        keys = tuple(value)
        children = [value[key] for key in keys]
    elif kind in (tuple, list) or _is_namedtuple(kind):
        children = list(value)
    else:
        leaves.append((path, value))
        return LEAF
    names: Iterable[Any] = keys or getattr(kind, "_fields", range(len(children)))
    return Node(
        kind,
        keys,
        tuple(
            flatten(child, f"{path}.{name}", leaves)
            for name, child in zip(names, children, strict=True)
        ),
    )


def unflatten(structure: Structure, leaves: Iterator[Any]) -> Any:
    """The containers of `structure` with these leaves, in order."""
    if isinstance(structure, Leaf):
        return next(leaves)
    children = [unflatten(child, leaves) for child in structure.children]
    if structure.kind is dict:
        return dict(zip(structure.keys, children, strict=True))
    if _is_namedtuple(structure.kind):
        return structure.kind(*children)
    return structure.kind(children)


def _kind_of(value: object) -> type[object]:
    return type(value)


def _is_namedtuple(kind: type[Any]) -> bool:
    return tuple in kind.__mro__ and hasattr(kind, "_fields")


def static_key(value: object) -> tuple[Any, ...]:
    """A value that is no array, so that only what is compiled to the same is equal."""
    # 1, 1.0 and True are equal, as are 0.0 and -0.0; nan is not even equal to itself.
    return (type(value), value.hex() if isinstance(value, float) else value)
