"""
Nested tuples, lists, dictionaries, dataclasses and registered classes as a flat list of leaves and a structure, and back:
the pytrees of JAX.

The structure is hashable: equal structures mean the same nesting, the same keys in the same order and the
same classes. None is a container of nothing.
"""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from collections.abc import Callable, Iterator
from types import NoneType
from typing import Any, NamedTuple

from ..errors import StepwellError
from ..frozen import frozen
from .complex_arrays import Pair, from_side_by_side, is_complex_array

_SEQUENCES = (tuple, list)
_DICTIONARIES = (dict, OrderedDict)


@frozen
class Leaf:
    """The place of one leaf."""


@frozen
class ComplexLeaf(Leaf):
    """The place of a complex array, of which there is a real one with the parts along its last axis."""


LEAF = Leaf()
COMPLEX_LEAF = ComplexLeaf()


@frozen
class Node:
    """
    A container: its type, what is in it, and its keys if it is a dictionary; those of a registered class are what it says of
    itself.
    """

    kind: type
    keys: tuple[Any, ...]
    children: tuple[Structure, ...]


Structure = Leaf | Node


class _Registered(NamedTuple):
    flatten: Callable[[Any], tuple[Any, Any]]
    unflatten: Callable[[Any, Any], Any]


_registered: dict[type, _Registered] = {}


def register_pytree_node(
    nodetype: type,
    flatten_func: Callable[[Any], tuple[Any, Any]],
    unflatten_func: Callable[[Any, Any], Any],
) -> None:
    """
    Let objects of a class be arguments, results and states, as in `jax.tree_util.register_pytree_node`.

    `flatten_func(value)` gives what is in it, as a tuple, and what else it is made from, which is hashable;
    `unflatten_func(else, children)` makes such an object. Dataclasses and named tuples need not be registered.

    >>> import numpy as np, stepwell as sw
    >>> class Pair:
    ...     def __init__(self, a, b):
    ...         self.a, self.b = a, b
    >>> sw.register_pytree_node(Pair, lambda p: ((p.a, p.b), None), lambda _, parts: Pair(*parts))
    >>> swapped = sw.jit(lambda pair: Pair(pair.b * 2, pair.a))(Pair(np.ones(2), np.zeros(3)))
    >>> swapped.a, swapped.b
    (array([0., 0., 0.]), array([1., 1.]))
    """
    _registered[nodetype] = _Registered(flatten_func, unflatten_func)


def flatten(
    value: Any, path: str, leaves: list[tuple[str, Any]], *, complex_leaf: Leaf | None = None
) -> Structure:
    """
    Append the leaves of `value`, each with its path (`params.w1`, `layers.0`), to `leaves`.

    Complex numbers, traced or in arrays, are two leaves, their parts; or one of this kind, if it is given.

    Raises StepwellError for containers in themselves, and nested deeper than Python calls functions.
    """
    try:
        return _flattened(value, path, leaves, complex_leaf)
    except RecursionError:
        from .call_site import call_site_text  # late: it is for messages

        raise StepwellError(
            f"found containers without end in '{path}', expected arrays and numbers in them; give no container that is in "
            "itself",
            where=call_site_text(),
        ) from None


def _flattened(
    value: Any, path: str, leaves: list[tuple[str, Any]], complex_leaf: Leaf | None
) -> Structure:
    kind = _kind_of(value)
    is_complex = issubclass(kind, Pair | complex) or is_complex_array(value)
    if is_complex and complex_leaf is not None:
        leaves.append((path, value))
        return complex_leaf
    keys: tuple[Any, ...] = ()
    if _is_one_of(kind, _SEQUENCES):
        children = list(value)
        names: Any = range(len(children))
    elif _is_one_of(kind, _DICTIONARIES):
        keys = names = tuple(value)
        children = [value[key] for key in keys]
    elif _is_one_of(kind, (NoneType,)):
        names, children = (), []
    elif is_complex:
        children = list(value.parts if issubclass(kind, Pair) else (value.real, value.imag))
        kind, names = Pair, ("real", "imag")
    elif kind in _registered:
        children, about = _registered[kind].flatten(value)
        children, keys = list(children), (about,)
        names = range(len(children))
    elif _is_namedtuple(kind):
        names, children = value._fields, list(value)
    elif dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value)]
        children = [getattr(value, name) for name in names]
    else:
        leaves.append((path, value))
        return LEAF
    below = tuple(
        _flattened(child, f"{path}.{name}", leaves, complex_leaf)
        for name, child in zip(names, children, strict=True)
    )
    return Node(kind, keys, below)


def unflatten(structure: Structure, leaves: Iterator[Any]) -> Any:
    """The containers of `structure` with these leaves, in order."""
    if isinstance(structure, ComplexLeaf):
        return from_side_by_side(next(leaves))
    if isinstance(structure, Leaf):
        return next(leaves)
    children = [unflatten(child, leaves) for child in structure.children]
    kind = structure.kind
    if _is_one_of(kind, _SEQUENCES):
        return kind(children)
    if _is_one_of(kind, _DICTIONARIES):
        return kind(zip(structure.keys, children, strict=True))
    if _is_one_of(kind, (NoneType,)):
        return None
    if kind is Pair:
        return Pair.of_parts(*children)
    if kind in _registered:
        return _registered[kind].unflatten(structure.keys[0], tuple(children))
    if _is_namedtuple(kind):
        return kind(*children)
    return _dataclass(kind, children)


def as_said(structure: Structure) -> Any:
    """
    A structure of Python's own containers as lists and strings, from which `of_said` makes an equal one; None where it
    has others, whose classes may be others in another process.
    """
    if not isinstance(structure, Node):
        return "complex" if isinstance(structure, ComplexLeaf) else "leaf"
    names = [name for name, kind in _SAID.items() if kind is structure.kind]
    parts = [as_said(part) for part in structure.children]
    keys = structure.keys
    if not names or None in parts or not all(isinstance(key, str) for key in keys):
        return None
    return [names[0], list(keys), parts]


def of_said(said: Any) -> Structure:
    """The structure that `as_said` said so."""
    if isinstance(said, str):
        return COMPLEX_LEAF if said == "complex" else LEAF
    name, keys, parts = said
    return Node(_SAID[name], tuple(keys), tuple(map(of_said, parts)))


_SAID: dict[str, type] = {
    "tuple": tuple,
    "list": list,
    "dict": dict,
    "OrderedDict": OrderedDict,
    "None": NoneType,
}


def _dataclass(kind: type[Any], children: list[Any]) -> Any:
    """An object with these fields. Its `__init__` is not called: that may ask for elements."""
    made = object.__new__(kind)
    for field, child in zip(dataclasses.fields(kind), children, strict=True):
        object.__setattr__(made, field.name, child)
    return made


def arranged(value: Any, structure: Structure) -> Any:
    """`value` with the entries of its dictionaries in the order of those of `structure`, where they have the same keys."""
    if not isinstance(structure, Node) or _kind_of(value) is not structure.kind:
        return value
    kind = structure.kind
    parts = structure.children
    if _is_one_of(kind, _DICTIONARIES) and value.keys() == {*structure.keys}:
        pairs = zip(structure.keys, parts, strict=True)
        return kind({key: arranged(value[key], part) for key, part in pairs})
    if _is_one_of(kind, _SEQUENCES) and len(value) == len(parts):
        return kind(arranged(*pair) for pair in zip(value, parts, strict=True))
    return value


def _kind_of(value: object) -> type[Any]:
    return type(value)


def _is_one_of(kind: type[Any], kinds: tuple[type[Any], ...]) -> bool:
    return kind in kinds


def _is_namedtuple(kind: type[Any]) -> bool:
    return tuple in kind.__mro__ and hasattr(kind, "_fields")


def static_key(value: object) -> tuple[Any, ...]:
    """A value that is no array, so that only what is compiled to the same is equal."""
    # 1, 1.0 and True are equal, as are 0.0 and -0.0; nan is not even equal to itself.
    if isinstance(value, complex):
        return (type(value), value.real.hex(), value.imag.hex())
    return (type(value), value.hex() if isinstance(value, float) else value)


def _slice_of(_: None, bounds: list[Any]) -> slice[Any, Any, Any]:
    return slice(*bounds)


register_pytree_node(slice, lambda part: ((part.start, part.stop, part.step), None), _slice_of)
