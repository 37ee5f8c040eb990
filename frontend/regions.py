"""Regions of control flow as they are recorded, and the states that go into and out of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Region

from ..dialects import graph
from ..errors import StepwellError
from .call_site import call_site_text
from .promotion import default_dtype, is_scalar, result_dtype, weak_scalar
from .recording import Recording, active_recording, as_tensor, cast_to
from .signatures import wrong_call
from .structure import Structure, arranged, flatten
from .tensor import Tensor


class UnstableState(StepwellError):
    """A state that changes its shape, dtype or nesting from step to step."""


class RegionRecording(Recording):
    """The operations of a region, which may use what is recorded around it; constants stand there too."""

    def __init__(self, around: Recording, *, keeps_values: bool = False):
        super().__init__()
        self.around = around
        self.keeps_values = keeps_values and around.keeps_values

    def location(self) -> LocationAttr | None:
        return self.around.location()

    def hint_of(self, value: object) -> str | None:
        return self.around.hint_of(value)

    def array(self, value: Any, dtype: np.dtype | None = None) -> Tensor:
        return self.around.array(value, dtype)

    def scalar(self, array: np.ndarray) -> Tensor:
        return self.around.scalar(array)

    def sees(self, other: object) -> bool:
        return other is self or self.around.sees(other)


Types = Sequence[tuple[tuple[int, ...], np.dtype]]


def region(
    types: Types, run: Callable[[list[Tensor]], Sequence[Tensor]], *, keeps_values: bool = False
) -> Region:
    """
    What `run` records when it is given values of these shapes and dtypes, which it returns values of.

    `keeps_values` says that it also returns those that its callbacks are called with.
    """
    around = active_recording()
    assert around is not None
    with RegionRecording(around, keeps_values=keeps_values) as inside:
        arguments = [inside.new_value(shape, dtype, "state") for shape, dtype in types]
        given = [as_tensor(value) for value in run(arguments)]
    inside.block.add_op(graph.YieldOp(*(tensor.value for tensor in given)))
    return Region(inside.block)


def error_here(message: str) -> StepwellError:
    """The error, at the user's line."""
    return StepwellError(message, where=call_site_text())


def leaves_of(value: Any, name: str) -> tuple[list[Any], Structure]:
    """The leaves of a nested value, and how they are nested."""
    leaves: list[tuple[str, Any]] = []
    structure = flatten(value, name, leaves)
    return [leaf for _, leaf in leaves], structure


def as_state(leaf: Any) -> Tensor:
    """A leaf as a Tensor. A Python number is weak: it takes the dtype of what it becomes."""
    if not is_scalar(leaf):
        return as_tensor(leaf)
    tensor = as_tensor(leaf, default_dtype(leaf))
    return as_weak(tensor)


def as_weak(tensor: Tensor) -> Tensor:
    """The same value, to take the dtype of the arrays that it meets."""
    weak = Tensor(tensor.value, tensor.recording)
    weak.weak = True
    return weak


def types_of(tensors: Sequence[Tensor]) -> Types:
    """Shapes and dtypes."""
    return [(tensor.shape, tensor.dtype) for tensor in tensors]


def types_text(types: Types) -> str:
    """`float32[2, 3], int64[]`."""
    return ", ".join(f"{dtype}{list(shape)}" for shape, dtype in types) or "nothing"


class WiderState(Exception):
    """A state that starts as a Python number and becomes an array of another dtype: it has to start as that."""

    def __init__(self, dtypes: Sequence[tuple[np.dtype, bool]]):
        super().__init__()
        self.dtypes = dtypes
        """What it starts as, and whether that is still a Python number."""


def settled(start: Sequence[Tensor], record: Callable[[Sequence[Tensor]], Any]) -> Any:
    """
    What `record` gives for a state whose Python numbers have the dtypes that they become: a sum that starts at 0 and adds
    float32s is a float32, as it is in NumPy.
    """
    while True:
        try:
            return record(start)
        except WiderState as wider:
            pairs = zip(start, wider.dtypes, strict=True)
            start = [_of_dtype(tensor, *wanted) for tensor, wanted in pairs]


def _of_dtype(tensor: Tensor, dtype: np.dtype, weak: bool) -> Tensor:
    converted = cast_to(tensor, dtype)
    return as_weak(converted) if weak else converted.copy()


def next_state(value: Any, nest: Structure, before: Sequence[Tensor], name: str) -> list[Tensor]:
    """
    The next state as tensors, each as the one before.

    Raises UnstableState, or WiderState where other dtypes for what started as Python numbers may do.
    """
    leaves = _leaves_in(value, nest, name)
    following: list[Tensor] = []
    wider: list[tuple[np.dtype, bool]] = []
    for leaf, old in zip(leaves, before, strict=True):
        new = as_state(leaf)
        if new.weak and not old.weak and _takes(old.dtype, new.dtype):
            new = cast_to(new, old.dtype)
        following.append(new)
        wider.append(_meeting(old, new) if old.weak else (old.dtype, False))
    if wider != [(old.dtype, old.weak) for old in before]:
        raise WiderState(wider)
    if types_of(following) != types_of(before):
        raise _becomes_other(name, types_text(types_of(following)), types_text(types_of(before)))
    return following


def _leaves_in(value: Any, nest: Structure, name: str) -> list[Any]:
    """The leaves of the next state, which is nested as the one before."""
    leaves, structure = leaves_of(arranged(value, nest), "state")
    if structure != nest:
        raise UnstableState(
            f"found a state of {name} that a step returns in another nesting than it is given, expected the same; "
            "return it as it comes",
            where=call_site_text(),
        )
    return leaves


def _becomes_other(name: str, now: str, before: str) -> UnstableState:
    return UnstableState(
        f"found a state of {name} that becomes {now}, expected {before}, as it starts; keep shapes and dtypes, with "
        "astype for instance",
        where=call_site_text(),
    )


def state_check(start: Any, name: str) -> Callable[[Any], Any]:
    """
    What returns a next state that is nested as the first one and has its shapes, where Python runs a loop, as a traced one
    needs. Python numbers may become arrays without axes, and dtypes are what NumPy makes of them.
    """
    leaves, nest = leaves_of(start, "state")
    shapes = [_shape_of(leaf) for leaf in leaves]

    def check(state: Any) -> Any:
        found = [_shape_of(leaf) for leaf in _leaves_in(state, nest, name)]
        if found != shapes:
            raise _becomes_other(name, f"arrays of shapes {found}", f"{shapes}")
        return state

    return check


def _shape_of(leaf: Any) -> list[int]:
    return list(leaf.shape if hasattr(leaf, "shape") else np.shape(leaf))


def _takes(dtype: np.dtype, weak: np.dtype) -> bool:
    """Whether a Python number of the kind of `weak` becomes `dtype` beside an array of that."""
    return result_dtype([dtype, weak_scalar(weak)]) == dtype


def _meeting(old: Tensor, new: Tensor) -> tuple[np.dtype, bool]:
    """What a Python number has to be that becomes `new`, and whether it is one still."""
    if new.shape != old.shape:
        return old.dtype, True
    if new.weak:
        return result_dtype([weak_scalar(old.dtype), weak_scalar(new.dtype)]), True
    return result_dtype([weak_scalar(old.dtype), new.dtype]), False


def check_function(name: str, parameter: str, function: Any, arguments: Sequence[Any]) -> None:
    """Raises StepwellError for what cannot be called with these arguments."""
    if not callable(function):
        raise error_here(
            f"found {_shown(function)} for {parameter} of {name}, expected a function of {len(arguments)} "
            "arguments; write lambda: value, or a function that computes it"
        )
    try:
        inspect.signature(function)
    except (TypeError, ValueError):  # some builtins have none
        return
    error = wrong_call(f"{parameter} of {name}", function, arguments, {})
    if error is not None:
        error.where = call_site_text()
        raise error


def _shown(value: object) -> str:
    return repr(value) if isinstance(value, Tensor) else f"a {type(value).__name__}"
