"""The text of levels 4 and 5 of every example and every operator is valid for upstream's mlir-opt."""

from __future__ import annotations

import pytest
from differential.agreement import descend
from differential.example_programs import NAMES, digits_example, example
from differential.operator_programs import operator_program
from stepwell.analysis.levels import Level
from stepwell.dialects.graph.base import OPERATIONS, GraphOp
from stepwell.frontend.text import parse_text
from xdsl.dialects.builtin import ModuleOp

from .upstream import mlir_opt, needs_tools, text_of

pytestmark = needs_tools

ON_THREADS = """
func.func @f(%A: memref<17x9xf32>, %B: memref<17x9xf32>, %n: index) {
  loop.for parallel threads "i" %i = 0 to min(%n, 17) step 2 {
    %S = loop.alloc stack : memref<9xf32>
    %T = loop.alloc thread : memref<9xf32>
    loop.for parallel threads "j" %j = 0 to 9 {
      %a = loop.load %A[%i, %j] : memref<17x9xf32>
      loop.store %a, %S[%j] : memref<9xf32>
      loop.store %a, %T[%j] : memref<9xf32>
    }
    loop.for parallel "k" %k = 0 to 9 {
      %s = loop.load %S[%k] : memref<9xf32>
      %t = loop.load %T[%k] : memref<9xf32>
      %b = arith.addf %s, %t : f32
      loop.store %b, %B[%i, %k] : memref<17x9xf32>
    }
  }
  func.return
}"""


TRANSPOSED = """
func.func @f(%A: memref<14x9xf32>, %B: memref<12x14xf32>) {
  loop.for parallel vector "i" %i = 0 to 12 {
    loop.for parallel vector "j" %j = 0 to 14 {
      %a = loop.if (8 - %i >= 0) -> (f32) {
        %v = loop.load %A[%j, %i] : memref<14x9xf32>
        loop.yield %v : f32
      } else {
        %z = arith.constant 0.0 : f32
        loop.yield %z : f32
      }
      loop.store %a, %B[%i, %j] : memref<12x14xf32>
    }
  }
  func.return
}"""


def check_accepted(module: ModuleOp) -> None:
    for _, lowered in descend(module, (Level.CORE, Level.LLVM)):
        mlir_opt(text_of(lowered))


@pytest.mark.parametrize("name", NAMES)
def test_accepts_example(name: str):
    check_accepted(example(name).module)


def test_accepts_digits():
    check_accepted(digits_example().module)


@pytest.mark.parametrize("op", OPERATIONS, ids=[op.name for op in OPERATIONS])
def test_accepts_operator(op: type[GraphOp]):
    check_accepted(operator_program(op).module)


def test_accepts_loops_on_threads():
    check_accepted(parse_text(ON_THREADS))


def test_accepts_shuffles():
    check_accepted(parse_text(TRANSPOSED))


def test_refuses_what_is_wrong():
    text = text_of(example("dot").module)
    with pytest.raises(pytest.fail.Exception, match="is unknown"):
        mlir_opt(text.replace("arith.mulf", "arith.mulq"))
