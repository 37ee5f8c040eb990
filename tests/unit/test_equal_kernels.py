"""Equal kernels are one: scheduled once and compiled once, they compute what each of them would."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import stepwell as sw
from stepwell.analysis.structure import Numbered, structure
from stepwell.tuning import rules
from xdsl.dialects import func
from xdsl.dialects.builtin import IntegerAttr, i32, i64

RNG = np.random.default_rng(0)
WEIGHTS = [RNG.standard_normal((40, 40)).astype(np.float32) for _ in range(3)]
SHIFTS = [RNG.standard_normal(40).astype(np.float32) for _ in range(3)]


def with_constants(x: sw.Tensor) -> sw.Tensor:
    for weight, shift in zip(WEIGHTS, SHIFTS, strict=True):
        x = sw.tanh(x @ weight + shift)
    return x


def with_arguments(x: sw.Tensor, w: sw.Tensor, v: sw.Tensor) -> tuple[sw.Tensor, sw.Tensor]:
    return sw.softmax(x @ w, axis=-1), sw.softmax(x @ v, axis=-1)


def named_like_steps(x: sw.Tensor, right: sw.Tensor, tile: sw.Tensor) -> sw.Tensor:
    return (x @ right) @ tile


PROGRAMS: dict[str, tuple[Callable[..., object], tuple[tuple[int, ...], ...]]] = {
    "constants": (with_constants, ((33, 40),)),
    "arguments": (with_arguments, ((33, 40), (40, 50), (40, 50))),
    "names of steps": (named_like_steps, ((40, 40), (40, 40), (40, 40))),
}


def arrays(shapes: tuple[tuple[int, ...], ...]) -> list[np.ndarray]:
    return [RNG.standard_normal(shape).astype(np.float32) for shape in shapes]


def functions(text: str) -> int:
    return text.count("func.func private")


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_script_leads_to_the_same_loops(name: str):
    program, shapes = PROGRAMS[name]
    low = sw.jit(program).lower(*arrays(shapes))
    scripted = sw.Schedule(low, script=low.script()).run().lowered()
    assert scripted.as_text("loop") == low.as_text("loop")


def test_equal_kernels_are_scheduled_once(monkeypatch: pytest.MonkeyPatch):
    scheduled: list[str] = []
    schedule = rules.schedule

    def noted(module: object, function: func.FuncOp, target: object) -> object:
        scheduled.append(function.sym_name.data)
        return schedule(module, function, target)

    monkeypatch.setattr(rules, "schedule", noted)
    low = sw.jit(with_constants).lower(*arrays(((33, 40),)))
    text = low.as_text("loop")
    assert functions(text) == 1
    assert text.count("func.call") == 3
    assert len(scheduled) == 1


@pytest.mark.parametrize("rows", [1, 7, 33])
def test_each_call_has_its_own_constants(rows: int):
    (x,) = arrays(((rows, 40),))
    expected = x
    for weight, shift in zip(WEIGHTS, SHIFTS, strict=True):
        expected = np.tanh(expected @ weight + shift)
    for opt in ("default", "quick"):
        options = {} if opt == "default" else {"opt": opt}
        np.testing.assert_allclose(
            sw.jit(with_constants, **options)(x), expected, rtol=2e-5, atol=2e-5
        )


def test_what_differs_in_more_than_names_is_not_equal():
    table = arrays(((8, 9),))[0]

    def pair(first: Callable[..., object], second: Callable[..., object]) -> bool:
        found = [
            structure(op)
            for f in (first, second)
            for op in sw.jit(f).lower(*arrays(((8, 9), (8, 9)))).module("loop").ops
            if isinstance(op, func.FuncOp) and op.sym_visibility is not None
        ]
        return found[0] == found[1]

    assert pair(lambda a, b: a + b, lambda u, v: u + v)
    assert not pair(lambda a, b: a + b, lambda a, b: a - b)
    assert not pair(lambda a, b: (a - b) * a, lambda a, b: (a - b) * b)
    assert not pair(lambda a, b: a + 2.0 * b, lambda a, b: a + 3.0 * b)
    assert not pair(lambda a, b: a + b, lambda a, b: a + table)
    assert pair(lambda a, b: a + table, lambda a, b: a + 2 * table)


def test_attributes_have_one_number_where_they_are_equal():
    said = Numbered()
    one, equal, other = (IntegerAttr(value, i32) for value in (1, 1, 2))
    assert one is not equal
    assert said(one) == said(equal) != said(other)
    assert said(one) == said(IntegerAttr(1, i32)) != said(IntegerAttr(1, i64))


def test_kernels_that_differ_in_a_number_are_two():
    x, w, v = arrays(((33, 40), (40, 50), (40, 50)))
    program = sw.jit(lambda x, w, v: (sw.tanh(x @ w * 2), sw.tanh(x @ v * 3)))
    for found, (matrix, factor) in zip(program(x, w, v), ((w, 2), (v, 3)), strict=True):
        np.testing.assert_allclose(found, np.tanh(x @ matrix * factor), rtol=1e-4, atol=1e-5)
