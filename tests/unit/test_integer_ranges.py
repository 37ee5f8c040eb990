"""Comparisons and clamps are left out only where they find the same for all numbers."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import stepwell as sw
from stepwell.dialects import te
from stepwell.frontend.text import parse_text
from stepwell.interpreters.harness import interpret
from stepwell.transforms.te.int_range_optimizations import TeIntRangeOptimizationsPass
from xdsl.context import Context

BINARY = ["addi", "subi", "muli", "andi", "maxsi", "minsi", "maxui", "minui"]
PREDICATES = ["eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"]


def random_program(rng: Random) -> str:
    """A compute over pairs of bytes, one read as signed, with an iterator and constants near the ends of bytes."""
    lines = [
        "%0 = arith.extui %a : i8 to i16",
        "%1 = arith.extsi %b : i8 to i16",
        "%2 = arith.index_cast %i : index to i16",
    ]
    for number in range(3, rng.randrange(7, 14)):
        kind, left, right = rng.random(), rng.randrange(number), rng.randrange(number)
        if kind < 0.2:
            constant = rng.choice([-129, -128, -1, 0, 1, 127, 128, 255, 256, 63, 64, 32767])
            lines.append(f"%{number} = arith.constant {constant} : i16")
        elif kind < 0.4:
            other = rng.randrange(number)
            lines.append(
                f"%c{number} = arith.cmpi {rng.choice(PREDICATES)}, %{left}, %{right} : i16"
            )
            lines.append(f"%{number} = arith.select %c{number}, %{other}, %{left} : i16")
        elif kind < 0.5:
            lines.append(f"%n{number} = arith.trunci %{left} : i16 to i8")
            lines.append(
                f"%{number} = arith.{rng.choice(['extui', 'extsi'])} %n{number} : i8 to i16"
            )
        else:
            lines.append(f"%{number} = arith.{rng.choice(BINARY)} %{left}, %{right} : i16")
        # All of them are needed.
        lines.append(f"%t{number} = arith.addi %{'t' * (number > 3)}{number - 1}, %{number} : i16")
        last = number
    body = "\n".join([*lines, f"te.yield %t{last} : i16"])
    types = "(tensor<64xi8>, tensor<64xi8>) -> tensor<64xi16>"
    return f"""func.func @f(%x: tensor<64xi8>, %y: tensor<64xi8>) -> tensor<64xi16> {{
      %z = te.compute [%i = 64] (%a = %x[%i], %b = %y[%i]) : {types} {{ {body} }}
      func.return %z : tensor<64xi16>
    }}"""


def test_programs_find_the_same_with_fewer_operations():
    rng, left_out = Random(1), 0
    bytes_ = np.random.default_rng(0).integers(-128, 128, (2, 64), dtype=np.int8)
    bytes_[:, :4] = [[0, 127, -128, -1], [-128, 127, 0, -1]]
    for _ in range(80):
        text = random_program(rng)
        module = parse_text(text, "f")
        (before,) = interpret(module, list(bytes_))
        computes = [op for op in module.walk() if isinstance(op, te.ComputeOp)]
        count = len(computes[0].body.block.ops)
        TeIntRangeOptimizationsPass().apply(Context(), module)
        module.verify()
        left_out += count - len(computes[0].body.block.ops)
        (after,) = interpret(module, list(bytes_))
        np.testing.assert_array_equal(after, before, err_msg=text)
    assert left_out > 20


def test_ranges_of_unsigned_numbers_and_of_sums_that_wrap_around():
    def program(x: Any) -> tuple[Any, Any]:
        low = x.astype(np.int8) & np.int8(127)
        return x.astype(np.int32) > 127, low + low < 0

    x = np.arange(256, dtype=np.uint8)
    for found, wanted in zip(sw.jit(program, opt="quick")(x), program(x), strict=True):
        np.testing.assert_array_equal(found, wanted)
