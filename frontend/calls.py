"""
What a compiled function is called with: its arguments as leaves and their nesting. Without xDSL, which a program from the
cache runs without.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from types import EllipsisType
from typing import Any, NamedTuple, TypeGuard

import numpy as np
from numpy import ndarray

from ..errors import StepwellError
from .complex_arrays import is_complex_array
from .structure import LEAF, Structure, flatten, static_key, unflatten
from .traced import Traced

_STATIC = bool | int | float | complex | str | None | np.dtype | type | EllipsisType
"""The types of arguments that are part of what is compiled."""


class Call(NamedTuple):
    """The arguments of a call, flattened: arrays, traced values, and static values."""

    names: tuple[str, ...]
    leaves: tuple[Any, ...]
    structures: dict[str, Structure]
    """By parameter."""

    @property
    def arrays(self) -> list[ndarray]:
        return [leaf for leaf in self.leaves if is_numpys(leaf)]

    def shown(self) -> str:
        """The arrays as messages say them: `x: float32[2, 3]`."""
        pairs = zip(self.names, self.leaves, strict=True)
        return ", ".join(f"{n}: {a.dtype}{[*a.shape]}" for n, a in pairs if is_numpys(a))

    @property
    def is_traced(self) -> bool:
        return any(isinstance(leaf, Traced) for leaf in self.leaves)

    def key(self) -> tuple[Any, ...]:
        """What a compiled function may be used again for: shapes, dtypes, static values and nesting."""
        return (*self.structures.items(), *self.leaf_keys())

    def leaf_keys(self) -> list[tuple[Any, ...]]:
        """The same of each leaf by itself."""
        return [
            (leaf.dtype, leaf.shape) if is_numpys(leaf) else static_key(leaf)
            for leaf in self.leaves
        ]

    def rebuilt(self, leaves: Iterator[Any]) -> dict[str, Any]:
        """The arguments by parameter, with other leaves."""
        return {name: unflatten(part, leaves) for name, part in self.structures.items()}


def is_numpys(leaf: Any) -> TypeGuard[ndarray]:
    return isinstance(leaf, ndarray)


def flattened(
    name: str, signature: inspect.Signature, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Call:
    """
    The arguments of the function `name` by parameter, with every array as NumPy's. That there is an element type for its
    dtype is not checked here.

    Raises StepwellError for wrong arguments.
    """
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as error:
        raise StepwellError(
            f"found a wrong call of '{name}' ({error}), expected {name}{signature}; pass these arguments",
            where=_call_site_text(),
        ) from None
    bound.apply_defaults()
    leaves: list[tuple[str, Any]] = []
    structures = {
        parameter: flatten(value, parameter, leaves, complex_leaf=LEAF)
        for parameter, value in bound.arguments.items()
    }
    return Call(
        tuple(path for path, _ in leaves),
        tuple(_leaf(name, path, value) for path, value in leaves),
        structures,
    )


def argument_name(name: str, path: str) -> str:
    """What messages call an argument of the function `name`."""
    return f"argument '{path}' of '{name}'"


def _is_traced_or_static(value: object) -> bool:
    # numpy.float64 is a float, and an array.
    return isinstance(value, Traced | _STATIC) and not isinstance(value, np.generic)


def _leaf(name: str, path: str, value: Any) -> Any:
    """An argument as it is traced: arrays as NumPy's, static values and traced ones as they are."""
    if type(value) is ndarray and value.dtype.isnative:
        return value
    if is_complex_array(value):
        return np.asarray(value)
    if _is_traced_or_static(value):
        return value
    from .arrays import as_array, is_array  # late: it loads xDSL

    if is_array(value):
        try:
            return as_array(value, argument_name(name, path))
        except StepwellError as error:
            error.where = _call_site_text()
            raise
    raise StepwellError(
        f"found a {type(value).__name__} for {argument_name(name, path)}, expected an array, a number, a string, a bool "
        "or None, or a tuple, list or dictionary of these; convert it to a NumPy array, or let the function capture it",
        where=_call_site_text(),
    )


def _call_site_text() -> str | None:
    from .call_site import call_site_text  # late: it is for messages

    return call_site_text()
