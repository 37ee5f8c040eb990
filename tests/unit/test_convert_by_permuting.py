"""Integers that permutations of bytes make floats are the same floats."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from stepwell.analysis.operations import operations_in
from stepwell.frontend.text import parse_text
from stepwell.interpreters.harness import interpret
from stepwell.transforms.core.convert_by_permuting import CoreConvertByPermutingPass
from xdsl.context import Context
from xdsl.dialects import vector

SIZE = 520
SOURCES = [("uitofp", "i8"), ("sitofp", "i8"), ("uitofp", "i16"), ("sitofp", "i16")]


def random_conversions(rng: Random, float_: str) -> tuple[str, str]:
    """The text of conversions of elements that are some apart, at several phases, and the type of the integers."""
    cast, element = rng.choice(SOURCES)
    lanes, apart, at = rng.choice([8, 16, 32, 64]), rng.randrange(1, 9), rng.randrange(4)
    half = lanes * apart // 2
    memory, floats = f"memref<{SIZE}x{element}>", f"vector<{lanes}x{float_}>"
    integers = f"vector<{half}x{element}>"
    lines = [
        f"%i = arith.constant {at} : index",
        f"%j = arith.constant {at + half} : index",
        f"%v = vector.load %a[%i] : {memory}, {integers}",
        f"%w = vector.load %a[%j] : {memory}, {integers}",
        f"%c = arith.constant dense<0.3> : {floats}",
    ]
    results: list[str] = []
    for phase in rng.sample(range(apart), min(apart, 2)):
        chosen = [apart * lane + phase for lane in range(lanes)]
        lines += [
            f"%s{phase} = vector.shuffle %v, %w {chosen} : {integers}, {integers}",
            f"%f{phase} = arith.{cast} %s{phase} : vector<{lanes}x{element}> to {floats}",
            f"%m{phase} = arith.mulf %f{phase}, %c : {floats}",
        ]
        results += rng.choice([[f"%f{phase}"], [f"%m{phase}"], [f"%f{phase}", f"%m{phase}"]])
    to = f"memref<256x{float_}>"
    for n, result in enumerate(results):
        lines += [
            f"%o{n} = arith.constant {n * lanes} : index",
            f"vector.store {result}, %to[%o{n}] : {to}, {floats}",
        ]
    body = "\n".join([*lines, "func.return"])
    return f"func.func @f(%a: {memory}, %to: {to}) {{\n{body}\n}}", element


@pytest.mark.parametrize("float_", ["f32", "f64"])
def test_floats_are_the_same(float_: str):
    rng, rewritten = Random(3), 0
    for _ in range(40):
        text, element = random_conversions(rng, float_)
        module, after = parse_text(text, "f"), parse_text(text, "f")
        CoreConvertByPermutingPass(target="icelake-server").apply(Context(), after)
        after.verify()
        rewritten += any(isinstance(op, vector.MaskedLoadOp) for op in operations_in(after))
        generator = np.random.default_rng(rng.randrange(1000))
        numbers = generator.integers(0, 1 << int(element[1:]), SIZE)
        inputs = [numbers.astype(f"uint{element[1:]}").view(f"int{element[1:]}")]
        inputs.append(np.zeros(256, float_.replace("f", "float")))
        (_, one), (_, other) = interpret(module, inputs), interpret(after, inputs)
        assert one.any()
        assert one.tobytes() == other.tobytes(), text
    assert rewritten > 3
