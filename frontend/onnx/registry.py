"""The operators there are, by domain, name and version, and how a function says that it is one."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np

from ...errors import StepwellError
from ...frozen import frozen
from ..tensor import Tensor

Value: TypeAlias = Any
"""A Tensor, or a NumPy array when the value is known at import; an input that is left out is None."""

Maybe: TypeAlias = Any
"""A Value, or None: the annotation of an input that may be left out although one behind it may not."""

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])


class Unsupported(Exception):
    """What of a node is not supported, in a few words. The importer collects these over the whole model."""


class ValueNeeded(Exception):
    """A value that is known only at run time where it decides a shape."""

    def __init__(self, tensor: Tensor, what: str):
        super().__init__(what)
        self.tensor = tensor
        self.what = what


@frozen
class Operator:
    """A function that computes an operator, from the version `since` of its operator set on."""

    name: str
    domain: str
    since: int
    function: Callable[..., Any]
    inputs: int
    """How many inputs it takes at most."""
    required: int
    """How many inputs it takes at least."""
    attributes: frozenset[str]
    required_attributes: frozenset[str]
    takes_node: bool
    gaps: frozenset[int] = frozenset()
    """Which of the inputs it takes at least may be left out all the same."""


_OPERATORS: dict[tuple[str, str], list[Operator]] = {}
_MANY = 1 << 30


def onnx_op(name: str, *, since: int = 1, domain: str = "") -> Callable[[FunctionT], FunctionT]:
    """Decorate the function that computes an operator. See the package for how to write one."""

    def enter(function: FunctionT) -> FunctionT:
        parameters = inspect.signature(function).parameters.values()
        by_position = [
            one for one in parameters if one.kind not in (one.KEYWORD_ONLY, one.VAR_KEYWORD)
        ]
        keywords = {one.name: one for one in parameters if one.kind is one.KEYWORD_ONLY}
        takes_node = keywords.pop("node", None) is not None
        is_variadic = any(one.kind is one.VAR_POSITIONAL for one in by_position)
        operator = Operator(
            name,
            domain,
            since,
            function,
            _MANY if is_variadic else len(by_position),
            sum(
                one.default is one.empty and one.kind is not one.VAR_POSITIONAL
                for one in by_position
            ),
            frozenset(keywords),
            frozenset(name for name, one in keywords.items() if one.default is one.empty),
            takes_node,
            # Annotations are text: every module of operators postpones their evaluation.
            frozenset(place for place, one in enumerate(by_position) if one.annotation == "Maybe"),
        )
        _enter(operator)
        return function

    return enter


def _enter(operator: Operator) -> None:
    versions = _OPERATORS.setdefault((operator.domain, operator.name), [])
    versions.append(operator)
    versions.sort(key=lambda one: one.since)


def operator_for(domain: str, name: str, version: int) -> Operator | None:
    """The function for an operator of this version of its operator set, or None when there is none."""
    versions = _OPERATORS.get((domain, name), [])
    return next((one for one in reversed(versions) if one.since <= version), None)


def operator_names(domain: str = "") -> list[str]:
    """The names of all operators of a domain that have a function."""
    return sorted(name for where, name in _OPERATORS if where == domain)


def is_known(value: Value) -> bool:
    """Whether the value is known at import."""
    return not isinstance(value, Tensor)


def known(value: Value, what: str) -> np.ndarray:
    """The value as an array, which `what` names in messages. Raises ValueNeeded when it is a run-time value."""
    if isinstance(value, Tensor):
        raise ValueNeeded(value, what)
    return np.asarray(value)


def integers(value: Value, what: str) -> tuple[int, ...]:
    """The elements of a known value, or the integers of an attribute, as a tuple."""
    if isinstance(value, list | tuple):
        return tuple(map(int, cast("Sequence[Any]", value)))
    return tuple(int(one) for one in known(value, what).reshape(-1))


def integer(value: Value, what: str) -> int:
    """The one element of a known value."""
    (number,) = integers(value, what)
    return number


def flag(value: int, what: str) -> bool:
    """Whether an attribute that says yes or no says yes. Raises StepwellError for other numbers, which runtimes take for either."""
    if value not in (0, 1):
        raise StepwellError(f"found {what} = {value}, expected 0 or 1")
    return value == 1


def onnx_ops(
    table: Mapping[str, Callable[..., Any]], inputs: int, since: int = 1, domain: str = ""
) -> None:
    """Enter functions of so many inputs that compute operators as they are, by the names of the operators."""
    for name, function in table.items():
        _enter(
            Operator(name, domain, since, function, inputs, inputs, frozenset(), frozenset(), False)
        )
