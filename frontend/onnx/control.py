"""Control flow: branches and loops."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import array_functions as arrays
from .. import functions as f
from .node import Subgraph
from .registry import Unsupported, Value, integer, is_known, known, onnx_op


@onnx_op("If")
def if_(condition: Value, *, then_branch: Subgraph, else_branch: Subgraph) -> list[Value]:
    """
    One of two graphs. Where the condition is a run-time value both are computed, which have no side effects, and
    one of each pair of results is selected.
    """
    if is_known(condition):
        return (then_branch if known(condition, "the condition").any() else else_branch)([])
    scalar = arrays.reshape(condition, ())
    pairs = list(zip(then_branch([]), else_branch([]), strict=True))
    if any(a.shape != b.shape or a.dtype != b.dtype for a, b in pairs):
        raise Unsupported(
            "branches of different shapes under a condition that is known only at run time"
        )
    return [f.where(scalar, a, b) for a, b in pairs]


@onnx_op("Loop")
def loop(
    trip_count: Value = None, condition: Value = None, *carried: Value, body: Subgraph, node: Any
) -> list[Value]:
    """A loop whose iterations are known at import: its body once for each, and what it collects stacked."""
    limit = None if trip_count is None else integer(trip_count, "the trip count")
    goes_on = condition is None or bool(known(condition, "the condition").any())
    state = list(carried)
    collected: list[list[Value]] = []
    iteration = 0
    while goes_on and (limit is None or iteration < limit):
        now, *results = body([np.asarray(iteration), np.asarray(True), *state])
        state, scanned = results[: len(state)], results[len(state) :]
        collected.append(scanned)
        if not is_known(now):
            raise Unsupported("a condition that is known only at run time")
        goes_on = bool(np.any(now))
        iteration += 1
    if not collected and len(node.outputs) > len(state):
        raise Unsupported("a loop without iterations that collects values")
    return [*state, *(arrays.stack(list(column)) for column in zip(*collected, strict=True))]
