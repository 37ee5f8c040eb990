"""`x.at[key].set(values)`: new arrays with some elements replaced, after JAX's property of this name."""

from __future__ import annotations

from typing import Any, NoReturn

from ..errors import StepwellError
from .array_operators import ArrayOperators
from .call_site import call_site_text
from .operators import call

# Tensor's module imports this one, so that tensors are `Any` here.


class At:
    """What `x.at` is: it waits for a key."""

    __slots__ = ("_tensor",)

    def __init__(self, tensor: Any):
        self._tensor = tensor

    def __getitem__(self, key: Any) -> AtKey:
        return AtKey(self._tensor, key)

    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        raise _no_way("an assignment to x.at[key]")


_WAYS = ("get", "set", "add", "subtract", "multiply", "min", "max")


def _no_way(what: str) -> StepwellError:
    return StepwellError(
        f"found {what}, expected a call of one of {', '.join(_WAYS)}; write x = x.at[key].set(value), or "
        "x = x.at[key].set(function(x[key]))",
        where=call_site_text(),
    )


class AtKey(ArrayOperators):
    """
    The elements of a tensor that a key names; each method gives a new tensor and leaves the old one as it is. Values
    broadcast and take the tensor's dtype. Where a key names an element twice, `set` writes one of the values, and the
    others join both.
    """

    __slots__ = ("_key", "_tensor")

    def __init__(self, tensor: Any, key: Any):
        self._tensor, self._key = tensor, key

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise _no_way(f"x.at[key].{name}")

    def _applied(self, name: str, *operands: Any) -> NoReturn:
        raise _no_way(f"{name} of x.at[key]")

    def get(self) -> Any:
        """The elements themselves."""
        return self._tensor[self._key]

    def set(self, values: Any) -> Any:
        """The values in place of the elements."""
        return call("updated", self._tensor, self._key, values, "none")

    def add(self, values: Any) -> Any:
        """The elements plus the values."""
        return call("updated", self._tensor, self._key, values, "add")

    def subtract(self, values: Any) -> Any:
        """The elements less the values."""
        return self.add(call("negative", values))

    def multiply(self, values: Any) -> Any:
        """The elements times the values."""
        return call("updated", self._tensor, self._key, values, "mul")

    mul = multiply

    def min(self, values: Any) -> Any:
        """The lesser of the elements and the values."""
        return call("updated", self._tensor, self._key, values, "min")

    def max(self, values: Any) -> Any:
        """The greater of the elements and the values."""
        return call("updated", self._tensor, self._key, values, "max")
