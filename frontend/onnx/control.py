"""Control flow: branches and loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.ir import Region

from ...dialects import graph
from ...errors import StepwellError
from ..control_flow import flag, scan, while_loop
from ..numpy import elementwise, joining, manipulation
from ..recording import as_tensor, record_all
from ..regions import UnstableState, region
from ..tensor import Tensor
from .movement import axis_of
from .node import Subgraph
from .registry import Unsupported, Value, ValueNeeded, integer, is_known, known, onnx_op


@onnx_op("If")
def if_(condition: Value, *, then_branch: Subgraph, else_branch: Subgraph) -> list[Value]:
    """
    One of two graphs; where the condition is a run-time value, the other is not run.

    Where only one of them fits the shapes, or their results have different ones, the condition has to be known.
    """
    if not isinstance(condition, Tensor):
        return (then_branch if known(condition, "the condition").any() else else_branch)([])
    types: list[Any] = []

    def branch(run_branch: Subgraph) -> Region:
        def run(_: list[Tensor]) -> list[Tensor]:
            try:
                tensors = [as_tensor(value) for value in _computed(run_branch([]))]
            except StepwellError as error:
                what = f"the condition, as a branch does not fit the shapes ({error.message}),"
                raise ValueNeeded(condition, what) from error
            types.append([(one.shape, one.dtype) for one in tensors])
            return tensors

        return region((), run)

    regions = [branch(then_branch), branch(else_branch)]
    if types[0] != types[1]:
        raise ValueNeeded(
            condition, "the condition, as the results of the branches differ in shape,"
        )
    return list(record_all(graph.IfOp, flag(condition), *regions))


@onnx_op("Loop")
def loop(
    trip_count: Value = None, condition: Value = None, *carried: Value, body: Subgraph, node: Any
) -> list[Value]:
    """
    A loop. One of a few iterations that are known at import is written out, so that what it decides by their numbers
    is known as well; one of more is a scan. Where only the run can say when it ends, it must not collect values.
    """
    is_counted = trip_count is not None and is_known(trip_count)
    if condition is not None and not is_known(condition):
        return _repeated(trip_count, condition, carried, body, node)
    if condition is not None and not np.any(condition):
        trip_count, is_counted = np.asarray(0), True
    if not is_counted and trip_count is not None:
        return _repeated(trip_count, condition, carried, body, node)
    limit = None if trip_count is None else integer(trip_count, "the trip count")
    if limit is not None and limit > WRITTEN_OUT:
        return _scanned(limit, carried, body, node)
    return _written_out(limit, carried, body, node)


MOST_ITERATIONS = 1 << 24
"""Loops of more iterations than this are refused: their numbers alone would take 128 MiB."""

WRITTEN_OUT = 32
"""Iterations of a loop up to which its body is imported once for each: what is imported grows with the product."""


def _written_out(
    limit: int | None, carried: Sequence[Value], body: Subgraph, node: Any
) -> list[Value]:
    state, iteration = list(carried), 0
    collected: list[list[Value]] = []
    goes_on = True
    while goes_on and (limit is None or iteration < limit):
        now, *results = body([np.asarray(iteration), np.asarray(True), *state])
        if not is_known(now):
            # What is recorded of the first iteration is not used.
            return _repeated(limit, None, carried, body, node)
        state, scanned = results[: len(state)], results[len(state) :]
        collected.append(scanned)
        goes_on = bool(np.any(now))
        iteration += 1
    if not collected and len(node.outputs) > len(state):
        return [*state, *_collected_of_none(state, body)]
    return [*state, *(joining.stack(list(column)) for column in zip(*collected, strict=True))]


def _collected_of_none(state: Sequence[Value], body: Subgraph) -> list[np.ndarray]:
    """What a loop without iterations collects; of an iteration that is recorded for its types nothing is used."""
    _, *results = _computed(body([np.asarray(0), np.asarray(True), *state]))
    scanned = results[len(state) :]
    return [np.zeros((0, *value.shape), value.dtype) for value in scanned]


def _scanned(limit: int, carried: Sequence[Value], body: Subgraph, node: Any) -> list[Value]:
    """A loop of a known number of iterations."""
    if limit > MOST_ITERATIONS:
        raise Unsupported(f"a loop of {limit} iterations")
    count, flags = len(carried), list[Value]()

    def step(state: tuple[Value, ...], number: Value) -> Any:
        now, *results = _computed(body([number, np.asarray(True), *state]))
        flags.append(now)
        return tuple(results[:count]), tuple(results[count:])

    last, collected = _as_recorded(lambda: scan(step, tuple(carried), np.arange(limit)))
    if not is_known(flags[0]) or not np.any(flags[0]):
        return _repeated(limit, None, carried, body, node)
    return [*last, *collected]


def _repeated(
    trip_count: Value, condition: Value, carried: Sequence[Value], body: Subgraph, node: Any
) -> list[Value]:
    """A loop that ends when its condition does not hold any more, or after so many iterations."""
    count = len(carried)
    if len(node.outputs) > count:
        for value, what in ((trip_count, "the trip count"), (condition, "the condition")):
            if value is not None:
                known(value, what)
        raise Unsupported("values collected by a loop whose end is known only at run time")
    true = np.asarray(True)

    def goes_on(state: tuple[Value, ...]) -> Value:
        number, now, *_ = state
        if trip_count is None:
            return now
        return elementwise.logical_and(
            now, elementwise.less(number, manipulation.reshape(trip_count, ()))
        )

    def step(state: tuple[Value, ...]) -> tuple[Value, ...]:
        number, _, *values = state
        now, *results = _computed(body([number, true, *values]))
        return (number + np.int64(1), manipulation.reshape(now, ()), *results[:count])

    first = true if condition is None else manipulation.reshape(condition, ())
    state = (np.zeros((), np.int64), first, *carried)
    return list(_as_recorded(lambda: while_loop(goes_on, step, state))[2:])


@onnx_op("Scan", since=9)
def scan_(
    *values: Value,
    body: Subgraph,
    num_scan_inputs: int,
    scan_input_axes: Sequence[int] | None = None,
    scan_input_directions: Sequence[int] | None = None,
    scan_output_axes: Sequence[int] | None = None,
    scan_output_directions: Sequence[int] | None = None,
    node: Any,
) -> list[Value]:
    """A body run for each index of an axis of some inputs; what it gives behind the state is stacked."""
    count = _states_before(values, num_scan_inputs)
    axes = list(scan_input_axes or [0] * num_scan_inputs)
    backwards = list(scan_input_directions or [0] * num_scan_inputs)
    sequences = [
        _reversed(_axis_first(value, axis), bool(reverse))
        for value, axis, reverse in zip(values[count:], axes, backwards, strict=True)
    ]

    def step(state: tuple[Value, ...], given: tuple[Value, ...]) -> Any:
        results = _computed(body([*state, *given]))
        return tuple(results[:count]), tuple(results[count:])

    last, stacked = _as_recorded(lambda: scan(step, tuple(values[:count]), tuple(sequences)))
    out_axes = list(scan_output_axes or [0] * len(stacked))
    out_backwards = list(scan_output_directions or [0] * len(stacked))
    return [
        *last,
        *(
            _axis_from_first(_reversed(value, bool(reverse)), axis)
            for value, axis, reverse in zip(stacked, out_axes, out_backwards, strict=True)
        ),
    ]


@onnx_op("Scan")
def scan_of_batches(
    sequence_lens: Value = None,
    *values: Value,
    body: Subgraph,
    num_scan_inputs: int,
    directions: Sequence[int] | None = None,
    node: Any,
) -> list[Value]:
    """Before version 9 the first axis of everything was a batch, whose entries were run one by one."""
    if sequence_lens is not None:
        raise Unsupported("sequence_lens")

    def entry(_: tuple[Value, ...], given: tuple[Value, ...]) -> Any:
        results = scan_(
            *given,
            body=body,
            num_scan_inputs=num_scan_inputs,
            scan_input_directions=directions,
            node=node,
        )
        return (), tuple(results)

    return list(_as_recorded(lambda: scan(entry, (), tuple(values)))[1])


def _states_before(values: Sequence[Value], sequences: int) -> int:
    """How many of the values are state, which stands before so many sequences. Raises StepwellError where these are more."""
    if not 0 <= sequences <= len(values):
        raise StepwellError(
            f"found num_scan_inputs={sequences} and {len(values)} inputs, expected at most as many; mend the model"
        )
    return len(values) - sequences


def _axis_first(value: Value, axis: int) -> Value:
    rank = len(value.shape)
    axis = axis_of(axis, rank)
    rest = [other for other in range(rank) if other != axis]
    return value if axis == 0 else manipulation.transpose(value, (axis, *rest))


def _axis_from_first(value: Value, axis: int) -> Value:
    rank = len(value.shape)
    axis = axis_of(axis, rank)
    order = list(range(1, rank))
    order.insert(axis, 0)
    return value if axis == 0 else manipulation.transpose(value, order)


def _reversed(value: Value, reverse: bool) -> Value:
    return value[::-1] if reverse else value


def _computed(values: Sequence[Value]) -> Sequence[Value]:
    """What a graph gives. Raises Unsupported where something in it is: that is a refusal of its own."""
    if not all(isinstance(value, Tensor | np.ndarray) for value in values):
        raise Unsupported("a body that is not supported")
    return values


def _as_recorded(run: Callable[[], Any]) -> Any:
    """What a loop gives. Raises Unsupported for a state that changes its shape."""
    try:
        return run()
    except UnstableState as error:
        raise Unsupported("state whose shape or type changes from step to step") from error
