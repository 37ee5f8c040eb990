"""
Control flow on traced values, after JAX's functions of these names: the functions that are given are traced once, and
run as real loops and branches.

State and results may be nested tuples, lists and dictionaries of tensors. On NumPy arrays alone, outside of a traced
function, everything is run by Python.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeGuard, cast

import numpy as np
from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Region

from ..dialects import graph
from ..errors import StepwellError
from .call_site import call_site_text
from .recording import Recording, active_recording, as_tensor, record_all
from .structure import LEAF, Structure, flatten, unflatten
from .tensor import Tensor, TensorLike


class UnstableState(StepwellError):
    """A state that changes its shape, dtype or nesting from step to step."""


class RegionRecording(Recording):
    """The operations of a region, which may use what is recorded around it; constants stand there too."""

    def __init__(self, around: Recording):
        super().__init__()
        self.around = around

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


def region(types: Types, run: Callable[[list[Tensor]], Sequence[Tensor]]) -> Region:
    """What `run` records when it is given values of these shapes and dtypes, which it returns values of."""
    around = active_recording()
    assert around is not None
    with RegionRecording(around) as inside:
        arguments = [inside.new_value(shape, dtype, "state") for shape, dtype in types]
        given = [as_tensor(value) for value in run(arguments)]
    inside.block.add_op(graph.YieldOp(*(tensor.value for tensor in given)))
    return Region(inside.block)


def scan(
    f: Callable[[Any, Any], Any],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    *,
    reverse: bool = False,
) -> tuple[Any, Any]:
    """
    `state, y = f(state, x)` for each x along the leading axis of `xs`, from the first to the last.

    Returns the last state, and the ys stacked along a new leading axis. `xs` may be nested, or None: then `f` is called
    `length` times with None. `reverse` goes from the last x to the first; what it gives for an x has the x's place.

    Raises StepwellError for a state that changes its shape or dtype, and for leading axes of different extents.
    """
    state, nest = _leaves(init, "init")
    sequences, nest_x = _leaves(xs, "xs") if xs is not None else ([], LEAF)
    steps = _steps(sequences, length)
    if active_recording() is None:
        return _run_scan(f, init, sequences, nest_x, xs is None, range(steps), reverse)
    state = [as_tensor(leaf) for leaf in state]
    sequences = [as_tensor(leaf) for leaf in sequences]
    found: list[Structure | None] = []

    def step(arguments: list[Tensor]) -> list[Tensor]:
        now, x = arguments[: len(state)], arguments[len(state) :]
        given: Any = f(
            unflatten(nest, iter(now)), None if xs is None else unflatten(nest_x, iter(x))
        )
        if not _is_pair(given):
            raise _error(
                f"found a step of scan that returns a {type(given).__name__}, expected the next state and what is "
                "stacked, or None; return both"
            )
        following = _same_types(given[0], nest, now, "scan")
        ys, nest_y = _leaves(given[1], "y") if given[1] is not None else ([], LEAF)
        found.append(nest_y if given[1] is not None else None)
        return [*following, *(as_tensor(y) for y in ys)]

    types = [*_types(state), *((one.shape[1:], one.dtype) for one in sequences)]
    body = region(types, step)
    results = record_all(graph.ScanOp, steps, state, sequences, body, reverse=reverse)
    stacked = results[len(state) :]
    nest_ys = found[0]
    return (
        unflatten(nest, iter(results)),
        None if nest_ys is None else unflatten(nest_ys, iter(stacked)),
    )


def while_loop(
    cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init_val: Any
) -> Any:
    """`state = body_fun(state)` as long as `cond_fun(state)` holds; the last state."""
    if active_recording() is None:
        while np.all(cond_fun(init_val)):
            init_val = body_fun(init_val)
        return init_val
    leaves, nest = _leaves(init_val, "init_val")
    state = [as_tensor(leaf) for leaf in leaves]

    def step(arguments: list[Tensor]) -> list[Tensor]:
        given = body_fun(unflatten(nest, iter(arguments)))
        following = _same_types(given, nest, arguments, "while_loop")
        return [flag(cond_fun(unflatten(nest, iter(following)))), *following]

    go = flag(cond_fun(unflatten(nest, iter(state))))
    results = record_all(graph.WhileOp, go, state, region(_types(state), step))
    return unflatten(nest, iter(results))


def fori_loop(
    lower: TensorLike, upper: TensorLike, body_fun: Callable[[Any, Any], Any], init_val: Any
) -> Any:
    """`state = body_fun(i, state)` for i from `lower` up to, not including, `upper`; the last state."""
    if isinstance(lower, int) and isinstance(upper, int):
        numbers = np.arange(lower, max(lower, upper), dtype=np.int64)
        return scan(lambda state, i: (body_fun(i, state), None), init_val, numbers)[0]

    def step(state: Any) -> Any:
        i, value = state
        return i + np.int64(1), body_fun(i, value)

    first = _as_int64(lower)
    return while_loop(lambda state: state[0] < upper, step, (first, init_val))[1]


def cond(
    pred: TensorLike,
    true_fun: Callable[..., Any],
    false_fun: Callable[..., Any],
    *operands: Any,
) -> Any:
    """`true_fun(*operands)` where `pred` holds, else `false_fun(*operands)`; the other is not run."""
    if not isinstance(pred, Tensor):
        return (true_fun if np.all(pred) else false_fun)(*operands)
    nests: list[Structure] = []
    types: list[Types] = []

    def branch(function: Callable[..., Any]) -> Region:
        def run(_: list[Tensor]) -> list[Tensor]:
            leaves, nest = _leaves(function(*operands), "result")
            tensors = [as_tensor(leaf) for leaf in leaves]
            nests.append(nest)
            types.append(_types(tensors))
            return tensors

        return region((), run)

    regions = [branch(true_fun), branch(false_fun)]
    if nests[0] != nests[1] or types[0] != types[1]:
        raise _error(
            f"found branches of cond that return {_types_text(types[0])} and {_types_text(types[1])}, expected the "
            "same shapes, dtypes and nesting; make them agree"
        )
    return unflatten(nests[0], iter(record_all(graph.IfOp, flag(pred), *regions)))


def flag(value: TensorLike) -> Tensor:
    """A condition of one element as a tensor of bool without axes."""
    tensor = as_tensor(value)
    if tensor.size != 1:
        raise _error(
            f"found a condition of shape {list(tensor.shape)}, expected one element; reduce it with all() or any()"
        )
    if tensor.dtype != np.bool_:
        tensor = tensor != np.zeros((), tensor.dtype)
    return tensor.reshape(()) if tensor.shape else tensor


def _is_pair(value: object) -> TypeGuard[tuple[Any, Any]]:
    return isinstance(value, tuple) and len(cast("tuple[Any, ...]", value)) == 2


def _as_int64(value: TensorLike) -> Any:
    return value.astype(np.int64) if isinstance(value, Tensor) else np.asarray(value, np.int64)


def _leaves(value: Any, name: str) -> tuple[list[Any], Structure]:
    leaves: list[tuple[str, Any]] = []
    structure = flatten(value, name, leaves)
    return [leaf for _, leaf in leaves], structure


def _types(tensors: Sequence[Tensor]) -> Types:
    return [(tensor.shape, tensor.dtype) for tensor in tensors]


def _types_text(types: Types) -> str:
    return ", ".join(f"{dtype}{list(shape)}" for shape, dtype in types) or "nothing"


def _same_types(value: Any, nest: Structure, before: Sequence[Tensor], name: str) -> list[Tensor]:
    """The next state as tensors, each as the one before."""
    leaves, structure = _leaves(value, "state")
    if structure != nest:
        raise UnstableState(
            f"found a state of {name} that a step returns in another nesting than it is given, expected the same; "
            "return it as it comes",
            where=call_site_text(),
        )
    following = [as_tensor(leaf, old.dtype) for leaf, old in zip(leaves, before, strict=True)]
    if _types(following) != _types(before):
        raise UnstableState(
            f"found a state of {name} that becomes {_types_text(_types(following))}, expected "
            f"{_types_text(_types(before))}, as it starts; keep shapes and dtypes, with astype for instance",
            where=call_site_text(),
        )
    return following


def _steps(sequences: Sequence[Any], length: int | None) -> int:
    shapes = [one.shape if isinstance(one, Tensor) else np.shape(one) for one in sequences]
    if not all(shapes):
        raise _error(
            "found something without axes to scan over, expected a leading axis; give it one"
        )
    extents = {shape[0] for shape in shapes} | ({length} - {None})
    if len(extents) != 1:
        raise _error(
            f"found leading axes of {sorted(filter(None, extents))} elements to scan over, expected one number of "
            "steps; give equal axes, or length= where there are none"
        )
    (steps,) = extents
    assert steps is not None
    return steps


def _run_scan(
    f: Callable[[Any, Any], Any],
    state: Any,
    sequences: Sequence[Any],
    nest_x: Structure,
    without: bool,
    steps: range,
    reverse: bool,
) -> tuple[Any, Any]:
    """A scan on arrays."""
    given: dict[int, list[Any]] = {}
    nest_y: Structure = LEAF
    for index in reversed(steps) if reverse else steps:
        x = None if without else unflatten(nest_x, (np.asarray(one)[index] for one in sequences))
        state, y = f(state, x)
        if y is not None:
            given[index], nest_y = _leaves(y, "y")
    if not given:
        return state, None
    columns = zip(*(given[index] for index in steps), strict=True)
    return state, unflatten(nest_y, (np.stack(column) for column in columns))


def _error(message: str) -> StepwellError:
    return StepwellError(message, where=call_site_text())
