"""Sums of narrow integers as floats have the same bits when they are added up as integers."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
import stepwell as sw
from stepwell.analysis.operations import operations_in
from stepwell.frontend.text import parse_text
from stepwell.interpreters.harness import interpret
from stepwell.transforms.core.add_as_integers import CoreAddAsIntegersPass
from xdsl.context import Context
from xdsl.dialects import arith

SOURCES = [("uitofp", "i8"), ("sitofp", "i8"), ("uitofp", "i16"), ("sitofp", "i16")]


def random_sums(rng: Random, float_: str) -> str:
    """The text of a function of narrow integers that returns two of its sums, products with numbers among them."""
    kinds = [rng.choice(SOURCES) for _ in range(4)]
    lines = [f"%{n} = arith.{cast} %a{n} : {to} to {float_}" for n, (cast, to) in enumerate(kinds)]
    for number in range(4, rng.randrange(7, 14)):
        name = rng.choice(["addf", "subf", "mulf"])
        left, right = f"%{rng.randrange(number)}", f"%{rng.randrange(number)}"
        if name == "mulf":
            right = f"%c{number}"
            factor = rng.choice([2, 3, 17, 1, -2, 0.5, 0])
            lines.append(f"{right} = arith.constant {float(factor):e} : {float_}")
        lines.append(f"%{number} = arith.{name} {left}, {right} : {float_}")
    arguments = ", ".join(f"%a{n}: {to}" for n, (_, to) in enumerate(kinds))
    last = max(int(line.split()[0][1:]) for line in lines if line[1].isdigit())
    returned = f"func.return %{last}, %{last - 2} : {float_}, {float_}"
    body = "\n".join([*lines, returned])
    return f"func.func @f({arguments}) -> ({float_}, {float_}) {{\n{body}\n}}"


@pytest.mark.parametrize("float_", ["f32", "f64"])
def test_sums_are_the_same(float_: str):
    rng, rewritten = Random(1), 0
    for _ in range(80):
        text = random_sums(rng, float_)
        module, after = parse_text(text, "f"), parse_text(text, "f")
        CoreAddAsIntegersPass().apply(Context(), after)
        after.verify()
        rewritten += any(isinstance(op, arith.AddiOp | arith.SubiOp) for op in operations_in(after))
        types = [line.split()[-1] for line in text.split("(")[1].split(")")[0].split(",")]
        for ends in (rng.choice, lambda found: found[0], lambda found: found[-1]):
            inputs = [
                np.array(
                    ends(range(-(1 << (int(t[1:]) - 1)), 1 << (int(t[1:]) - 1))), f"int{t[1:]}"
                )
                for t in types
            ]
            expected, found = interpret(module, inputs), interpret(after, inputs)
            for one, other in zip(expected, found, strict=True):
                assert np.asarray(one).tobytes() == np.asarray(other).tobytes(), text
    assert rewritten > 20


def blurred(x: Any) -> Any:
    y = x.astype("float32")
    rows = y[:, :-2] + 2 * y[:, 1:-1] + y[:, 2:]
    return (rows[:-2] + 2 * rows[1:-1] + rows[2:]) / 16 - y[1:-1, 1:-1]


@pytest.mark.parametrize("width", [3, 5, 17, 33, 100])
def test_a_blur_of_bytes(width: int):
    x = np.random.default_rng(width).integers(0, 256, (7, width), dtype=np.uint8)
    x[:, :3] = 255
    np.testing.assert_array_equal(sw.jit(blurred)(x), blurred(x))
