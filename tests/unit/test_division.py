"""Integer division is defined for all operands, and native code does what the interpreter says."""

import itertools

import numpy as np
import pytest
from stepwell.frontend.text import parse_text
from stepwell.interpreters.harness import interpret
from stepwell.runtime.jit import compile_module

OPERATIONS = ("divsi", "divui", "remsi", "remui", "floordivsi", "ceildivsi", "ceildivui")
WIDTHS = {"i8": np.int8, "i32": np.int32, "i64": np.int64}


@pytest.mark.parametrize("type_", WIDTHS)
def test_every_pair_of_edge_values(type_: str) -> None:
    info = np.iinfo(WIDTHS[type_])
    edges = [0, 1, -1, 2, -2, 7, -7, info.max, info.min, info.min + 1]
    pairs = np.array(list(itertools.product(edges, edges)), WIDTHS[type_])
    count, results = len(pairs), len(OPERATIONS)
    lines = "\n".join(
        f"    %{name} = arith.{name} %x, %y : {type_}\n"
        f"    %n{n} = arith.constant {n} : index\n"
        f"    memref.store %{name}, %out[%n{n}, %i] : memref<{results}x{count}x{type_}>"
        for n, name in enumerate(OPERATIONS)
    )
    module = parse_text(f"""
func.func @f(%a: memref<{count}x{type_}>, %b: memref<{count}x{type_}>,
             %out: memref<{results}x{count}x{type_}> {{stepwell.result}}) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %end = arith.constant {count} : index
  scf.for %i = %c0 to %end step %c1 {{
    %x = memref.load %a[%i] : memref<{count}x{type_}>
    %y = memref.load %b[%i] : memref<{count}x{type_}>
{lines}
  }}
  func.return
}}""")
    operands = [np.ascontiguousarray(column) for column in pairs.T]
    (expected,) = interpret(module, operands)
    found = compile_module(module)(*operands)
    for name, row, right in zip(OPERATIONS, found, expected, strict=True):
        np.testing.assert_array_equal(row, right, err_msg=name)
    quotients = dict(zip(map(tuple, pairs.tolist()), found[0].tolist(), strict=True))
    assert quotients[7, 0] == 0
    assert quotients[info.min, -1] == info.min


@pytest.mark.parametrize("divisor", [3, -3, 1, -1, 0])
def test_constant_divisors(divisor: int) -> None:
    module = parse_text(f"""
func.func @f(%a: memref<5xi32>, %out: memref<5xi32> {{stepwell.result}}) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %d = arith.constant {divisor} : i32
  scf.for %i = %c0 to %c5 step %c1 {{
    %x = memref.load %a[%i] : memref<5xi32>
    %q = arith.floordivsi %x, %d : i32
    memref.store %q, %out[%i] : memref<5xi32>
  }}
  func.return
}}""")
    values = np.array([-7, -1, 0, 8, np.iinfo(np.int32).min], np.int32)
    np.testing.assert_array_equal(compile_module(module)(values), interpret(module, [values])[0])
