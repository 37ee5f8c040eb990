"""Ranges of floats hold all that is computed, and casts of what is in range still agree with NumPy."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
import stepwell as sw
from stepwell.analysis.float_ranges import FloatRange, FloatRanges
from stepwell.frontend.text import parse_text
from xdsl.dialects import func

OPERATIONS: list[tuple[str, Any]] = [
    ("addf", np.add),
    ("subf", np.subtract),
    ("mulf", np.multiply),
    ("divf", np.divide),
    ("maximumf", np.maximum),
    ("minimumf", np.minimum),
]

FLOATS: dict[str, Any] = {"f32": np.float32, "f64": np.float64}


def random_expression(rng: Random, float_: str) -> tuple[str, np.ndarray]:
    """The text of a function of bytes, and its value for many of them, each step rounded."""
    dtype = FLOATS[float_]
    data = np.random.default_rng(rng.randrange(1 << 30)).integers(0, 256, (2, 500), dtype=np.uint8)
    data[:, :4] = [[0, 0, 255, 255], [0, 255, 0, 255]]
    lines = [f"%0 = arith.uitofp %a : i8 to {float_}", f"%1 = arith.sitofp %b : i8 to {float_}"]
    values = [data[0].astype(dtype), data[1].view(np.int8).astype(dtype)]
    for number in range(2, rng.randrange(4, 9)):
        if rng.random() < 0.3:
            constant = dtype(rng.uniform(-3, 3))
            lines.append(f"%{number} = arith.constant {float(constant):.17e} : {float_}")
            values.append(np.full(500, constant, dtype))
            continue
        name, function = rng.choice(OPERATIONS)
        left, right = rng.randrange(number), rng.randrange(number)
        operand, divided = f"%{right}", values[right]
        if name == "divf":
            operand, divided = f"%d{number}", dtype(rng.choice([-7, -0.3, 0.7, 5]))
            lines.append(f"{operand} = arith.constant {float(divided):.17e} : {float_}")
        flags = "" if name in ("divf", "maximumf", "minimumf") else "fastmath<contract> "
        lines.append(f"%{number} = arith.{name} %{left}, {operand} {flags}: {float_}")
        values.append(function(values[left], divided))
    last = f"func.return %{len(values) - 1} : {float_}"
    body = "\n".join([*lines, last])
    return f"func.func @f(%a: i8, %b: i8) -> {float_} {{\n{body}\n}}", values[-1]


def returned_range(text: str) -> FloatRange | None:
    function = next(op for op in parse_text(text, "f").ops if isinstance(op, func.FuncOp))
    last = function.body.block.last_op
    assert last is not None
    return FloatRanges().of(last.operands[0])


@pytest.mark.parametrize("float_", FLOATS)
def test_ranges_hold_all_that_is_computed(float_: str):
    rng = Random(3)
    for _ in range(60):
        text, values = random_expression(rng, float_)
        found = returned_range(text)
        assert found is not None, text
        assert found.low <= values.min() and values.max() <= found.high, text


@pytest.mark.parametrize(
    "body",
    [
        "%r = arith.addf %x, %c : f32",  # an argument may be anything
        "%r = arith.addf %f, %f fastmath<reassoc> : f32",  # sums in another order may be outside
        "%n = arith.constant 0x7F800000 : f32\n%r = arith.mulf %f, %n : f32",  # infinite
        "%n = arith.constant 1.0e38 : f32\n%r = arith.mulf %f, %n : f32",  # overflows
        "%r = arith.divf %c, %f : f32",  # by what may be zero
        "%r = arith.maximumf %x, %c : f32",  # NaN of an argument
    ],
)
def test_what_is_not_known(body: str):
    start = "%f = arith.uitofp %a : i8 to f32\n%c = arith.constant 1.0 : f32"
    text = f"func.func @f(%a: i8, %x: f32) -> f32 {{\n{start}\n{body}\nfunc.return %r : f32\n}}"
    assert returned_range(text) is None


def test_what_is_doubled_often_is_looked_at_once():
    """Each of 32 sums has the one before twice."""
    sums = "\n".join(f"%{n + 1} = arith.addf %{n}, %{n} : f64" for n in range(40))
    text = f"func.func @f(%a: i8) -> f64 {{\n%0 = arith.uitofp %a : i8 to f64\n{sums}\nfunc.return %40 : f64\n}}"
    assert returned_range(text) is None


@pytest.mark.parametrize("ends", [(0, 255), (-10, 300), (3, 200), (-300, 90)])
@pytest.mark.parametrize("to", ["uint8", "int8"])
def test_what_is_clipped_is_cast(ends: tuple[int, int], to: str):
    x = np.array([-np.inf, -500, -129, -1.5, -0.5, 0, 3.7, 254.9, 255.5, 1e9, np.inf], np.float32)
    found = sw.jit(lambda x: sw.clip(x, *ends).astype(to))(x)
    least, most = np.iinfo(to).min, np.iinfo(to).max
    expected = np.clip(np.trunc(np.clip(x, *ends)), least, most).astype(to)
    np.testing.assert_array_equal(found, expected)
    assert sw.jit(lambda x: sw.clip(x, *ends).astype(to))(np.full(9, np.nan, np.float32)).max() == 0


@pytest.mark.parametrize("weight", [0.4, 0.999, 1.0, 1.001, -0.5])
@pytest.mark.parametrize("to", ["uint8", "int8", "uint16"])
def test_bytes_are_weighed_and_cut_off(weight: float, to: str):
    """Casts saturate where a sum may be out of range, and are as short as can be where not."""
    pixels = np.random.default_rng(4).integers(0, 256, (33, 3), dtype=np.uint8)
    pixels[:2] = [[0, 0, 0], [255, 255, 255]]

    def program(x: Any) -> Any:
        return (x[:, 0] * weight + x[:, 2] * 0.001).astype(to)

    exact = np.trunc(pixels[:, 0] * weight + pixels[:, 2] * 0.001)
    expected = np.clip(exact, np.iinfo(to).min, np.iinfo(to).max).astype(to)
    np.testing.assert_array_equal(sw.jit(program)(pixels), expected)
