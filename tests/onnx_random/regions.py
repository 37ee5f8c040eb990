"""Rules of control flow and recurrences: operators with subgraphs, and those that carry a state along an axis."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto
from onnx.helper import make_node

from .builder import Builder, Rule, region

FLOAT = TensorProto.FLOAT


def branches(b: Builder) -> None:
    """A choice that the values of an input decide, of what both branches compute from a value outside."""
    x, condition = b.value(), b.exact()
    total = b.node("ReduceSum", condition, keepdims=0)
    holds = b.node("Greater", total, b.scalar(0))
    number = len(b.nodes)
    then, other = (
        region([make_node(b.pick("Exp", "Neg", "Tanh"), [x], [name])], [], [name])
        for name in (f"then{number}", f"else{number}")
    )
    b.node("If", holds, shape=b.shapes[x], then_branch=then, else_branch=other)


def loop(b: Builder) -> None:
    """A state that a known number of iterations changes. The reference evaluator joins what is seen on the way wrongly."""
    x = b.value(0, 3)
    n = len(b.nodes)
    i, go, before, after = (f"{name}{n}" for name in ("i", "go", "state", "next"))
    body = region(
        [
            make_node("Identity", [go], [f"{n}go"]),
            make_node("Add", [before, x], [f"sum{n}"]),
            make_node("Tanh", [f"sum{n}"], [after]),
        ],
        [(i, TensorProto.INT64, ()), (go, TensorProto.BOOL, ()), (before, FLOAT, b.shapes[x])],
        [f"{n}go", after],
    )
    always = b.weight(np.array(True))
    b.node("Loop", b.integers(b.number(1, 3)), always, x, shape=b.shapes[x], body=body)


def scan(b: Builder) -> None:
    """A state along the first axis, and a row for each step."""
    x = b.value(2)
    n = len(b.nodes)
    shape = b.shapes[x][1:]
    before, row, after, out = (f"{name}{n}" for name in ("state", "row", "next", "seen"))
    body = region(
        [
            make_node("Sin", [before], [f"old{n}"]),
            make_node("Add", [f"old{n}", row], [after]),
            make_node("Relu", [after], [out]),
        ],
        [(before, FLOAT, shape), (row, FLOAT, shape)],
        [after, out],
    )
    b.several("Scan", [b.random(*shape), x], [shape, b.shapes[x]], body=body, num_scan_inputs=1)


def recurrence(b: Builder) -> None:
    x = b.value(3, 3)
    length, batch, width = b.shapes[x]
    kind, gates = b.pick(("RNN", 1), ("GRU", 3), ("LSTM", 4))
    hidden = b.number(1, 3)
    weights = [
        b.random(1, gates * hidden, width),
        b.random(1, gates * hidden, hidden),
        b.random(1, 2 * gates * hidden),
    ]
    shapes = [(length, 1, batch, hidden), (1, batch, hidden)]
    more = {"linear_before_reset": b.number(0, 1)} if kind == "GRU" else {}
    b.several(kind, [x, *weights], shapes, hidden_size=hidden, **more)


RULES: tuple[Rule, ...] = (branches, loop, scan, recurrence)
