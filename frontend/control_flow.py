"""
Control flow on traced values, after JAX's functions of these names: the functions that are given are traced once, and
run as real loops and branches.

State and results may be nested tuples, lists, dictionaries, dataclasses and registered classes of tensors. A Python number
in a state is of the dtype that it becomes. On NumPy arrays alone, outside of a traced function, everything is run by
Python.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, TypeGuard, cast

import numpy as np
from xdsl.ir import Region

from ..dialects import graph
from .debugging import AnyCallback, LoopOfCallbacks, active_callbacks, tensors_of
from .recording import active_recording, as_tensor, cast_to, promoted_dtype, record_all
from .regions import (
    Types,
    as_state,
    as_weak,
    check_function,
    error_here,
    leaves_of,
    next_state,
    region,
    settled,
    state_check,
    types_of,
    types_text,
)
from .structure import LEAF, Structure, arranged, unflatten
from .tensor import Tensor, TensorLike


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

    >>> import numpy as np, stepwell as sw
    >>> sw.jit(lambda xs: sw.scan(lambda total, x: (total + x, total * x), 0, xs))(np.arange(4))
    (array(6), array([0, 0, 2, 9]))
    """
    return _scan("scan", f, init, xs, length, reverse=reverse)


def _scan(
    name: str,
    f: Callable[[Any, Any], Any],
    init: Any,
    xs: Any,
    length: int | None = None,
    *,
    reverse: bool = False,
) -> tuple[Any, Any]:
    """`scan`, which is called `name` in messages."""
    state, nest = leaves_of(init, "init")
    sequences, nest_x = leaves_of(xs, "xs") if xs is not None else ([], LEAF)
    x_of = _x_of(nest_x, without=xs is None)
    steps = _steps(sequences, length)
    if active_recording() is None:
        return _run_scan(f, init, sequences, x_of, range(steps), reverse)
    rows = [as_tensor(leaf) for leaf in sequences]
    found: list[Structure] = []
    callbacks: list[AnyCallback] = []

    def record(start: Sequence[Tensor]) -> tuple[Tensor, ...]:
        def step(arguments: list[Tensor]) -> list[Tensor]:
            now = [_like(*pair) for pair in zip(arguments, start, strict=False)]
            before, x = unflatten(nest, iter(now)), x_of(arguments[len(start) :])
            check_function("scan", "f", f, (before, x))
            given = _pair(f(before, x))
            following = next_state(given[0], nest, now, name)
            ys, nest_y = leaves_of(given[1], "y")
            found[:] = [nest_y]
            callbacks[:] = active_callbacks()
            seen = tensors_of(callbacks)
            return [*following, *(as_tensor(y) for y in ys), *seen]

        types = [*types_of(start), *((row.shape[1:], row.dtype) for row in rows)]
        body = region(types, step, keeps_values=True)
        results = record_all(graph.ScanOp, steps, list(start), rows, body, reverse=reverse)
        last = [_like(*pair) for pair in zip(results, start, strict=False)]
        return (*last, *results[len(start) :])

    results: tuple[Tensor, ...] = settled([as_state(leaf) for leaf in state], record)
    stacked = iter(results[len(state) :])
    ys = unflatten(found[0], stacked)
    if callbacks:
        loop = LoopOfCallbacks(tuple(callbacks), steps, reverse, tuple(stacked))
        active_callbacks().append(loop)
    return unflatten(nest, iter(results)), ys


def map(f: Callable[[Any], Any], xs: Any) -> Any:
    """
    `f(x)` for each x along the leading axis of `xs`, which may be nested, stacked along a new leading axis: a loop.

    Functions of whole arrays are faster where they can be written.

    >>> import numpy as np, stepwell as sw
    >>> sw.jit(lambda rows: sw.map(lambda row: row[0] * row, rows))(np.array([[1, 2], [3, 4]]))
    array([[ 1,  2],
           [ 9, 12]])
    """
    check_function("map", "f", f, (xs,))
    return scan(lambda _, x: (None, f(x)), None, xs)[1]


def while_loop(
    cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init_val: Any
) -> Any:
    """
    `state = body_fun(state)` as long as `cond_fun(state)` holds; the last state.

    >>> import numpy as np, stepwell as sw
    >>> sw.jit(lambda x: sw.while_loop(lambda s: s[0] < 100, lambda s: (s[0] * 2, s[1] + 1), (x, 0)))(np.float32(3))
    (array(192., dtype=float32), array(6))
    """
    check_function("while_loop", "cond_fun", cond_fun, (init_val,))
    check_function("while_loop", "body_fun", body_fun, (init_val,))
    if active_recording() is None:
        check = state_check(init_val, "while_loop")
        while _holds(cond_fun(init_val), "while_loop"):
            init_val = check(body_fun(init_val))
        return init_val
    leaves, nest = leaves_of(init_val, "init_val")

    def record(start: Sequence[Tensor]) -> list[Tensor]:
        def step(arguments: list[Tensor]) -> list[Tensor]:
            now = [_like(*pair) for pair in zip(arguments, start, strict=True)]
            given = body_fun(unflatten(nest, iter(now)))
            following = next_state(given, nest, now, "while_loop")
            return [flag(cond_fun(unflatten(nest, iter(following)))), *following]

        go = flag(cond_fun(unflatten(nest, iter(start))))
        results = record_all(graph.WhileOp, go, list(start), region(types_of(start), step))
        return [_like(*pair) for pair in zip(results, start, strict=True)]

    return unflatten(nest, iter(settled([as_state(leaf) for leaf in leaves], record)))


def fori_loop(
    lower: TensorLike, upper: TensorLike, body_fun: Callable[[Any, Any], Any], init_val: Any
) -> Any:
    """
    `state = body_fun(i, state)` for i from `lower` up to, not including, `upper`; the last state.

    Beside arrays, i takes their dtype, as a Python integer does. The bounds may be traced.

    >>> import numpy as np, stepwell as sw
    >>> sw.jit(lambda x: sw.fori_loop(0, 10, lambda i, total: total + i * x, 0))(np.float32(0.5))
    array(22.5, dtype=float32)
    """
    check_function("fori_loop", "body_fun", body_fun, (lower, init_val))
    bounds = [_bound(lower, "lower"), _bound(upper, "upper")]
    first, last = bounds
    if isinstance(first, int) and isinstance(last, int):
        if active_recording() is None:
            check = state_check(init_val, "fori_loop")
            for i in range(first, last):
                init_val = check(body_fun(i, init_val))
            return init_val
        numbers = np.arange(first, max(first, last), dtype=np.int64)

        def numbered(state: Any, i: Tensor) -> tuple[Any, None]:
            return body_fun(as_weak(i), state), None

        return _scan("fori_loop", numbered, init_val, numbers)[0]

    def step(state: Any) -> Any:
        i, value = state
        return i + 1, body_fun(i, value)

    return while_loop(lambda state: state[0] < last, step, (_as_number(first), init_val))[1]


def cond(
    pred: TensorLike,
    true_fun: Callable[..., Any],
    false_fun: Callable[..., Any],
    *operands: Any,
) -> Any:
    """
    `true_fun(*operands)` where `pred`, of one element, holds, else `false_fun(*operands)`; the other is not run.

    Raises StepwellError for branches that return other shapes, dtypes or nesting than each other.

    >>> import numpy as np, stepwell as sw
    >>> root = sw.jit(lambda x: sw.cond(x > 0, sw.sqrt, lambda x: 0, x))
    >>> root(np.float64(9)), root(np.float64(-9))
    (array(3.), array(0.))
    """
    check_function("cond", "true_fun", true_fun, operands)
    check_function("cond", "false_fun", false_fun, operands)
    if not isinstance(pred, Tensor):
        return (true_fun if _holds(pred, "cond") else false_fun)(*operands)
    first = _Branch(lambda: true_fun(*operands))
    second = _Branch(lambda: false_fun(*operands), first)
    if not second.agrees_with(first):
        common = [_common(*pair) for pair in zip(first.leaves, second.leaves, strict=False)]
        first.record(common)
        second.record(common)
    if not second.agrees_with(first):
        raise error_here(
            f"found branches of cond that return {types_text(first.types)} and {types_text(second.types)}, expected the "
            "same shapes, dtypes and nesting; make them agree"
        )
    results = record_all(graph.IfOp, flag(pred), first.region, second.region)
    given = zip(results, first.leaves, second.leaves, strict=True)
    weak = [as_weak(one) if a.weak and b.weak else one for one, a, b in given]
    return unflatten(first.nest, iter(weak))


def switch(index: TensorLike, branches: Sequence[Callable[..., Any]], *operands: Any) -> Any:
    """
    `branches[index](*operands)`; an index below 0 means the first branch, one above the last the last.

    Raises StepwellError for branches that return other shapes, dtypes or nesting than each other.

    >>> import numpy as np, stepwell as sw
    >>> chosen = sw.jit(lambda i, x: sw.switch(i, [sw.sin, sw.cos, lambda x: x * 2], x))
    >>> chosen(np.int64(2), np.float64(4)), chosen(np.int64(-1), np.float64(0))
    (array(8.), array(0.))
    """
    if not _is_list(branches):
        raise error_here(
            f"found {branches!r:.60} for branches of switch, expected a list or tuple of at least one function; list them"
        )
    for branch in branches:
        check_function("switch", "a branch", branch, operands)
    number = _bound(index, "index")
    if isinstance(number, int):
        return branches[min(max(number, 0), len(branches) - 1)](*operands)
    if len(branches) == 1:
        return branches[0](*operands)
    middle = len(branches) // 2
    return cond(
        number < middle,
        lambda: switch(number, branches[:middle], *operands),
        lambda: switch(number - middle, branches[middle:], *operands),
    )


class _Branch:
    """A branch of `cond` as it is recorded, with its dictionaries in the order of those of `other`."""

    def __init__(self, run: Callable[[], Any], other: _Branch | None = None):
        self._run = run
        self._other = other
        self.nest: Structure = LEAF
        self.leaves: list[Tensor] = []
        self.region = self.record(None)

    def record(self, dtypes: Sequence[np.dtype] | None) -> Region:
        """Record it, with results of these dtypes: its region."""

        def leaves(_: list[Tensor]) -> list[Tensor]:
            value = self._run()
            value = arranged(value, self._other.nest) if self._other else value
            found, self.nest = leaves_of(value, "result")
            self.leaves = [as_state(leaf) for leaf in found]
            if dtypes is not None and len(dtypes) == len(found):
                pairs = zip(self.leaves, dtypes, strict=True)
                self.leaves = [_converted(leaf, dtype) for leaf, dtype in pairs]
            return self.leaves

        self.region = region((), leaves)
        return self.region

    @property
    def types(self) -> Types:
        return types_of(self.leaves)

    def agrees_with(self, other: _Branch) -> bool:
        return self.nest == other.nest and self.types == other.types


def _converted(leaf: Tensor, dtype: np.dtype) -> Tensor:
    """A Python number in another dtype; anything else as it is."""
    return cast_to(leaf, dtype) if leaf.weak else leaf


def _common(first: Tensor, second: Tensor) -> np.dtype:
    """The dtype that two branches give where one gives a Python number."""
    return promoted_dtype(first, second) if first.weak or second.weak else first.dtype


def flag(value: TensorLike) -> Tensor:
    """A condition of one element as a tensor of bool without axes."""
    tensor = as_tensor(value)
    if tensor.size != 1:
        raise error_here(
            f"found a condition of shape {list(tensor.shape)}, expected one element; reduce it with all() or any()"
        )
    if tensor.dtype != np.bool_:
        tensor = tensor != np.zeros((), tensor.dtype)
    return tensor.reshape(()) if tensor.shape else tensor


def _holds(value: Any, name: str) -> bool:
    """A condition that is no traced value."""
    array = np.asarray(value)
    if array.size != 1:
        raise error_here(
            f"found a condition of {name} of shape {list(array.shape)}, expected one element; reduce it with all() or any()"
        )
    return bool(array.reshape(()))


def _is_list(value: object) -> bool:
    return isinstance(value, list | tuple) and len(cast("Sequence[Any]", value)) > 0


def _pair(given: object) -> tuple[Any, Any]:
    """What a step of scan returns: the next state, and what is stacked."""
    if _is_pair(given):
        return given
    raise error_here(
        f"found a step of scan that returns a {type(given).__name__}, expected the next state and what is "
        "stacked, or None; return both"
    )


def _is_pair(value: object) -> TypeGuard[tuple[Any, Any]]:
    return isinstance(value, tuple) and len(cast("tuple[Any, ...]", value)) == 2


def _like(value: Tensor, first: Tensor) -> Tensor:
    """A state's value, which is a Python number where its first value is."""
    return as_weak(value) if first.weak else value


def _bound(value: TensorLike, name: str) -> int | Tensor:
    """A Python integer, or a traced one."""
    if isinstance(value, Tensor):
        if value.shape or value.dtype.kind not in "iu":
            raise error_here(
                f"found {value!r} for {name}, expected one integer; convert it with .astype(int), or index it"
            )
        return value
    try:
        return operator.index(value)
    except TypeError:
        raise error_here(
            f"found {value!r:.60} for {name}, expected an integer; convert it with int()"
        ) from None


def _as_number(value: int | Tensor) -> Any:
    """What a loop counts from: a Python integer, or as one."""
    return as_weak(cast_to(value, np.dtype(np.int64))) if isinstance(value, Tensor) else value


def _x_of(nest: Structure, *, without: bool) -> Callable[[Sequence[Any]], Any]:
    """What makes the second argument of a step of its leaves."""
    return lambda leaves: None if without else unflatten(nest, iter(leaves))


def _steps(sequences: Sequence[Any], length: int | None) -> int:
    shapes = [one.shape if isinstance(one, Tensor) else np.shape(one) for one in sequences]
    if not all(shapes):
        raise error_here(
            "found something without axes to scan over, expected a leading axis; give it one"
        )
    extents = {shape[0] for shape in shapes} | ({length} - {None})
    if len(extents) != 1:
        raise error_here(
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
    x_of: Callable[[Sequence[Any]], Any],
    steps: range,
    reverse: bool,
) -> tuple[Any, Any]:
    """A scan on arrays."""
    given: dict[int, list[Any]] = {}
    nest: Structure | None = None
    rows = [np.asarray(one) for one in sequences]
    check = state_check(state, "scan")
    for index in reversed(steps) if reverse else steps:
        x = x_of([row[index] for row in rows])
        check_function("scan", "f", f, (state, x))
        following, y = _pair(f(state, x))
        state = check(following)
        given[index], nest = leaves_of(y, "y")
    if nest is None:
        # Nothing is stacked, but of what shapes and dtypes has to be known: those that f gives for zeros.
        with np.errstate(all="ignore"):
            y = _pair(f(state, x_of([np.zeros_like(row, shape=row.shape[1:]) for row in rows])))[1]
        leaves, nest = leaves_of(y, "y")
        stacks = (np.asarray(leaf) for leaf in leaves)
        return state, unflatten(nest, (np.empty((0, *one.shape), one.dtype) for one in stacks))
    columns = zip(*(given[index] for index in steps), strict=True)
    return state, unflatten(nest, (np.stack(column) for column in columns))
