"""Integers that are made floats, divided and cut off give the same integers when they are divided as such."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import stepwell as sw
from stepwell.analysis.operations import operations_in
from stepwell.frontend.text import parse_text
from stepwell.interpreters.harness import interpret
from stepwell.transforms.core.divide_as_integers import CoreDivideAsIntegersPass
from xdsl.context import Context
from xdsl.dialects import arith

ENDS = [0, 1, 2, 126, 127, 128, 254, 255, 32766, 32767, -1, -2, -127, -128, -129, -32768]


@pytest.mark.parametrize(("source", "float_"), [("i8", "f32"), ("i16", "f32"), ("i16", "f64")])
def test_quotients_are_the_same(source: str, float_: str):
    casts = product(
        ["uitofp", "sitofp"], ["fptoui", "fptosi"], ["i8", "i16", "i32"], [2, 3, 9, 100]
    )
    for to_float, to_integer, to, divisor in casts:
        text = f"""func.func @f(%n: {source}) -> {to} {{
          %d = arith.constant {divisor}.0 : {float_}
          %0 = arith.{to_float} %n : {source} to {float_}
          %1 = arith.divf %0, %d : {float_}
          %2 = arith.{to_integer} %1 : {float_} to {to}
          func.return %2 : {to}
        }}"""
        module, after = parse_text(text, "f"), parse_text(text, "f")
        CoreDivideAsIntegersPass().apply(Context(), after)
        after.verify()
        assert not any(isinstance(op, arith.DivfOp) for op in operations_in(after))
        for number in np.array(ENDS).astype(f"int{source[1:]}"):
            inputs = [np.array(number)]
            assert interpret(module, inputs) == interpret(after, inputs), (text, number)


@pytest.mark.parametrize("width", [2, 34, 200])
def test_means_of_bytes(width: int):
    x = np.random.default_rng(width).integers(0, 256, (6, width), dtype=np.uint8)
    x[:2] = 255

    def pooled(x):
        return x.reshape(3, 2, width // 2, 2).mean(axis=(1, 3)).astype(np.uint8)

    np.testing.assert_array_equal(sw.jit(pooled)(x), pooled(x))
